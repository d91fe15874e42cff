// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
	gone, err := f.exportGone(ctx, e)
	if o.ExportGone = gone; err != nil {
		return o, err
	}
	resting := continuous.DecideExecution(o).Wait && o.Phase.IsCompleted()
	if o.Deleted && o.Complete || execution.NeedsExports(o.Observed) && !resting {
		if err := f.readExports(ctx, &s, o.Observed); err != nil {
			return o, err
		}
		o = continuous.LookAtExecution(s)
		o.ExportGone = gone
	}
	return o, nil
}

// exportGone tells whether somebody has deleted the object with the exports. If the cache does not show it, the API server is
// asked: it may have been written a moment ago.
func (f flows) exportGone(ctx context.Context, e *lsv1alpha1.Execution) (bool, error) {
	reference := e.Status.ExportReference
	if reference == nil || e.Status.Phase != lsv1alpha1.PhaseSucceeded || !e.DeletionTimestamp.IsZero() {
		return false, nil
	}
	var object lsv1alpha1.DataObject
	key := client.ObjectKey{Namespace: e.Namespace, Name: reference.Name}
	err := f.cluster.Get(ctx, key, &object)
	if apierrors.IsNotFound(err) {
		err = f.live.Get(ctx, key, &object)
	}
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("read DataObject %s with the exports: %w", reference.Name, err)
	}
	return err != nil, nil
}
