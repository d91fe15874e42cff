// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/deployer/objects/inventory"
)

// PatchAfter sends the patch that a manifest requires once everything is ready. An object that is not in the inventory is not
// patched.
func (a Applier) PatchAfter(ctx context.Context, o Object, known *inventory.Inventory) error {
	entry, ours := known.Find(o.Key())
	if !ours || o.PatchAfterDeployment == nil || len(o.PatchAfterDeployment.Raw) == 0 {
		return nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(o.Manifest.GroupVersionKind())
	object.SetNamespace(o.Manifest.GetNamespace())
	object.SetName(o.Manifest.GetName())
	lock, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": entry.Resource.UID}})
	if err != nil {
		return fmt.Errorf("write the precondition of a patch: %w", err)
	}
	patch, err := jsonpatch.MergeMergePatches(o.PatchAfterDeployment.Raw, lock)
	if err != nil {
		return fmt.Errorf("%s: patchAfterDeployment is not a JSON object", o.Path)
	}
	err = a.Cluster.Client().Patch(ctx, object, client.RawPatch(types.MergePatchType, patch), owner)
	return cluster.Refused("patch", cluster.SubjectOf(a.Cluster, o.Manifest), err)
}

// Patched returns the object with the patch merged into its manifest: the state after a finished deployment.
func (o Object) Patched() (Object, error) {
	if o.PatchAfterDeployment == nil || len(o.PatchAfterDeployment.Raw) == 0 {
		return o, nil
	}
	before, err := json.Marshal(o.Manifest.Object)
	if err != nil {
		return o, err
	}
	after, err := jsonpatch.MergePatch(before, o.PatchAfterDeployment.Raw)
	if err != nil {
		return o, err
	}
	patched := &unstructured.Unstructured{}
	if err := patched.UnmarshalJSON(after); err != nil {
		return o, err
	}
	o.Manifest = patched
	return o, nil
}
