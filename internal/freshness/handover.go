// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package freshness

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// handover describes how this process becomes leader. Its caches were filled before, while another process wrote.
type handover struct {
	// elected is closed when this process leads.
	elected <-chan struct{}
	// namespaces are those that the caches contain; none means all.
	namespaces []string
}

// takeOver compares, once this process leads, the cache of a kind with the API server. From then on, outdated objects
// in the cache are not shown. Concurrent readers wait.
func (c *Client) takeOver(ctx context.Context, k *kind) error {
	if c.handover == nil || k.taken.Load() {
		return nil
	}
	select {
	case <-c.handover.elected:
	default:
		return nil // no decisions are made before that
	}
	k.takeover.Lock()
	defer k.takeover.Unlock()
	if k.taken.Load() {
		return nil
	}
	namespaces := c.handover.namespaces
	if len(namespaces) == 0 {
		namespaces = []string{metav1.NamespaceAll}
	}
	for _, namespace := range namespaces {
		if err := c.compare(ctx, k, namespace); err != nil {
			return fmt.Errorf("find out how current the cache of %s is: %w", k.gvk.Kind, err)
		}
	}
	k.taken.Store(true)
	return nil
}

// page is how many objects are listed per request.
const page = 2000

// compare records the version that the API server has of the objects in a namespace, if the cache shows an older one or none, or that they
// are gone.
func (c *Client) compare(ctx context.Context, k *kind, namespace string) error {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(k.gvk.GroupVersion().WithKind(k.gvk.Kind + "List"))
	alive, before := map[types.UID]bool{}, c.everyShown(ctx, k, namespace)
	for more := true; more; more = list.Continue != "" {
		if err := c.live.List(ctx, list, client.InNamespace(namespace), client.Limit(page), client.Continue(list.Continue)); err != nil {
			return err
		}
		for i := range list.Items {
			item := &list.Items[i]
			key := client.ObjectKeyFromObject(item)
			alive[item.UID] = true
			if shown := c.shown(ctx, k, key); shown == nil || older(shown.GetResourceVersion(), item.ResourceVersion) {
				k.note(key, entry{uid: item.UID, version: item.ResourceVersion})
			}
		}
	}
	for _, object := range before {
		if !alive[object.GetUID()] {
			k.note(client.ObjectKeyFromObject(object), entry{uid: object.GetUID(), version: object.GetResourceVersion(), gone: true})
		}
	}
	return nil
}

// everyShown returns the objects of a namespace that the cache shows. It is called before the list request to the API server, so an object
// that the list lacks is gone.
func (c *Client) everyShown(ctx context.Context, k *kind, namespace string) []client.Object {
	empty, err := c.Scheme().New(k.gvk.GroupVersion().WithKind(k.gvk.Kind + "List"))
	if err != nil {
		return nil
	}
	list := empty.(client.ObjectList)
	if c.Client.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy) != nil {
		return nil
	}
	var objects []client.Object
	_ = meta.EachListItem(list, func(item runtime.Object) error { // the function returns no error
		objects = append(objects, item.(client.Object))
		return nil
	})
	return objects
}
