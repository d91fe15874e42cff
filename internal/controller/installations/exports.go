// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/controller/child"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/loop"
)

// readExportInputs reads the inputs of exports, and the existing objects that they will replace.
func (k *kind) readExportInputs(ctx context.Context, in *installation.ExportInputs) (err error) {
	if in.Values, err = k.exportValues(ctx, in.Inputs); err != nil {
		return err
	}
	in.Existing, err = k.existingExports(ctx, in.Installation)
	return err
}

//espalier:rights installations
//	get,list dataobjects: what deploy items and nested installations export
//	list targets: Targets that nested installations export

// exportValues collects the values that export executions see.
func (k *kind) exportValues(ctx context.Context, in installation.Inputs) (values blueprint.ExportValues, err error) {
	inst := in.Installation
	if values.DeployItems, err = k.deployItemExports(ctx, in.Below.Execution); err != nil {
		return values, err
	}
	// The exports of nested installations and the imports of this one are read from the API server: the cache may show that a nested
	// installation has succeeded before it shows its exports.
	var data lsv1alpha1.DataObjectList
	var targets lsv1alpha1.TargetList
	for _, list := range []client.ObjectList{&data, &targets} {
		err := k.live.List(ctx, list, client.InNamespace(inst.Namespace), exportedTo(in))
		if err != nil {
			return values, fmt.Errorf("list the objects of the own context: %w", err)
		}
	}
	job := in.Run.Version
	if in.Run.Flow == lsv1alpha1.FlowContinuous {
		job = ""
	}
	values.ContextValues, err = dataflow.CollectContext(
		inst.Name,
		job,
		currentOf(in, pointers(data.Items)),
		currentOf(in, pointers(targets.Items)),
	)
	return values, err
}

// exportedTo selects the objects of the context that an installation opens: those of its job, or all in the continuous flow, where each
// object carries the version of its writer.
func exportedTo(in installation.Inputs) client.MatchingLabels {
	labels := client.MatchingLabels{lsv1alpha1.DataObjectContextLabel: dataflow.ContextOf(in.Installation.Name)}
	if in.Run.Flow != lsv1alpha1.FlowContinuous {
		labels[lsv1alpha1.DataObjectJobIDLabel] = in.Run.Version
	}
	return labels
}

// currentOf omits the objects that the installation itself has written for an earlier job or update.
func currentOf[T client.Object](in installation.Inputs, objects []T) []T {
	return slices.DeleteFunc(objects, func(object T) bool {
		labels := object.GetLabels()
		return labels[lsv1alpha1.DataObjectSourceLabel] == dataflow.ContextOf(in.Installation.Name) &&
			labels[lsv1alpha1.DataObjectJobIDLabel] != in.Run.Version
	})
}

func pointers[T any](items []T) []*T {
	result := make([]*T, len(items))
	for i := range items {
		result[i] = &items[i]
	}
	return result
}

// deployItemExports reads what the execution has collected. It reads from the API server, because the object carries no mark of its job.
func (k *kind) deployItemExports(ctx context.Context, execution *lsv1alpha1.Execution) (map[string]any, error) {
	if execution == nil || execution.Status.ExportReference == nil {
		return nil, nil
	}
	reference := execution.Status.ExportReference
	var object lsv1alpha1.DataObject
	err := k.live.Get(ctx, client.ObjectKey{Namespace: execution.Namespace, Name: reference.Name}, &object)
	if err != nil {
		return nil, fmt.Errorf("read the exports of the execution: %w", err)
	}
	var exports map[string]any
	if err := json.Unmarshal(object.Data.Raw, &exports); err != nil {
		return nil, failure.Terminalf(
			failure.Details{Operation: string(lsv1alpha1.ConditionCreateExports), Reason: dataflow.ReasonExportInvalid},
			"DataObject %s with the exports of the execution is not a JSON object",
			reference.Name,
		)
	}
	return exports, nil
}

// existingExports reads the existing objects among the exports of an installation.
func (k *kind) existingExports(ctx context.Context, inst *lsv1alpha1.Installation) (existing dataflow.Objects, err error) {
	for _, id := range installation.ExportsOf(inst) {
		object := emptyOf(id)
		err := k.cluster.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: id.Name}, object)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return existing, fmt.Errorf("read %s %s: %w", id.Kind, id.Name, err)
		}
		switch o := object.(type) {
		case *lsv1alpha1.DataObject:
			existing.DataObjects = append(existing.DataObjects, o)
		case *lsv1alpha1.Target:
			existing.Targets = append(existing.Targets, o)
		}
	}
	return existing, nil
}

// notify asks successors to check their imports. Each records the announced job of each predecessor, so that a repetition after a
// crash does not start a second one.
func (k *kind) notify(ctx context.Context, inst *lsv1alpha1.Installation, o installation.Observed, successors []string) error {
	notices, err := o.Notices(runOf(inst), successors)
	if err != nil {
		return err
	}
	return child.Each(ctx, notices, func(ctx context.Context, n installation.Notice) error {
		successor := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{
			Namespace: inst.Namespace, Name: n.Name, UID: types.UID(n.UID), ResourceVersion: n.Version,
		}}
		asked := map[string]string{lsv1alpha1.OperationAnnotation: string(lsv1alpha1.OperationReconcile)}
		if n.Heard != "" {
			asked[installation.HeardAnnotation] = n.Heard
		}
		return client.IgnoreNotFound(loop.PatchMetadata(ctx, k.cluster, successor, func(m metav1.Object) { m.SetAnnotations(asked) }))
	})
}
