// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/loop"
	"espalier.dev/internal/run"
)

//espalier:rights installations
//	patch installations,installations/status: finalizers, annotations and status of what it works on

// Act implements loop.Kind.
func (k *kind) Act(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	effect installation.Effect,
) (installation.Observed, error) {
	switch e := effect.(type) {
	case installation.Prepare:
		return k.carryOut(ctx, inst, o, e.Plan)
	case installation.Export:
		return k.export(ctx, inst, o, e.Plan)
	case installation.Notify:
		return o, k.notify(ctx, inst, o, e.Successors)
	case installation.Restore:
		return o, k.restore(ctx, inst, e)
	case installation.CleanUp:
		return o, k.cleanUp(ctx, inst)
	case installation.Fail:
		return o, e.Err
	case installation.Announce, installation.Observe, installation.LeaveFlow, installation.EnterFlow: // the status write does it
		return o, nil
	default:
		return k.changeChildren(ctx, inst, o, effect)
	}
}

// changeChildren executes the effects on children that exist.
func (k *kind) changeChildren(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	effect installation.Effect,
) (installation.Observed, error) {
	switch e := effect.(type) {
	case installation.PropagateJob:
		return k.propagateJob(ctx, inst, o, e.Children)
	case installation.Interrupt:
		return o, k.interrupt(ctx, inst, e.Children)
	case installation.DeleteChildren:
		return k.deleteChildren(ctx, inst, o, e.Children)
	case installation.Tell:
		return k.tell(ctx, inst, o, e.Children)
	case installation.TellOfUpdate:
		return k.ask(ctx, inst, o, o.AskedByUpdate())
	case installation.Ask:
		return k.ask(ctx, inst, o, e)
	case installation.Convert:
		return k.convert(ctx, inst, o, e)
	case installation.Adopt:
		return k.adopt(ctx, inst, o, e.Children)
	default:
		return k.changeMetadata(ctx, inst, o, effect)
	}
}

// changeMetadata executes the effects on the installation's own metadata.
func (k *kind) changeMetadata(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	effect installation.Effect,
) (installation.Observed, error) {
	var change func(metav1.Object)
	switch e := effect.(type) {
	case installation.Grant:
		change = func(m metav1.Object) {
			m.SetAnnotations(merged(m.GetAnnotations(), map[string]string{run.GrantAnnotation: run.FormatGrant(o.NewJobID, string(inst.UID))}))
			dropOperation(m)
			if !o.Deleting {
				addFinalizer(m)
			}
		}
	case installation.AddFinalizer:
		change = addFinalizer
	case installation.DropOperation:
		change = dropOperation
	case installation.Relabel:
		change = func(m metav1.Object) {
			m.SetLabels(merged(m.GetLabels(), map[string]string{lsv1alpha1.EncompassedByLabel: e.Parent}))
		}
	case installation.RemoveFinalizer:
		change = removeFinalizer
	default:
		return o, fmt.Errorf("unknown effect %T: this is a bug in the controller", effect)
	}
	return o.AfterMetadata(effect), loop.PatchMetadata(ctx, k.cluster, inst, change)
}

func dropOperation(m metav1.Object) {
	annotations := merged(m.GetAnnotations(), nil)
	delete(annotations, lsv1alpha1.OperationAnnotation)
	m.SetAnnotations(annotations)
}

func addFinalizer(m metav1.Object) {
	if !slices.Contains(m.GetFinalizers(), lsv1alpha1.Finalizer) {
		m.SetFinalizers(append(m.GetFinalizers(), lsv1alpha1.Finalizer))
	}
}

func removeFinalizer(m metav1.Object) {
	m.SetFinalizers(slices.DeleteFunc(slices.Clone(m.GetFinalizers()), func(f string) bool { return f == lsv1alpha1.Finalizer }))
}

// cleanUp removes what the installation has written besides its children.
func (k *kind) cleanUp(ctx context.Context, inst *lsv1alpha1.Installation) error {
	if err := k.removeContext(ctx, inst); err != nil {
		return err
	}
	return k.removeStates(ctx, inst)
}
