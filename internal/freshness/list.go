// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package freshness

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// List implements client.Reader.
func (c *Client) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	k, err := c.ofList(ctx, list)
	if err != nil {
		return err
	}
	if k == nil {
		return c.Client.List(ctx, list, opts...)
	}
	if err := c.takeOver(ctx, k); err != nil {
		return err
	}
	options := (&client.ListOptions{}).ApplyOptions(opts)
	pending := k.allPending(options.Namespace)
	if err := c.Client.List(ctx, list, opts...); err != nil || len(pending) == 0 {
		return err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return fmt.Errorf("read the list of %s: %w", k.gvk.Kind, err)
	}
	for _, key := range pending {
		if items, err = c.replace(ctx, k, items, key, options); err != nil {
			return err
		}
	}
	return meta.SetList(list, items)
}

func (c *Client) ofList(ctx context.Context, list client.ObjectList) (*kind, error) {
	switch list.(type) {
	case *unstructured.UnstructuredList, *metav1.PartialObjectMetadataList:
		return nil, nil
	}
	gvk, err := apiutil.GVKForObject(list, c.Scheme())
	if err != nil {
		return nil, nil // the list itself reports what is wrong
	}
	gvk.Kind = strings.TrimSuffix(gvk.Kind, "List")
	object, err := c.Scheme().New(gvk)
	if err != nil {
		return nil, nil
	}
	return c.of(ctx, object.(client.Object))
}

// replace replaces an object in a list with its newest version.
func (c *Client) replace(
	ctx context.Context,
	k *kind,
	items []runtime.Object,
	key client.ObjectKey,
	options *client.ListOptions,
) ([]runtime.Object, error) {
	empty, err := c.Scheme().New(k.gvk)
	if err != nil {
		return nil, err
	}
	newest := empty.(client.Object)
	err = c.get(ctx, k, key, newest)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	items = slices.DeleteFunc(items, func(item runtime.Object) bool { return client.ObjectKeyFromObject(item.(client.Object)) == key })
	if apierrors.IsNotFound(err) {
		return items, nil
	}
	selected, err := c.selected(k, newest, options)
	if selected {
		items = append(items, newest)
	}
	return items, err
}

// selected reports whether a list with these options contains an object.
func (c *Client) selected(k *kind, object client.Object, options *client.ListOptions) (bool, error) {
	if options.LabelSelector != nil && !options.LabelSelector.Matches(labels.Set(object.GetLabels())) {
		return false, nil
	}
	if options.FieldSelector == nil {
		return true, nil
	}
	for _, wanted := range options.FieldSelector.Requirements() {
		c.mu.Lock()
		extract := c.indexes[index{k.gvk, wanted.Field}]
		c.mu.Unlock()
		if extract == nil {
			return false, fmt.Errorf("there is no index %q of %s that a newer object could be compared with", wanted.Field, k.gvk.Kind)
		}
		if !slices.Contains(extract(object), wanted.Value) {
			return false, nil
		}
	}
	return true, nil
}
