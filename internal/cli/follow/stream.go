// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package follow waits for installations by watching them, and shows meanwhile how they get on: on a terminal a tree
// that is redrawn, elsewhere one line for each change. What is waited for is a goal, a pure function of the revisions
// that an installation went through.
package follow

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli/connect"
)

// event is a revision of an object, or its end.
type event struct {
	object client.Object
	gone   bool
	// synced is set in one event without an object: all that existed at the beginning has been told.
	synced bool
	// failed is set in an event without an object: why a request has failed. It is retried unless it was denied.
	failed error
	// restored is set in an event without an object: the server answers again.
	restored bool
}

// stream tells of every revision of the objects that trees consist of, in the order in which they were stored as far
// as objects of one kind are concerned. After a lost connection revisions may be missing; the newest never is.
func stream(ctx context.Context, config *rest.Config, namespace string) (<-chan event, error) {
	scheme, err := connect.Scheme()
	if err != nil {
		return nil, err
	}
	events := make(chan event)
	tell := func(e event) {
		select {
		case events <- e:
		case <-ctx.Done():
		}
	}
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &sentry{next: next, tell: tell} })
	objects, err := cache.New(config, cache.Options{
		Scheme: scheme, Mapper: connect.Mapper(), DefaultTransform: slim,
		DefaultNamespaces:        map[string]cache.Config{namespace: {}},
		DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) { tell(event{failed: err}) },
	})
	if err != nil {
		return nil, fmt.Errorf("prepare to watch: %w", err)
	}
	var synced []toolscache.InformerSynced
	for _, kind := range []client.Object{&lsv1alpha1.Installation{}, &lsv1alpha1.Execution{}, &lsv1alpha1.DeployItem{}} {
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
			tell(event{failed: err})
		}
	}()
	go func() {
		if toolscache.WaitForCacheSync(ctx.Done(), synced...) {
			tell(event{synced: true})
		}
	}()
	return events, nil
}

// sentry tells when the server cannot be reached, and when it can again. Watches keep silent about the former.
type sentry struct {
	next http.RoundTripper
	tell func(event)
	lost atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (s *sentry) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := s.next.RoundTrip(request)
	switch {
	case err != nil && request.Context().Err() == nil:
		s.lost.Store(true)
		s.tell(event{failed: err})
	case err == nil && s.lost.Swap(false):
		s.tell(event{restored: true})
	}
	return response, err
}

func handler(tell func(event)) toolscache.ResourceEventHandler {
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

func tellOf(tell func(event), object any, gone bool) {
	if known, ok := object.(client.Object); ok {
		tell(event{object: known, gone: gone})
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
		typed.ManagedFields, typed.Spec.Configuration, typed.Status.ProviderStatus = nil, nil, nil
	}
	return object, nil
}

// refused reports whether watching again cannot help.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err)
}
