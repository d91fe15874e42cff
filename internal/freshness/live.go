// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package freshness

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Live returns a reader of the API server. Later reads of the cache return nothing older than what it has read.
func (c *Client) Live() client.Reader { return liveReader{c} }

type liveReader struct{ client *Client }

// Get implements client.Reader.
func (r liveReader) Get(ctx context.Context, key client.ObjectKey, object client.Object, opts ...client.GetOption) error {
	if k := r.client.known(object); k != nil {
		return r.client.readLive(ctx, k, key, object, opts...)
	}
	return r.client.live.Get(ctx, key, object, opts...)
}

// List implements client.Reader.
func (r liveReader) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := r.client.live.List(ctx, list, opts...); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("%T is no object", item)
		}
		r.client.note(ctx, object)
		return nil
	})
}

// note records an object that was read live, if the cache shows an older one.
func (c *Client) note(ctx context.Context, object client.Object) {
	k := c.known(object)
	if k == nil {
		return
	}
	key := client.ObjectKeyFromObject(object)
	if shown := c.shown(ctx, k, key); shown == nil || older(shown.GetResourceVersion(), object.GetResourceVersion()) {
		k.note(key, whole(object))
	}
}
