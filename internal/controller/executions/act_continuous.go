// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/child"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/loop"
)

func (k *kind) dropOperation(ctx context.Context, e *lsv1alpha1.Execution) error {
	return loop.PatchMetadata(ctx, k.cluster, e, func(m metav1.Object) {
		annotations := m.GetAnnotations()
		delete(annotations, lsv1alpha1.OperationAnnotation)
		m.SetAnnotations(annotations)
	})
}

// continuousAction returns the items that an effect of the continuous flow concerns, and the action for each.
func (k *kind) continuousAction(e *lsv1alpha1.Execution, effect execution.Effect) ([]execution.Item, itemAction) {
	switch x := effect.(type) {
	case execution.AskItems:
		return x.Items, k.onStub(e, func(ctx context.Context, _ execution.Item, stub *lsv1alpha1.DeployItem) error {
			return child.Annotate(ctx, k.cluster, stub, lsv1alpha1.OperationAnnotation, string(x.Operation))
		})
	case execution.ConvertItems:
		return x.Items, k.onStub(e, func(ctx context.Context, i execution.Item, stub *lsv1alpha1.DeployItem) error {
			return k.convert(ctx, i, stub, x.Flow)
		})
	default:
		return nil, nil
	}
}

// convert changes the flow of an item, which creates a new generation, and records in its status that this generation is deployed if the
// previous one was. In the continuous flow, no deployer may see the new generation without that status: so the status is written first on
// the way there, and last on the way back, where an annotation records that it is still missing. An item that is being deleted needs no
// such record.
func (k *kind) convert(ctx context.Context, i execution.Item, stub *lsv1alpha1.DeployItem, flow lsv1alpha1.Flow) error {
	generation := i.Object.Generation
	if i.Flow != flow {
		generation++
	}
	status := map[string]any{"status": map[string]any{"observedGeneration": generation}}
	spec := map[string]any{"spec": map[string]any{"flow": flow}}
	if i.Current && flow == lsv1alpha1.FlowJob {
		note := map[string]any{execution.FlowGenerationAnnotation: strconv.FormatInt(generation, 10)}
		spec["metadata"] = map[string]any{"annotations": note}
	}
	steps := []func() error{
		func() error {
			if !i.Current || i.Terminating {
				return nil
			}
			return k.patchLocked(stub, status, func(p client.Patch) error { return k.cluster.Status().Patch(ctx, stub, p) })
		},
		func() error {
			return k.patchLocked(stub, spec, func(p client.Patch) error { return k.cluster.Patch(ctx, stub, p) })
		},
	}
	if flow == lsv1alpha1.FlowJob {
		steps[0], steps[1] = steps[1], steps[0]
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("change the flow of deploy item %s: %w", stub.Name, err)
		}
	}
	return nil
}

// patchLocked applies a merge patch unless the object has changed.
func (k *kind) patchLocked(stub *lsv1alpha1.DeployItem, content map[string]any, apply func(client.Patch) error) error {
	metadata, _ := content["metadata"].(map[string]any)
	if metadata == nil {
		metadata = map[string]any{}
		content["metadata"] = metadata
	}
	metadata["resourceVersion"], metadata["uid"] = stub.ResourceVersion, stub.UID
	patch, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("write the patch: %w", err)
	}
	return apply(client.RawPatch(types.MergePatchType, patch))
}
