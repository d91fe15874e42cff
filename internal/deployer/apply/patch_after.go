// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"espalier.dev/internal/deployer/cluster"
	"espalier.dev/internal/deployer/inventory"
)

// PatchAfter sends the patch that a manifest wants once everything is ready. An object that is not in the inventory is not
// ours to patch.
func (a Applier) PatchAfter(ctx context.Context, o Object, known *inventory.Inventory) error {
	if _, ours := known.Find(o.Key()); !ours || o.PatchAfterDeployment == nil || len(o.PatchAfterDeployment.Raw) == 0 {
		return nil
	}
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(o.Manifest.GroupVersionKind())
	object.SetNamespace(o.Manifest.GetNamespace())
	object.SetName(o.Manifest.GetName())
	err := a.Cluster.Client().Patch(ctx, object, client.RawPatch(types.MergePatchType, o.PatchAfterDeployment.Raw), owner)
	return cluster.Refused("patch", cluster.SubjectOf(a.Cluster, o.Manifest), err)
}

// Patched is the object with the patch already in its manifest: what a finished deployment looks like.
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
