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
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/controller/child"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/loop"
)

// export writes the exports of an installation whose children have all succeeded. A job does so unless the imports have changed since it
// began; in the continuous flow a change leads to another update.
func (k *kind) export(ctx context.Context, inst *lsv1alpha1.Installation, o installation.Observed) (installation.Observed, error) {
	run := runOf(inst)
	var in input
	var err error
	if o.Continuous {
		in, err = k.input(ctx, inst, run, asked(inst, run))
	} else {
		in, err = k.unchangedInput(ctx, inst, run)
	}
	if err != nil {
		return o, err
	}
	if len(inst.Spec.Exports.Data)+len(inst.Spec.Exports.Targets) > 0 {
		if err := k.writeExports(ctx, in); err != nil {
			return o, err
		}
		o.Done = append(o.Done, lsv1alpha1.ConditionCreateExports)
	}
	return o, k.removeLeftovers(ctx, inst, run)
}

// unchangedInput is what the job began with. The cache may show imports from before the job: the API server is asked only if they differ.
func (k *kind) unchangedInput(ctx context.Context, inst *lsv1alpha1.Installation, run dataflow.Run) (input, error) {
	in, err := k.input(ctx, inst, run, fromCache)
	if err != nil || k.checkImports(ctx, in) == nil {
		return in, err
	}
	if in, err = k.input(ctx, inst, run, fromServer); err != nil {
		return in, err
	}
	return in, k.checkImports(ctx, in)
}

// checkImports compares the imports with those that the job began with. Of a job that an earlier controller began it is
// not known which they were.
func (k *kind) checkImports(ctx context.Context, in input) error {
	hasher, err := k.keys.get(ctx)
	if err != nil {
		return err
	}
	resolved, err := dataflow.Resolve(in.Scope, in.Installation.Spec.Imports, in.Facts)
	if err != nil {
		return changed(fmt.Errorf("an import has changed during the job: %w", err))
	}
	if began := in.Installation.Status.ImportsHash; dataflow.IsHash(began) && hasher.Hash(resolved).All != began {
		return changed(fmt.Errorf("the imports were changed during the job, so the exports would not belong to them; request a new job"))
	}
	return nil
}

func changed(err error) error {
	return failure.NewTerminal(failure.Details{Operation: string(lsv1alpha1.ConditionCreateExports), Reason: "ImportsChanged"}, err)
}

func (k *kind) writeExports(ctx context.Context, in input) error {
	values, err := k.exportValues(ctx, in)
	if err != nil {
		return err
	}
	exports, states, err := k.renderExports(ctx, in, values)
	if err != nil {
		return err
	}
	existing, err := k.ownersOfExports(ctx, in)
	if err != nil {
		return err
	}
	objects, err := exports.Objects(in.Scope, in.owner(), existing)
	if err != nil {
		return err
	}
	writes, err := k.stateWrites(in.Installation, states)
	if err != nil {
		return err
	}
	// What templates keep comes first: a value that was generated has to be stored before anybody can import it.
	for _, stage := range [][]write{writes, k.contextWrites(objects)} {
		if err := child.Each(ctx, stage, func(ctx context.Context, write write) error { return write(ctx) }); err != nil {
			return err
		}
	}
	return nil
}

// exportValues collects what export executions see.
func (k *kind) exportValues(ctx context.Context, in input) (values blueprint.ExportValues, err error) {
	inst := in.Installation
	if values.DeployItems, err = k.deployItemExports(ctx, inst); err != nil {
		return values, err
	}
	// The exports of nested installations and the imports of this one are read from the API server: the cache may show
	// that a nested installation has succeeded before it shows what it exports.
	var data lsv1alpha1.DataObjectList
	var targets lsv1alpha1.TargetList
	for _, list := range []client.ObjectList{&data, &targets} {
		err := k.live.List(ctx, list, client.InNamespace(inst.Namespace), in.exportedTo())
		if err != nil {
			return values, fmt.Errorf("list the objects of the own context: %w", err)
		}
	}
	job := in.run.Version
	if in.run.Flow == lsv1alpha1.FlowContinuous {
		job = ""
	}
	values.ContextValues, err = dataflow.CollectContext(inst.Name, job, currentOf(in, pointers(data.Items)), currentOf(in, pointers(targets.Items)))
	return values, err
}

// exportedTo selects the objects of the context that an installation opens: those of its job, and in the continuous flow,
// where each object carries the version of whoever has written it, all.
func (in input) exportedTo() client.MatchingLabels {
	labels := client.MatchingLabels{lsv1alpha1.DataObjectContextLabel: dataflow.ContextOf(in.Installation.Name)}
	if in.run.Flow != lsv1alpha1.FlowContinuous {
		labels[lsv1alpha1.DataObjectJobIDLabel] = in.run.Version
	}
	return labels
}

// currentOf leaves out what the installation itself has written for an earlier job or update.
func currentOf[T client.Object](in input, objects []T) []T {
	return slices.DeleteFunc(objects, func(object T) bool {
		labels := object.GetLabels()
		return labels[lsv1alpha1.DataObjectSourceLabel] == dataflow.ContextOf(in.Installation.Name) && labels[lsv1alpha1.DataObjectJobIDLabel] != in.run.Version
	})
}

func pointers[T any](items []T) []*T {
	result := make([]*T, len(items))
	for i := range items {
		result[i] = &items[i]
	}
	return result
}

// deployItemExports reads what the execution has collected. It is read from the API server, because the object carries no
// mark of the job that it is from.
func (k *kind) deployItemExports(ctx context.Context, inst *lsv1alpha1.Installation) (map[string]any, error) {
	execution, err := k.execution(ctx, k.cluster, inst)
	if err != nil || execution == nil || execution.Status.ExportReference == nil {
		return nil, err
	}
	reference := execution.Status.ExportReference
	var object lsv1alpha1.DataObject
	err = k.live.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: reference.Name}, &object)
	if err != nil {
		return nil, fmt.Errorf("read the exports of the execution: %w", err)
	}
	var exports map[string]any
	if err := json.Unmarshal(object.Data.Raw, &exports); err != nil {
		return nil, failure.Terminalf(failure.Details{Operation: string(lsv1alpha1.ConditionCreateExports), Reason: dataflow.ReasonExportInvalid},
			"DataObject %s with the exports of the execution is no JSON object", reference.Name)
	}
	return exports, nil
}

// ownersOfExports reads who owns the objects that the exports are going to be.
func (k *kind) ownersOfExports(ctx context.Context, in input) (dataflow.Existing, error) {
	existing := dataflow.Existing{}
	for _, id := range exportsOf(in.Installation) {
		object := emptyOf(id)
		err := k.cluster.Get(ctx, client.ObjectKey{Namespace: in.Installation.Namespace, Name: id.Name}, object)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read %s %s: %w", id.Kind, id.Name, err)
		}
		existing[id] = object.GetOwnerReferences()
	}
	return existing, nil
}

// notify asks successors to look at their imports. A job asks for a job; an update asks those of the continuous flow to reconcile.
func (k *kind) notify(ctx context.Context, inst *lsv1alpha1.Installation, successors []string) error {
	run := runOf(inst)
	return child.Each(ctx, successors, func(ctx context.Context, name string) error {
		var successor lsv1alpha1.Installation
		if err := k.cluster.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: name}, &successor); err != nil {
			return client.IgnoreNotFound(err)
		}
		switch continuously := installation.FlowOf(&successor) == lsv1alpha1.FlowContinuous; {
		case run.Flow != lsv1alpha1.FlowContinuous, !continuously && installation.IsRoot(&successor):
			return k.requestJob(ctx, &successor, inst.Name, run)
		case !continuously, successor.Status.Phase == lsv1alpha1.PhaseAborted: // its parent asks it, or somebody wants it to stay as it is
			return nil
		default:
			return k.requestReconcile(ctx, &successor)
		}
	})
}

// requestJob asks a successor for a job, once for each run of its predecessor. It remembers whom it has heard of which run, so that a
// repetition after a crash starts no second job.
func (k *kind) requestJob(ctx context.Context, successor *lsv1alpha1.Installation, predecessor string, run dataflow.Run) error {
	told, news := installation.Hear(successor.Annotations[installation.HeardAnnotation], predecessor, run.Version)
	if !news {
		return nil
	}
	operation := successor.Annotations[lsv1alpha1.OperationAnnotation]
	if operation != "" && operation != string(lsv1alpha1.OperationReconcile) {
		return &failure.Wait{Reason: "WaitingForOperation", For: fmt.Sprintf("operation %s of installation %s", operation, successor.Name)}
	}
	return loop.PatchMetadata(ctx, k.cluster, successor, func(m metav1.Object) {
		m.SetAnnotations(merged(m.GetAnnotations(), map[string]string{
			lsv1alpha1.OperationAnnotation: string(lsv1alpha1.OperationReconcile), installation.HeardAnnotation: told,
		}))
	})
}

func (k *kind) requestReconcile(ctx context.Context, successor *lsv1alpha1.Installation) error {
	if successor.Annotations[lsv1alpha1.OperationAnnotation] != "" {
		return nil
	}
	return loop.PatchMetadata(ctx, k.cluster, successor, func(m metav1.Object) {
		m.SetAnnotations(merged(m.GetAnnotations(), map[string]string{lsv1alpha1.OperationAnnotation: string(lsv1alpha1.OperationReconcile)}))
	})
}
