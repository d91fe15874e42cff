// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions

import (
	"context"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/continuous"
	"espalier.dev/internal/execution"
)

// flows decides about each execution by the flow that it follows. The facts of the job flow are a part of those of the
// continuous one.
type flows struct{ *kind }

// Observe reads what the decision of the flow depends on.
func (f flows) Observe(ctx context.Context, e *lsv1alpha1.Execution, now time.Time) (continuous.Execution, error) {
	if ends, err := f.namespaces.Ends(ctx, e.Namespace); ends || err != nil {
		return f.observeEnding(ctx, execution.Snapshot{Execution: e, Now: now, NamespaceEnds: ends}, err)
	}
	if execution.FlowOf(e) == lsv1alpha1.FlowContinuous {
		return f.observeContinuously(ctx, e, now)
	}
	o, err := f.kind.Observe(ctx, e, now)
	return continuous.Execution{Observed: o}, err
}

// Decide asks the pure package of the flow.
func (f flows) Decide(o continuous.Execution) execution.Decision {
	if o.Continuous && !o.NamespaceEnds {
		return continuous.DecideExecution(o)
	}
	return execution.Decide(o.Observed)
}

// Act carries out an effect.
func (f flows) Act(ctx context.Context, e *lsv1alpha1.Execution, o continuous.Execution, effect execution.Effect) (continuous.Execution, error) {
	var err error
	o.Observed, err = f.kind.Act(ctx, e, o.Observed, effect)
	return o, err
}

// Settle asks the pure package of the flow.
func (f flows) Settle(e *lsv1alpha1.Execution, o continuous.Execution, d execution.Decision, err error) continuous.Execution {
	if o.Continuous && !o.NamespaceEnds {
		return continuous.SettleExecution(e, o, d, err)
	}
	o.Observed = execution.Settle(e, o.Observed, d, err)
	return o
}

// observeContinuously reads the deploy items, and more of them and their exports if the next decision needs it.
func (f flows) observeContinuously(ctx context.Context, e *lsv1alpha1.Execution, now time.Time) (continuous.Execution, error) {
	s := execution.Snapshot{Execution: e, Now: now}
	o := continuous.LookAtExecution(s)
	if err := f.readItems(ctx, &s); err != nil {
		return o, err
	}
	o = continuous.LookAtExecution(s)
	if continuous.NeedsComplete(o) {
		if err := f.readAllItems(ctx, &s); err != nil {
			return o, err
		}
		o = continuous.LookAtExecution(s)
	}
	resting := continuous.DecideExecution(o).Wait && o.Phase.IsCompleted()
	if o.Deleted && o.Complete || execution.NeedsExports(o.Observed) && !resting {
		if err := f.readExports(ctx, &s, o.Observed); err != nil {
			return o, err
		}
		o = continuous.LookAtExecution(s)
	}
	return o, nil
}
