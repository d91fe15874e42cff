// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package freshness

import (
	"context"
	"reflect"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// served are the API groups that Espalier serves.
var served = []string{lsv1alpha1.GroupName, pipelines.GroupName}

// Client reads from a cache and writes to the API server. It never returns an object older than a version that it has already read or
// written. It is safe for concurrent use.
type Client struct {
	// Client executes the reads and writes.
	client.Client
	// live reads from the API server.
	live client.Reader
	// groups are the API groups whose objects are recorded.
	groups []string
	// follow subscribes the records of a kind to the events of the cache, and finds the store behind the cache, nil if that is unknown.
	follow func(context.Context, client.Object, toolscache.ResourceEventHandler) (Store, error)
	// handover is nil if there is no earlier leader to consider.
	handover *handover

	mu      sync.Mutex
	kinds   map[schema.GroupVersionKind]*kind
	indexes map[index]client.IndexerFunc
}

// Store reports how far a cache has progressed: it contains everything that has happened to a kind up to a version.
type Store interface {
	LastStoreSyncResourceVersion() string
}

type index struct {
	kind schema.GroupVersionKind
	name string
}

// New returns a client over one that reads from a cache. It cannot determine the progress of the cache: if an object was written and the
// cache does not show it, the client reads it from the API server.
func New(cached client.Client, live client.Reader) *Client {
	return &Client{
		Client: cached, live: live, groups: served,
		follow: func(context.Context, client.Object, toolscache.ResourceEventHandler) (Store, error) { return nil, nil },
		kinds:  map[schema.GroupVersionKind]*kind{}, indexes: map[index]client.IndexerFunc{},
	}
}

// Remembers reports whether a client returns everything of our kinds that this process, or an earlier leader, has written: an object that
// it does not return never existed, or is gone. Concurrent writes of other processes may appear later.
func Remembers(c client.Client) bool {
	fresh, ok := c.(*Client)
	return ok && fresh.handover != nil
}

// of returns the records of an object's kind, nil if there are none: the kind is not ours, or is not read from the cache in this form.
func (c *Client) of(ctx context.Context, object client.Object) (*kind, error) {
	switch object.(type) {
	case *unstructured.Unstructured, *metav1.PartialObjectMetadata:
		return nil, nil
	}
	gvk, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil || !slices.Contains(c.groups, gvk.Group) {
		return nil, nil // the read or write itself reports what is wrong
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if k, known := c.kinds[gvk]; known {
		return k, nil
	}
	k := &kind{gvk: gvk, known: map[client.ObjectKey]entry{}}
	if k.store, err = c.follow(ctx, object, k); err != nil {
		return nil, err
	}
	c.kinds[gvk] = k
	return k, nil
}

// known returns the records of an object's kind, nil if the kind is not ours or was never read from the cache.
func (c *Client) known(object client.Object) *kind {
	switch object.(type) {
	case *unstructured.Unstructured, *metav1.PartialObjectMetadata:
		return nil
	}
	return c.written(object)
}

// written returns the records of the kind that a response belongs to, if the kind was read before. The first read of a kind waits until
// the cache is filled, so it sees everything that was written before.
func (c *Client) written(answer client.Object) *kind {
	gvk, err := apiutil.GVKForObject(answer, c.Scheme())
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kinds[gvk]
}

// Get implements client.Reader.
func (c *Client) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	k, err := c.of(ctx, object)
	if err != nil {
		return err
	}
	if k == nil {
		return c.Client.Get(ctx, key, object, opts...)
	}
	if err := c.takeOver(ctx, k); err != nil {
		return err
	}
	return c.get(ctx, k, key, object, opts...)
}

func (c *Client) get(ctx context.Context, k *kind, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	// The progress of the cache must be determined before the read, because it may advance meanwhile.
	e, pending := k.pending(key)
	err := c.Client.Get(ctx, key, object, opts...)
	if !pending || client.IgnoreNotFound(err) != nil {
		return err
	}
	switch e.against(object, err == nil, k.store != nil) {
	case cacheIsNewer:
		k.forget(key, e)
		return err
	case isGone:
		return apierrors.NewNotFound(schema.GroupResource{Group: k.gvk.Group, Resource: k.gvk.Kind}, key.Name)
	case isRemembered:
		if remembered := e.object(); remembered != nil {
			set(object, remembered.DeepCopyObject())
			return nil
		}
	}
	return c.readLive(ctx, k, key, object)
}

//espalier:rights contexts
//	get contexts: after becoming leader, to read what the cache does not show yet

//espalier:rights installations
//	get installations,executions,dataobjects,targets: after becoming leader, to read what the cache does not show yet
//	get contexts,componentversionoverwrites: after becoming leader, to read what the cache does not show yet

//espalier:rights executions
//	get executions,deployitems,dataobjects: after becoming leader, to read what the cache does not show yet

//espalier:rights deployitems
//	get deployitems: after becoming leader, to read what the cache does not show yet

//espalier:rights targetsyncs
//	get targetsyncs,targets: after becoming leader, to read what the cache does not show yet

//espalier:rights pipelines
//	get pipelines: after becoming leader, to read what the cache does not show yet

//espalier:rights deployer-*
//	get deployitems,targets: after becoming leader, to read what the cache does not show yet

// readLive reads an object from the API server, and records the result.
func (c *Client) readLive(ctx context.Context, k *kind, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	before, known := k.newest(key)
	err := c.live.Get(ctx, key, object, opts...)
	if err == nil {
		k.note(key, whole(object))
	}
	if apierrors.IsNotFound(err) {
		if known {
			k.forget(key, before)
		}
		if shown := c.shown(ctx, k, key); shown != nil {
			k.note(key, entry{uid: shown.GetUID(), version: shown.GetResourceVersion(), gone: true})
		}
	}
	return err
}

// shown returns an object as the cache shows it; nil if it does not. Callers must not change it.
func (c *Client) shown(ctx context.Context, k *kind, key client.ObjectKey) client.Object {
	empty, err := c.Scheme().New(k.gvk)
	if err != nil {
		return nil
	}
	object := empty.(client.Object)
	if c.Client.Get(ctx, key, object, client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	return object
}

// set copies one object to another of the same type.
func set(object client.Object, to runtime.Object) {
	reflect.ValueOf(object).Elem().Set(reflect.ValueOf(to).Elem())
}
