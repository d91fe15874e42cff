// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// reconnectPause prevents a follower from spinning while its server is down or shutting down.
const reconnectPause = 50 * time.Millisecond

// follower sees every revision of the matching objects: first a list, then a watch from that list's resourceVersion, resumed from the last
// revision seen whenever the server closes it. So no state in between is missed.
type follower struct {
	server    *APIServer
	resource  schema.GroupVersionResource
	namespace string // empty for all, and for resources without namespaces
	name      string // empty for all

	// listed gets the state at the start, and again after each relist; event gets each Added, Modified and Deleted since. An error from either
	// stops the follower.
	listed func([]unstructured.Unstructured) error
	event  func(watch.EventType, *unstructured.Unstructured) error
	// expired is called when the server no longer has the revisions after the last one seen: nil means to list again, an error stops the
	// follower.
	expired func() error

	seen string // resourceVersion up to which everything has been passed on; empty means to list
}

// run returns when the context ends, with its error, when a callback returns an error, with that error, or when the server has ended
// unexpectedly.
func (f *follower) run(ctx context.Context) error {
	for {
		err := f.listOnce(ctx)
		if err == nil {
			err = f.watchOnce(ctx)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !worthRetrying(err) {
			return err
		}
		if err := f.server.fallen(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(reconnectPause):
		}
	}
}

// lost is an error of the connection or the server, as opposed to one of a callback.
type lost struct{ error }

func worthRetrying(err error) bool {
	cause, ok := err.(lost)
	return ok && !apierrors.IsNotFound(cause.error) && !apierrors.IsForbidden(cause.error)
}

func (f *follower) listOnce(ctx context.Context) error {
	if f.seen != "" {
		return nil
	}
	list, err := f.client().List(ctx, f.options())
	if err != nil {
		return lost{fmt.Errorf("list %s: %w", f.resource.Resource, err)}
	}
	if err := f.listed(list.Items); err != nil {
		return err
	}
	f.seen = list.GetResourceVersion()
	return nil
}

// watchOnce returns nil when the server has closed the watch, as it does from time to time.
func (f *follower) watchOnce(ctx context.Context) error {
	options := f.options()
	options.ResourceVersion, options.AllowWatchBookmarks = f.seen, true
	watcher, err := f.client().Watch(ctx, options)
	if err != nil {
		return f.watchFailed(err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if event.Type == watch.Error {
			return f.watchFailed(apierrors.FromObject(event.Object))
		}
		object, ok := event.Object.(*unstructured.Unstructured)
		if !ok {
			return fmt.Errorf("watch %s: unexpected %T", f.resource.Resource, event.Object)
		}
		if event.Type != watch.Bookmark {
			if err := f.event(event.Type, object); err != nil {
				return err
			}
		}
		f.seen = object.GetResourceVersion()
	}
	return nil
}

func (f *follower) watchFailed(err error) error {
	if !apierrors.IsGone(err) && !apierrors.IsResourceExpired(err) {
		return lost{fmt.Errorf("watch %s: %w", f.resource.Resource, err)}
	}
	if err := f.expired(); err != nil {
		return err
	}
	f.seen = ""
	return nil
}

func (f *follower) client() dynamic.ResourceInterface {
	resource := f.server.current().dynamic.Resource(f.resource)
	if f.namespace == "" {
		return resource
	}
	return resource.Namespace(f.namespace)
}

func (f *follower) options() metav1.ListOptions {
	if f.name == "" {
		return metav1.ListOptions{}
	}
	return metav1.ListOptions{FieldSelector: "metadata.name=" + f.name}
}

// resourceOf returns the server's name for an object's kind.
func (s *APIServer) resourceOf(object client.Object) (*meta.RESTMapping, error) {
	access := s.current()
	kind, err := apiutil.GVKForObject(object, access.client.Scheme())
	if err != nil {
		return nil, fmt.Errorf("find the kind of a %T: %w", object, err)
	}
	mapping, err := access.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return nil, fmt.Errorf("find the resource of kind %s: %w", kind.Kind, err)
	}
	return mapping, nil
}
