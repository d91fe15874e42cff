// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/continuous"
	"espalier.dev/internal/installation"
)

// flows decides about each installation by the flow that it follows. The facts of the job flow are a part of those of the
// continuous one.
type flows struct{ *kind }

// Observe implements loop.Kind.
func (f flows) Observe(ctx context.Context, inst *lsv1alpha1.Installation, now time.Time) (continuous.Installation, error) {
	ends, err := f.namespaces.Ends(ctx, inst.Namespace)
	if err != nil {
		return continuous.Installation{Observed: installation.NewObserved(installation.Snapshot{Installation: inst, Now: now})}, err
	}
	if ends {
		o, err := f.observeEnding(ctx, inst, now)
		return continuous.Installation{Observed: o}, err
	}
	if o, damaged, err := f.observeDamage(ctx, inst, now); damaged || err != nil {
		return o, err
	}
	if installation.FlowOf(inst) == lsv1alpha1.FlowContinuous {
		return f.observeContinuously(ctx, inst, now)
	}
	o, err := f.kind.Observe(ctx, inst, now)
	return continuous.Installation{Observed: o}, err
}

// Decide implements loop.Kind.
func (f flows) Decide(o continuous.Installation) installation.Decision {
	switch {
	case o.NamespaceEnds || !o.Continuous:
		return installation.Decide(o.Observed)
	case o.Damaged():
		return installation.Mend(o.Observed)
	default:
		return continuous.DecideInstallation(o)
	}
}

// Settle implements loop.Kind.
func (f flows) Settle(inst *lsv1alpha1.Installation, o continuous.Installation, d installation.Decision, err error) continuous.Installation {
	switch {
	case o.NamespaceEnds:
		return o
	case o.Continuous:
		return continuous.SettleInstallation(inst, o, d, err)
	}
	o.Observed = installation.Settle(inst, o.Observed, d, err)
	continuous.NoteFlow(inst, o.Now)
	return o
}

// Act implements loop.Kind.
func (f flows) Act(ctx context.Context, inst *lsv1alpha1.Installation, o continuous.Installation, effect installation.Effect) (continuous.Installation, error) {
	if lost, ok := effect.(installation.Restore); ok {
		return o, f.restore(ctx, inst, lost.Objects)
	}
	if o.Continuous {
		return f.actContinuously(ctx, inst, o, effect)
	}
	if _, ok := effect.(installation.Prepare); ok {
		inst = following(inst, lsv1alpha1.FlowJob)
	}
	var err error
	o.Observed, err = f.kind.Act(ctx, inst, o.Observed, effect)
	return o, err
}

// observeDamage looks for what somebody has taken away and others know of. It is mended before anything else is looked at.
func (f flows) observeDamage(ctx context.Context, inst *lsv1alpha1.Installation, now time.Time) (continuous.Installation, bool, error) {
	s := installation.Snapshot{Installation: inst, Now: now}
	var err error
	if s.RecordedBy, err = recordedParent(ctx, f.cluster, inst); err == nil {
		s.Lost, err = f.confirmLost(ctx, inst)
	}
	if s.RecordedBy == "" && len(s.Lost) == 0 && err == nil {
		return continuous.Installation{}, false, nil
	}
	o := continuous.LookAtInstallation(continuous.InstallationSnapshot{Snapshot: s})
	return o, o.Damaged(), err
}

// observeEnding reads what is below an installation whose namespace is being deleted. When nothing is seen any more, the API server is asked.
func (k *kind) observeEnding(ctx context.Context, inst *lsv1alpha1.Installation, now time.Time) (installation.Observed, error) {
	s := installation.Snapshot{Installation: inst, Now: now, NamespaceEnds: true}
	var err error
	if s.Subinstallations, err = k.subinstallations(ctx, k.cluster, inst); err == nil {
		s.Execution, err = k.execution(ctx, k.cluster, inst)
	}
	if err == nil && len(s.Subinstallations) == 0 && s.Execution == nil {
		err = k.confirmNothingLeft(ctx, &s)
	}
	return installation.NewObserved(s), err
}

// following is an installation as it is to those below it: they get the flow that it follows at present, whatever its spec
// wants for later.
func following(inst *lsv1alpha1.Installation, flow lsv1alpha1.Flow) *lsv1alpha1.Installation {
	if inst.Spec.Flow.OrDefault() == flow {
		return inst
	}
	inst = inst.DeepCopy()
	inst.Spec.Flow = flow
	return inst
}
