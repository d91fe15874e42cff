// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/child"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/tenancy"
)

// write is one write of a plan.
type write func(context.Context) error

// carryOut writes everything that a plan asks for, and deletes the children that it does not contain.
func (k *kind) carryOut(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	plan *installation.Plan,
) (installation.Observed, error) {
	plan.Mark(inst)
	for _, stage := range plan.Stages() {
		if err := all(ctx, k.writes(inst, stage)); err != nil {
			return o, err
		}
	}
	for _, orphan := range plan.OrphanedSubs {
		if err := k.deleteChild(ctx, inst, orphan.DeepCopy()); err != nil {
			return o, err
		}
	}
	if plan.OrphanedExecution != nil {
		if err := k.deleteChild(ctx, inst, plan.OrphanedExecution.DeepCopy()); err != nil {
			return o, err
		}
	}
	return plan.Carried(inst, o), nil
}

// writes returns the writes of a stage.
func (k *kind) writes(inst *lsv1alpha1.Installation, stage installation.Stage) []write {
	writes := slices.Concat(k.stateWrites(inst, stage.States), k.contextWrites(stage.Context))
	for _, sub := range stage.Subs {
		writes = append(writes, func(ctx context.Context) error { return k.writeSub(ctx, inst, sub) })
	}
	if stage.Execution != nil {
		writes = append(writes, func(ctx context.Context) error { return k.writeExecution(ctx, inst, *stage.Execution) })
	}
	return writes
}

// all executes writes concurrently.
func all(ctx context.Context, writes []write) error {
	return child.Each(ctx, writes, func(ctx context.Context, write write) error { return write(ctx) })
}

// export writes the exports of an installation whose children have all succeeded, and removes leftovers of earlier runs.
func (k *kind) export(
	ctx context.Context,
	inst *lsv1alpha1.Installation,
	o installation.Observed,
	plan *installation.ExportPlan,
) (installation.Observed, error) {
	if err := k.writeExports(ctx, inst, plan); err != nil {
		return o, err
	}
	o.Done, o.Exporting = append(o.Done, plan.Steps...), nil
	return o, k.removeLeftovers(ctx, plan.Leftovers)
}

// writeExports writes the states of templates first: a generated value must be stored before it is imported.
func (k *kind) writeExports(ctx context.Context, inst *lsv1alpha1.Installation, plan *installation.ExportPlan) error {
	if err := all(ctx, k.stateWrites(inst, plan.States)); err != nil {
		return err
	}
	return all(ctx, k.contextWrites(plan.Exports))
}

//espalier:rights installations
//	create,patch,delete secrets: what templates keep from job to job

// stateWrites returns the writes of what templates keep for the next job.
func (k *kind) stateWrites(inst *lsv1alpha1.Installation, states []installation.StateWrite) []write {
	var writes []write
	for _, state := range states {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: inst.Namespace, Name: state.Name,
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: installationKind, Name: inst.Name, UID: inst.UID,
				}},
			},
			Data: state.Data,
		}
		writes = append(writes, func(ctx context.Context) error { return k.writeState(ctx, secret, state.Exists) })
	}
	return writes
}

func (k *kind) writeState(ctx context.Context, wanted *corev1.Secret, exists bool) error {
	if !exists {
		err := k.cluster.Create(ctx, wanted.DeepCopy())
		if err == nil {
			return nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return child.NoRoom(refused(fmt.Errorf("create %s: %w", wanted.GetName(), err)))
		}
	}
	// The state has one writer, so the last run wins.
	patch := client.MergeFrom(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: wanted.Namespace, Name: wanted.Name}})
	if err := k.cluster.Patch(ctx, wanted.DeepCopy(), patch); err != nil {
		return fmt.Errorf("update the state in Secret %s: %w", wanted.Name, err)
	}
	return nil
}

// removeStates deletes the states of an installation's templates.
func (k *kind) removeStates(ctx context.Context, inst *lsv1alpha1.Installation) error {
	if inst.Spec.Blueprint.Inline == nil {
		return nil
	}
	b, err := k.engine.ParseInline(inst.Spec.Blueprint.Inline.Filesystem)
	if err != nil {
		// An unreadable blueprint must not block a deletion. The garbage collector deletes the state with its owner.
		return nil
	}
	for _, name := range b.StateSecrets(inst.Name) {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: inst.Namespace, Name: name}}
		err := k.cluster.Delete(ctx, secret)
		if tenancy.Barred(ctx, err) {
			continue // Nor must a right that the tenant has lost block a deletion.
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("delete the state in Secret %s: %w", name, err)
		}
	}
	return nil
}
