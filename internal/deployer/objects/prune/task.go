// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/api/deployer"
	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/inventory"
)

// task is the removal of one object.
type task struct {
	subject cluster.Subject
	force   bool
	entry   inventory.Entry
	ours    func(live *unstructured.Unstructured) bool
}

// remove deletes the object and returns what blocks the deletion; empty if the object is gone or not ours.
func (t task) remove(ctx context.Context) (left string, err error) {
	live, err := t.read(ctx)
	if err != nil || live == nil || !t.ours(live) {
		return "", err
	}
	for _, push := range []func(context.Context, *unstructured.Unstructured) (bool, error){t.delete, t.free} {
		pushed, err := push(ctx, live)
		if err != nil {
			return "", err
		}
		if !pushed {
			continue
		}
		if live, err = t.readSame(ctx, live); live == nil {
			return "", err
		}
	}
	return held(live), nil
}

// readSame returns nil if the object is gone, even if another one has taken its name.
func (t task) readSame(ctx context.Context, before *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := t.read(ctx)
	if err != nil || live == nil || live.GetUID() != before.GetUID() {
		return nil, err
	}
	return live, nil
}

func held(live *unstructured.Unstructured) string {
	if names := live.GetFinalizers(); len(names) > 0 {
		return "being deleted; held by finalizers: " + strings.Join(names, ", ")
	}
	return "being deleted"
}

// read returns nil for an object that does not exist, or whose kind no longer exists.
func (t task) read(ctx context.Context) (*unstructured.Unstructured, error) {
	live, err := t.subject.Read(ctx)
	if isGone(err) {
		return nil, nil
	}
	return live, cluster.Refused("read", t.subject, err)
}

func isGone(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// delete applies the requested changes to the object, then deletes it, both only if it is still the one that was read. It
// does nothing if the object is already in deletion.
func (t task) delete(ctx context.Context, live *unstructured.Unstructured) (bool, error) {
	if live.GetDeletionTimestamp() != nil {
		return false, nil
	}
	if err := t.prepare(ctx, live); err != nil {
		return false, err
	}
	uid := live.GetUID()
	err := t.subject.Cluster.Client().
		Delete(ctx, live.DeepCopy(), client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if isGone(err) {
		return true, nil
	}
	return true, cluster.Refused("delete", t.subject, err)
}

// prepare sends the changes that the manifest requires before a deletion, in one patch.
func (t task) prepare(ctx context.Context, live *unstructured.Unstructured) error {
	if len(t.entry.AnnotateBeforeDelete) == 0 && t.entry.PatchBeforeDelete == nil {
		return nil
	}
	patch := []byte("{}")
	if t.entry.PatchBeforeDelete != nil && len(t.entry.PatchBeforeDelete.Raw) > 0 {
		patch = t.entry.PatchBeforeDelete.Raw
	}
	metadata := map[string]any{"uid": live.GetUID()}
	if len(t.entry.AnnotateBeforeDelete) > 0 {
		metadata["annotations"] = t.entry.AnnotateBeforeDelete
	}
	addition, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("write the annotations for %s: %w", t.subject, err)
	}
	if patch, err = jsonpatch.MergeMergePatches(patch, addition); err != nil {
		return fmt.Errorf("read patchBeforeDelete of %s: it is not a JSON object", t.subject)
	}
	return t.patch(ctx, "patch before the deletion of", live, patch)
}

// free removes the finalizers, if the group requires that.
func (t task) free(ctx context.Context, live *unstructured.Unstructured) (bool, error) {
	if !t.force || len(live.GetFinalizers()) == 0 {
		return false, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": live.GetUID(), "finalizers": nil}})
	if err != nil {
		return false, fmt.Errorf("write the patch for %s: %w", t.subject, err)
	}
	return true, t.patch(ctx, "remove the finalizers of", live, patch)
}

func (t task) patch(ctx context.Context, operation string, live *unstructured.Unstructured, patch []byte) error {
	err := t.subject.Cluster.Client().
		Patch(ctx, live.DeepCopy(), client.RawPatch(types.MergePatchType, patch), client.FieldOwner(cluster.FieldManager))
	if isGone(err) {
		return nil
	}
	return cluster.Refused(operation, t.subject, err)
}

func gvkOf(kind deployer.ResourceType) schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(kind.APIVersion, kind.Kind)
}

func metadataList(gvk schema.GroupVersionKind) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(gvk.GroupVersion().WithKind(gvk.Kind + "List"))
	return list
}
