// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
)

// itemsOfExecution is the index of deploy items by the name of their execution.
const itemsOfExecution = "executions.ofDeployItem"

// executionsOfItem is the index of executions by the deploy items that their status records.
const executionsOfItem = "executions.recordingDeployItem"

func indexItems(mgr ctrl.Manager) error {
	err := mgr.GetFieldIndexer().IndexField(context.Background(), &lsv1alpha1.Execution{}, executionsOfItem, func(e client.Object) []string {
		return execution.Recorded(e.(*lsv1alpha1.Execution))
	})
	if err != nil {
		return fmt.Errorf("index executions by deploy item: %w", err)
	}
	err = mgr.GetFieldIndexer().IndexField(context.Background(), &lsv1alpha1.DeployItem{}, itemsOfExecution, executionNames)
	if err != nil {
		return fmt.Errorf("index deploy items by execution: %w", err)
	}
	return nil
}

// executionNames returns the executions that a deploy item belongs to: the one that its label names and the one that owns it. They differ
// only if another client has changed one of them.
func executionNames(item client.Object) []string {
	var names []string
	if name := item.GetLabels()[lsv1alpha1.ExecutionManagedByLabel]; name != "" {
		names = append(names, name)
	}
	owner := metav1.GetControllerOf(item)
	if owner != nil && owner.Kind == "Execution" && owner.APIVersion == lsv1alpha1.SchemeGroupVersion.String() &&
		(len(names) == 0 || names[0] != owner.Name) {
		names = append(names, owner.Name)
	}
	return names
}

// executionsOf returns the executions that a deploy item belongs to: if it no longer names any, those that have recorded it.
func executionsOf(reader client.Reader) handler.MapFunc {
	return func(ctx context.Context, item client.Object) []reconcile.Request {
		names := executionNames(item)
		if len(names) == 0 {
			names = recordersOf(ctx, reader, item)
		}
		var requests []reconcile.Request
		for _, name := range names {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{Namespace: item.GetNamespace(), Name: name}})
		}
		return requests
	}
}

func recordersOf(ctx context.Context, reader client.Reader, item client.Object) []string {
	var list lsv1alpha1.ExecutionList
	err := reader.List(
		ctx,
		&list,
		client.InNamespace(item.GetNamespace()),
		client.MatchingFields{executionsOfItem: item.GetName()},
		client.UnsafeDisableDeepCopy,
	)
	if err != nil {
		log.FromContext(ctx).Error(err, "Cannot find the execution of a deploy item", "deployItem", item.GetName())
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names
}

// exporterOf returns the execution of the continuous flow that has written an object with exports and is not being deleted.
func exporterOf(reader client.Reader) handler.MapFunc {
	return func(ctx context.Context, object client.Object) []reconcile.Request {
		name, found := strings.CutPrefix(object.GetLabels()[lsv1alpha1.DataObjectSourceLabel], lsv1alpha1.ExecutionPrefix)
		key := client.ObjectKey{Namespace: object.GetNamespace(), Name: name}
		var e lsv1alpha1.Execution
		if !found || reader.Get(ctx, key, &e) != nil || execution.FlowOf(&e) != lsv1alpha1.FlowContinuous || !e.DeletionTimestamp.IsZero() {
			return nil
		}
		return []reconcile.Request{{NamespacedName: key}}
	}
}

// vanishes passes deletions of objects that an execution may have to recreate.
func vanishes() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// worthALook passes those events of deploy items that an execution may wait for: an item has finished a job, is being deleted, or is gone.
// Other writes of a deployer do not matter to the execution, nor does the creation of an item: the execution created it. But a watch that
// was interrupted may show an item for the first time after all of these events.
func worthALook() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool {
			item, ok := e.Object.(*lsv1alpha1.DeployItem)
			return !ok || hasEnded(item) || !item.DeletionTimestamp.IsZero()
		},
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, okBefore := e.ObjectOld.(*lsv1alpha1.DeployItem)
			after, okAfter := e.ObjectNew.(*lsv1alpha1.DeployItem)
			if !okBefore || !okAfter {
				return true
			}
			finished := after.Status.IsFinished() && (!before.Status.IsFinished() || before.Status.JobIDFinished != after.Status.JobIDFinished)
			asked := before.DeletionTimestamp.IsZero() && !after.DeletionTimestamp.IsZero()
			return finished || asked || before.UID != after.UID || continuousNews(before, after)
		},
	}
}

// hasEnded reports whether an item has finished its work, rather than never had any.
func hasEnded(item *lsv1alpha1.DeployItem) bool {
	return item.Status.IsFinished() && (item.Status.JobID != "" || item.Status.Phase != "")
}

// continuousNews reports whether an event of a deploy item matters to an execution of the continuous flow: the item has finished or
// started again, or another client has changed its spec, its labels or its owner.
func continuousNews(before, after *lsv1alpha1.DeployItem) bool {
	if after.Spec.Flow != lsv1alpha1.FlowContinuous {
		return false
	}
	return execution.InWork(before) != execution.InWork(after) || before.Status.Phase != after.Status.Phase ||
		before.Generation != after.Generation || !equality.Semantic.DeepEqual(before.Labels, after.Labels) ||
		!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences)
}
