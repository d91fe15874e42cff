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
	if installation.FlowOf(inst) == lsv1alpha1.FlowContinuous {
		return f.observeContinuously(ctx, inst, now)
	}
	o, err := f.kind.Observe(ctx, inst, now)
	return continuous.Installation{Observed: o}, err
}

// Decide implements loop.Kind.
func (f flows) Decide(o continuous.Installation) installation.Decision {
	if o.Continuous {
		return continuous.DecideInstallation(o)
	}
	return installation.Decide(o.Observed)
}

// Settle implements loop.Kind.
func (f flows) Settle(inst *lsv1alpha1.Installation, o continuous.Installation, d installation.Decision, err error) continuous.Installation {
	if o.Continuous {
		return continuous.SettleInstallation(inst, o, d, err)
	}
	o.Observed = installation.Settle(inst, o.Observed, d, err)
	continuous.NoteFlow(inst, o.Now)
	return o
}

// Act implements loop.Kind.
func (f flows) Act(ctx context.Context, inst *lsv1alpha1.Installation, o continuous.Installation, effect installation.Effect) (continuous.Installation, error) {
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
