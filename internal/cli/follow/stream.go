// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package follow waits for installations by watching them, and shows meanwhile how they get on: on a terminal a tree
// that is redrawn, elsewhere one line for each change. What is waited for is a goal, a pure function of the revisions
// that an installation went through.
package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/objecttree"
)

// Event is a revision of an object, or its end.
type Event struct {
	Object client.Object
	Gone   bool
	// Synced is set in one event without an object: all that existed at the beginning has been told.
	Synced bool
	// Failed is set in an event without an object: why a request has failed. It is retried unless it was denied.
	Failed error
	// Restored is set in an event without an object: the server answers again.
	Restored bool
}

// Stream tells of every revision of the objects that trees consist of, in the order in which they were stored as far
// as objects of one kind are concerned. After a lost connection revisions may be missing; the newest never is.
// An empty namespace means all.
func Stream(ctx context.Context, config *rest.Config, namespace string) (<-chan Event, error) {
	return StreamOf(ctx, config, namespace, &lsv1alpha1.Installation{}, &lsv1alpha1.Execution{}, &lsv1alpha1.DeployItem{})
}

// StreamOf tells of objects of other kinds in the same way.
func StreamOf(ctx context.Context, config *rest.Config, namespace string, kinds ...client.Object) (<-chan Event, error) {
	scheme, err := connect.Scheme()
	if err != nil {
		return nil, err
	}
	events := make(chan Event)
	tell := func(e Event) {
		select {
		case events <- e:
		case <-ctx.Done():
		}
	}
	config = rest.CopyConfig(config)
	server := &reachability{tell: tell}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &sentry{next: next, server: server} })
	objects, err := cache.New(config, cache.Options{
		Scheme: scheme, Mapper: connect.Mapper(), DefaultTransform: slim,
		DefaultNamespaces:        map[string]cache.Config{namespace: {}},
		DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) { server.failed(err) },
	})
	if err != nil {
		return nil, fmt.Errorf("prepare to watch: %w", err)
	}
	var synced []toolscache.InformerSynced
	for _, kind := range kinds {
		informer, err := objects.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, fmt.Errorf("prepare to watch: %w", err)
		}
		registration, err := informer.AddEventHandler(handler(tell))
		if err != nil {
			return nil, fmt.Errorf("prepare to watch: %w", err)
		}
		synced = append(synced, registration.HasSynced)
	}
	go func() {
		if err := objects.Start(ctx); err != nil {
			tell(Event{Failed: err})
		}
	}()
	go func() {
		if toolscache.WaitForCacheSync(ctx.Done(), synced...) {
			tell(Event{Synced: true})
		}
	}()
	return events, nil
}

// reachability is whether requests to the server succeed.
type reachability struct {
	tell func(Event)
	// mutex guards lost. It is held until the event is told: otherwise a success could be told before the failure that it follows.
	mutex sync.Mutex
	lost  bool
}

// lose tells why a request has failed.
func (r *reachability) lose(err error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.lost = true
	r.tell(Event{Failed: err})
}

// restore tells that a request has succeeded, if one has failed before.
func (r *reachability) restore() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.lost {
		r.lost = false
		r.tell(Event{Restored: true})
	}
}

// failed tells why a watch has ended. That the server ends one is usual; if the server is away, the next request says so.
func (r *reachability) failed(err error) {
	usual := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || apierrors.IsResourceExpired(err) || apierrors.IsGone(err)
	if !usual {
		r.lose(err)
	}
}

// sentry tells when the server cannot be reached, and when it can again. Watches keep silent about the former.
type sentry struct {
	next   http.RoundTripper
	server *reachability
}

// RoundTrip implements http.RoundTripper.
func (s *sentry) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.next.RoundTrip(request)
	switch {
	case err != nil && request.Context().Err() == nil:
		s.server.lose(err)
	case err == nil && response.StatusCode < http.StatusBadRequest:
		s.server.restore()
	}
	return response, err
}

func handler(tell func(Event)) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { tellOf(tell, object, false) },
		UpdateFunc: func(_, object any) { tellOf(tell, object, false) },
		DeleteFunc: func(object any) {
			if last, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
				object = last.Obj
			}
			tellOf(tell, object, true)
		},
	}
}

func tellOf(tell func(Event), object any, gone bool) {
	if known, ok := object.(client.Object); ok {
		tell(Event{Object: known, Gone: gone})
	}
}

// slim drops what nothing reads, because a namespace may hold much.
func slim(object any) (any, error) {
	switch typed := object.(type) {
	case *lsv1alpha1.Installation:
		typed.ManagedFields, typed.Spec.Blueprint = nil, lsv1alpha1.BlueprintDefinition{}
	case *lsv1alpha1.Execution:
		typed.ManagedFields = nil
	case *lsv1alpha1.DeployItem:
		typed.ManagedFields, typed.Spec.Configuration = nil, nil
		if !objecttree.MayBeTakenOver(typed) {
			typed.Status.ProviderStatus = nil
		}
	}
	return object, nil
}

// Refused reports whether watching again cannot help.
func Refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err)
}
