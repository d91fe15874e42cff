// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// PatchMetadata changes annotations, labels, finalizers and owners of object in one write under the optimistic lock. The object takes over
// the new metadata, including resourceVersion, and keeps its status in memory, so that PatchMetadata can be called in the middle of a pass.
// If nothing changes, it writes nothing.
func PatchMetadata(ctx context.Context, c client.Client, object client.Object, change func(metav1.Object)) error {
	changed := object.DeepCopyObject().(client.Object)
	change(changed)
	diff, err := metadataDiff(object, changed)
	if err != nil || diff == nil {
		return err
	}
	answer, err := patchObject(ctx, c, object, diff)
	if err != nil {
		return fmt.Errorf("patch the metadata of %s: %w", client.ObjectKeyFromObject(object), err)
	}
	takeMetadata(object, answer)
	return nil
}

func metadataDiff(before, after client.Object) ([]byte, error) {
	diff, err := jsonpatch.CreateMergePatch(changeable(before), changeable(after))
	if err != nil {
		return nil, fmt.Errorf("compute the metadata patch: %w", err)
	}
	var metadata map[string]any
	if err := json.Unmarshal(diff, &metadata); err != nil {
		return nil, fmt.Errorf("compute the metadata patch: %w", err)
	}
	if len(metadata) == 0 {
		return nil, nil
	}
	metadata["resourceVersion"] = before.GetResourceVersion()
	return mustJSON(map[string]any{"metadata": metadata}), nil
}

// changeable returns the part of the metadata that controllers modify.
func changeable(object metav1.Object) []byte {
	return mustJSON(metav1.ObjectMeta{
		Annotations: object.GetAnnotations(),
		Labels:      object.GetLabels(),
		Finalizers:  object.GetFinalizers(),

		OwnerReferences: object.GetOwnerReferences(),
	})
}

func takeMetadata(object, from metav1.Object) {
	object.SetResourceVersion(from.GetResourceVersion())
	object.SetGeneration(from.GetGeneration())
	object.SetAnnotations(from.GetAnnotations())
	object.SetLabels(from.GetLabels())
	object.SetFinalizers(slices.Clone(from.GetFinalizers()))
	object.SetDeletionTimestamp(from.GetDeletionTimestamp())
	object.SetOwnerReferences(from.GetOwnerReferences())
	object.SetManagedFields(from.GetManagedFields())
}
