// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	manifest "espalier.dev/api/deployer/manifest/v1alpha2"
	"espalier.dev/internal/deployer/objects/cluster"
)

var owner = client.FieldOwner(cluster.FieldManager)

func (a *attempt) strategyName() string {
	if a.Strategy == "" {
		return string(manifest.UpdateStrategyUpdate)
	}
	return string(a.Strategy)
}

func (a *attempt) resource() schema.GroupResource {
	gvk := a.desired.GroupVersionKind()
	return schema.GroupResource{Group: gvk.Group, Resource: gvk.Kind}
}

// create creates the object without reading it first. If it exists, the next attempt reads it.
func (a *attempt) create(ctx context.Context) (Outcome, error) {
	object := a.desired.DeepCopy()
	annotations := object.GetAnnotations()
	for name, value := range a.object.AnnotateBeforeCreate {
		annotations[name] = value
	}
	object.SetAnnotations(annotations)
	err := a.Cluster.Client().Create(ctx, object, owner)
	if apierrors.IsAlreadyExists(err) {
		return Outcome{}, errChanged
	}
	if err != nil {
		return Outcome{}, cluster.Refused("create", a.subject(), err)
	}
	return Outcome{Verdict: Created, Live: object}, nil
}

// write changes an existing object, unless it has changed since it was read.
func (a *attempt) write(ctx context.Context, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	switch a.Strategy {
	case manifest.UpdateStrategyServerSideApply:
		return a.serverSideApply(ctx, live)
	case manifest.UpdateStrategyPatch:
		return a.patch(ctx, live)
	}
	result := a.next(live)
	result.SetManagedFields(nil)
	return result, a.Cluster.Client().Update(ctx, result, owner)
}

// patch sends the difference to the manifest as a merge patch: fields that the manifest does not have are removed.
func (a *attempt) patch(ctx context.Context, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	wanted := a.next(live)
	wanted.SetManagedFields(live.GetManagedFields())
	wanted.SetCreationTimestamp(live.GetCreationTimestamp())
	wanted.SetGeneration(live.GetGeneration())
	before, err := json.Marshal(live.Object)
	if err != nil {
		return nil, fmt.Errorf("write the object as JSON: %w", err)
	}
	after, err := json.Marshal(wanted.Object)
	if err != nil {
		return nil, fmt.Errorf("write the manifest as JSON: %w", err)
	}
	difference, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, fmt.Errorf("compare the object with its manifest: %w", err)
	}
	if string(difference) == "{}" {
		return live, nil
	}
	body, err := locked(difference, live)
	if err != nil {
		return nil, err
	}
	result := live.DeepCopy()
	return result, a.Cluster.Client().Patch(ctx, result, client.RawPatch(types.MergePatchType, body), owner)
}

// locked restricts a merge patch to one version of one object.
func locked(patch []byte, live *unstructured.Unstructured) ([]byte, error) {
	lock, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(),
	}})
	if err != nil {
		return nil, fmt.Errorf("write the precondition of a patch: %w", err)
	}
	merged, err := jsonpatch.MergeMergePatches(patch, lock)
	if err != nil {
		return nil, fmt.Errorf("add the precondition to a patch: %w", err)
	}
	return merged, nil
}

// serverSideApply makes the API server merge. Fields set by other strategies are handed over first: otherwise the API server keeps them
// when the manifest drops them.
func (a *attempt) serverSideApply(ctx context.Context, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	handover, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(cluster.FieldManager), cluster.FieldManager)
	if err != nil {
		return nil, fmt.Errorf("take over the fields set before: %w", err)
	}
	taken := len(handover) > 0 && setByUpdate(live)
	if taken && !a.Rehearsal {
		if err := a.Cluster.Client().Patch(ctx, live.DeepCopy(), client.RawPatch(types.JSONPatchType, handover), owner); err != nil {
			return nil, err
		}
	}
	result := a.desired.DeepCopy()
	result.SetUID(live.GetUID())
	err = a.Cluster.Client().Apply(ctx, client.ApplyConfigurationFromUnstructured(result), owner, client.ForceOwnership)
	if err != nil || !taken || !a.Rehearsal {
		return result, err
	}
	return a.rehearseHandover(ctx, live, result)
}

func setByUpdate(live *unstructured.Unstructured) bool {
	for _, record := range live.GetManagedFields() {
		if record.Manager == cluster.FieldManager && record.Operation == metav1.ManagedFieldsOperationUpdate {
			return true
		}
	}
	return false
}
