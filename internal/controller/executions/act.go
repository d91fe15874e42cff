// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/child"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/loop"
)

//espalier:rights executions
//	patch executions,executions/status: finalizers, annotations and status of what it works on
//	create,update,delete dataobjects: what the deploy items of an execution export

// Act executes an effect.
func (k *kind) Act(
	ctx context.Context,
	e *lsv1alpha1.Execution,
	o execution.Observed,
	effect execution.Effect,
) (execution.Observed, error) {
	var written map[string]execution.Object
	var err error
	switch x := effect.(type) {
	case execution.Refuse:
		err = x.Err
	case execution.AddFinalizer:
		err = k.changeFinalizers(ctx, e, func(all []string) []string { return append(all, lsv1alpha1.Finalizer) })
	case execution.RemoveFinalizer:
		err = k.changeFinalizers(ctx, e, withoutFinalizer)
	case execution.AcceptInterrupt:
		err = k.answerInterrupt(ctx, e, x.JobID)
	case execution.DropInterrupt:
		err = k.answerInterrupt(ctx, e, "")
	case execution.DropOperation:
		err = k.dropOperation(ctx, e)
	case execution.NoteItems, execution.RedoItems, execution.LeaveFlow, execution.Observe:
		// The status write does the rest.
	case execution.WriteExport:
		err = k.writeExport(ctx, x)
	case execution.RemoveExport:
		err = k.removeExport(ctx, e.Namespace, x.Name)
	default:
		written, err = k.actOnItems(ctx, e, o, effect)
	}
	if err != nil {
		return o, err
	}
	return execution.After(o, effect, written), nil
}

func (k *kind) changeFinalizers(ctx context.Context, e *lsv1alpha1.Execution, change func([]string) []string) error {
	return loop.PatchMetadata(ctx, k.cluster, e, func(m metav1.Object) { m.SetFinalizers(change(m.GetFinalizers())) })
}

func withoutFinalizer(all []string) []string {
	return slices.DeleteFunc(all, func(name string) bool { return name == lsv1alpha1.Finalizer })
}

func (k *kind) answerInterrupt(ctx context.Context, e *lsv1alpha1.Execution, jobID string) error {
	return loop.PatchMetadata(ctx, k.cluster, e, func(m metav1.Object) {
		annotations := m.GetAnnotations()
		execution.AnnotateInterrupted(e, annotations, jobID)
		m.SetAnnotations(annotations)
	})
}

// writeExport stores the exports. If the object exists and the cache did not show it, the next pass reads it.
func (k *kind) writeExport(ctx context.Context, x execution.WriteExport) error {
	object := x.Object.DeepCopy()
	if x.Update {
		return k.cluster.Update(ctx, object)
	}
	err := k.cluster.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) {
		return stale("dataobjects", object.Name, err)
	}
	return child.NoRoom(err)
}

// removeExport needs no UID: the object name is unique to the execution name, and only one execution has that name.
func (k *kind) removeExport(ctx context.Context, namespace, name string) error {
	object := &lsv1alpha1.DataObject{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	return client.IgnoreNotFound(k.cluster.Delete(ctx, object))
}

// stale returns the conflict error for an object that differs from what the pass assumed: the pass ends, and the next one rereads the
// object.
func stale(resource, name string, cause error) error {
	return apierrors.NewConflict(lsv1alpha1.SchemeGroupVersion.WithResource(resource).GroupResource(), name, cause)
}
