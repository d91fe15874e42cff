// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/child"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/masking"
)

//espalier:rights executions
//	create,update,patch,delete deployitems: the deploy items of an execution
//	patch deployitems/status: the job is passed on, and ended by an interrupt
//	update executions/finalizers: deploy items block the deletion of their owner, which some API servers permit only so

// actOnItems applies an effect to several deploy items, and returns the resulting versions.
func (k *kind) actOnItems(
	ctx context.Context,
	e *lsv1alpha1.Execution,
	o execution.Observed,
	effect execution.Effect,
) (map[string]execution.Object, error) {
	items, do := k.itemAction(e, o, effect)
	if do == nil {
		return nil, fmt.Errorf("unknown effect %T: this is a bug in the controller", effect)
	}
	var mutex sync.Mutex
	written := make(map[string]execution.Object, len(items))
	err := child.Each(ctx, items, func(ctx context.Context, item execution.Item) error {
		object, err := do(ctx, item)
		if apierrors.IsNotFound(err) {
			return stale("deployitems", object.Name, err)
		}
		if err != nil {
			return err
		}
		mutex.Lock()
		defer mutex.Unlock()
		written[object.Name] = execution.Object{
			Name:       object.Name,
			UID:        object.UID,
			Version:    object.ResourceVersion,
			Generation: object.Generation,
		}
		return nil
	})
	return written, err
}

type itemAction func(context.Context, execution.Item) (*lsv1alpha1.DeployItem, error)

// itemAction returns the items that an effect concerns, and the action for each.
func (k *kind) itemAction(e *lsv1alpha1.Execution, o execution.Observed, effect execution.Effect) ([]execution.Item, itemAction) {
	switch x := effect.(type) {
	case execution.CreateItems:
		return x.Items, func(ctx context.Context, i execution.Item) (*lsv1alpha1.DeployItem, error) {
			return k.createItem(ctx, e, i)
		}
	case execution.UpdateItems:
		return x.Items, k.updateItem
	case execution.TriggerItems:
		return x.Items, k.onStub(e, func(ctx context.Context, _ execution.Item, stub *lsv1alpha1.DeployItem) error {
			return child.PropagateJob(ctx, k.cluster, stub, x.JobID, o.Now)
		})
	case execution.DeleteItems:
		return x.Items, k.onStub(e, func(ctx context.Context, _ execution.Item, stub *lsv1alpha1.DeployItem) error {
			return child.Delete(ctx, k.cluster, stub)
		})
	case execution.KeepDeployed:
		return x.Items, k.onStub(e, func(ctx context.Context, _ execution.Item, stub *lsv1alpha1.DeployItem) error {
			return child.Annotate(ctx, k.cluster, stub, lsv1alpha1.DeleteWithoutUninstallAnnotation, "true")
		})
	case execution.TellItems:
		return x.Items, k.onStub(e, func(ctx context.Context, _ execution.Item, stub *lsv1alpha1.DeployItem) error {
			return child.TellOfDeletion(ctx, k.cluster, stub, false)
		})
	case execution.InterruptItems:
		return x.Items, k.onStub(e, func(ctx context.Context, i execution.Item, stub *lsv1alpha1.DeployItem) error {
			return k.writeStatus(ctx, stub, i.CutShort)
		})
	default:
		return k.continuousAction(e, effect)
	}
}

// onStub runs an action on an object that has only a name, a UID and a version.
func (k *kind) onStub(e *lsv1alpha1.Execution, do func(context.Context, execution.Item, *lsv1alpha1.DeployItem) error) itemAction {
	return func(ctx context.Context, i execution.Item) (*lsv1alpha1.DeployItem, error) {
		stub := &lsv1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{
			Namespace: e.Namespace, Name: i.Object.Name, UID: i.Object.UID, ResourceVersion: i.Object.Version,
		}}
		return stub, do(ctx, i, stub)
	}
}

// createItem creates a deploy item. An existing one either is ours, and appears in the cache later, or belongs to another owner.
func (k *kind) createItem(ctx context.Context, e *lsv1alpha1.Execution, i execution.Item) (*lsv1alpha1.DeployItem, error) {
	item := i.Write.DeepCopy()
	err := k.cluster.Create(ctx, item)
	if err == nil {
		return item, nil
	}
	if !apierrors.IsAlreadyExists(err) {
		return item, child.NoRoom(refusal(i, err))
	}
	var existing lsv1alpha1.DeployItem
	if err := k.live.Get(ctx, client.ObjectKeyFromObject(item), &existing); err != nil {
		return item, err
	}
	if existing.Labels[lsv1alpha1.ExecutionManagedByLabel] == e.Name || metav1.IsControlledBy(&existing, e) {
		return item, stale("deployitems", item.Name, err)
	}
	return item, failure.Terminalf(
		configurationProblem,
		"deploy item %s belongs to another owner, but deploy item %q of this execution needs the name: delete it or rename the execution",
		existing.Name,
		i.Name,
	)
}

func (k *kind) updateItem(ctx context.Context, i execution.Item) (*lsv1alpha1.DeployItem, error) {
	item := i.Write.DeepCopy()
	return item, refusal(i, k.cluster.Update(ctx, item))
}

// writeStatus replaces the given fields of a status, under the optimistic lock.
func (k *kind) writeStatus(ctx context.Context, stub *lsv1alpha1.DeployItem, status *lsv1alpha1.DeployItemStatus) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": stub.ResourceVersion, "uid": stub.UID},
		"status":   status,
	})
	if err != nil {
		return fmt.Errorf("write the patch: %w", err)
	}
	if err := k.cluster.Status().Patch(ctx, stub, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return fmt.Errorf("write the status of %s: %w", stub.Name, err)
	}
	return nil
}

var configurationProblem = failure.Details{
	Operation: "PrepareDeployItems", Reason: execution.ReasonInvalidSpec, Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
}

// refusal makes an error terminal if the API server found the deploy item invalid. It drops the server's text about the configuration,
// which may quote it.
func refusal(i execution.Item, err error) error {
	if !apierrors.IsInvalid(err) {
		return err
	}
	var problems []string
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if strings.HasPrefix(cause.Field, "spec.config") {
				cause.Message = "is invalid"
			}
			problems = append(problems, masking.Cause(cause))
		}
	}
	return failure.Terminalf(configurationProblem, "the API server rejects deploy item %q: %s", i.Name, strings.Join(problems, "; "))
}
