// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package freshness

import (
	"context"
	"encoding/json"
	"reflect"
	"sync"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Create implements client.Writer.
func (c *Client) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	err := c.Client.Create(ctx, object, opts...)
	if err == nil {
		c.answered(object, nil)
	}
	return err
}

// Update implements client.Writer.
func (c *Client) Update(ctx context.Context, object client.Object, opts ...client.UpdateOption) error {
	err := c.Client.Update(ctx, object, opts...)
	if err == nil {
		c.answered(object, nil)
	}
	return err
}

// Patch implements client.Writer.
func (c *Client) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
	before := c.before(ctx, object, patch)
	err := c.Client.Patch(ctx, object, patch, opts...)
	if err == nil {
		c.answered(object, before)
	}
	return err
}

// Status implements client.StatusClient.
func (c *Client) Status() client.SubResourceWriter { return statusWriter{c.Client.Status(), c} }

type statusWriter struct {
	client.SubResourceWriter
	client *Client
}

// Update implements client.SubResourceWriter.
func (w statusWriter) Update(ctx context.Context, object client.Object, opts ...client.SubResourceUpdateOption) error {
	err := w.SubResourceWriter.Update(ctx, object, opts...)
	if err == nil {
		w.client.answered(object, nil)
	}
	return err
}

// Patch implements client.SubResourceWriter.
func (w statusWriter) Patch(ctx context.Context, object client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
	before := w.client.before(ctx, object, patch)
	err := w.SubResourceWriter.Patch(ctx, object, patch, opts...)
	if err == nil {
		w.client.answered(object, before)
	}
	return err
}

// patched is an object before a patch, and the patch.
type patched struct {
	object client.Object
	patch  []byte
}

// before returns the object that a patch changes, if the response contains only metadata and the object is known in the version that the
// patch requires. Otherwise it returns nil, and only the version is recorded.
func (c *Client) before(ctx context.Context, answer client.Object, patch client.Patch) *patched {
	if _, metadata := answer.(*metav1.PartialObjectMetadata); !metadata || patch.Type() != types.MergePatchType {
		return nil
	}
	k := c.written(answer)
	text, err := patch.Data(answer)
	if k == nil || err != nil {
		return nil
	}
	version := lockOf(text)
	key := client.ObjectKeyFromObject(answer)
	if e, known := k.newest(key); known && e.version == version {
		if object := e.object(); object != nil {
			return &patched{object: object, patch: text}
		}
	}
	if object := c.shown(ctx, k, key); object != nil && object.GetResourceVersion() == version {
		return &patched{object: object, patch: text}
	}
	return nil
}

// lockOf returns the version that a patch requires; empty if it accepts any.
func lockOf(patch []byte) string {
	var locked metav1.PartialObjectMetadata
	if err := json.Unmarshal(patch, &locked); err != nil {
		return ""
	}
	return locked.ResourceVersion
}

// answered records the response to a write.
func (c *Client) answered(answer client.Object, before *patched) {
	k := c.written(answer)
	if k == nil {
		return
	}
	key := client.ObjectKeyFromObject(answer)
	switch metadata := answer.(type) {
	case *metav1.PartialObjectMetadata:
		k.note(key, before.entry(metadata))
	case *unstructured.Unstructured:
		k.note(key, entry{uid: answer.GetUID(), version: answer.GetResourceVersion(), gone: vanished(answer)})
	default:
		k.note(key, whole(answer))
	}
}

// entry returns the object after the patch, with the metadata from the API server. It is created on demand: usually, the cache
// shows the object before it is needed.
func (p *patched) entry(answer *metav1.PartialObjectMetadata) entry {
	e := entry{uid: answer.UID, version: answer.ResourceVersion, gone: vanished(answer)}
	if p == nil || e.gone {
		return e
	}
	metadata := answer.DeepCopy()
	metadata.ManagedFields = nil
	e.content = sync.OnceValue(func() client.Object { return p.apply(&metadata.ObjectMeta) })
	return e
}

func (p *patched) apply(metadata *metav1.ObjectMeta) client.Object {
	before, err := json.Marshal(p.object)
	if err != nil {
		return nil
	}
	text, err := jsonpatch.MergePatch(before, p.patch)
	if err != nil {
		return nil
	}
	after := reflect.New(reflect.TypeOf(p.object).Elem()).Interface().(client.Object)
	if err := json.Unmarshal(text, after); err != nil {
		return nil
	}
	after.SetResourceVersion(metadata.ResourceVersion)
	after.SetGeneration(metadata.Generation)
	after.SetAnnotations(metadata.Annotations)
	after.SetLabels(metadata.Labels)
	after.SetFinalizers(metadata.Finalizers)
	after.SetOwnerReferences(metadata.OwnerReferences)
	after.SetDeletionTimestamp(metadata.DeletionTimestamp)
	after.SetDeletionGracePeriodSeconds(metadata.DeletionGracePeriodSeconds)
	after.SetManagedFields(nil)
	return after
}
