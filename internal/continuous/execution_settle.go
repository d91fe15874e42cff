// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/run"
)

// SettleExecution writes into the status of an execution what a decision has come to, and returns the facts as they are
// then.
func SettleExecution(e *lsv1alpha1.Execution, o Execution, d execution.Decision, err error) Execution {
	status := &e.Status
	execution.RememberSpec(e)
	if observes(o, d, status.Phase) {
		execution.ObserveSpec(e)
		o.UpToDate, o.FlowOnly = true, false
	}
	if err == nil {
		for _, effect := range d.Do {
			o = noted(o, effect)
		}
	}
	status.DeployItemGenerations = o.Generations
	if status.Phase == lsv1alpha1.PhaseProgressing && !o.Deleted {
		status.DeployItemCache = execution.Record(o.Observed)
	}
	if err == nil && d.Next == lsv1alpha1.PhaseSucceeded {
		status.ExportReference = o.Export.Reference
	}
	run.SettleContinuously(&status.RunStatus, run.Outcome{Next: d.Next, Why: d.Why, Err: err, Now: o.Now})
	o.Phase, o.Own = status.Phase, run.EndedByItself(&status.RunStatus)
	o.Aborted = o.Phase == lsv1alpha1.PhaseFailed && run.ReadyReason(&status.RunStatus) == lsv1alpha1.ReasonAborted
	if status.PhaseTransitionTime != nil {
		o.PhaseSince = status.PhaseTransitionTime.Time
	}
	return o
}

// observes tells whether a decision takes the present spec into account: it is worked on, it is the one that was aborted, or
// it is gone and what it has deployed cannot be deleted. The deletion makes a generation of its own, so that a failure of
// before is told from this one.
func observes(o Execution, d execution.Decision, phase lsv1alpha1.Phase) bool {
	takesNote := slices.ContainsFunc(d.Do, func(e execution.Effect) bool { _, yes := e.(execution.Observe); return yes })
	leaves := slices.ContainsFunc(d.Do, func(e execution.Effect) bool { _, yes := e.(execution.LeaveFlow); return yes })
	switch {
	case o.Deleted:
		return d.Next == lsv1alpha1.PhaseFailed
	case takesNote || leaves && o.FlowOnly:
		return true
	case d.Why.Code == lsv1alpha1.ReasonAborted:
		return d.Next == lsv1alpha1.PhaseFailed
	default:
		return phase == lsv1alpha1.PhaseProgressing || d.Next == lsv1alpha1.PhaseProgressing
	}
}

// noted returns the facts with what an effect has made of the generations of the items.
func noted(o Execution, effect execution.Effect) Execution {
	switch e := effect.(type) {
	case execution.CreateItems:
		return o.note(e.Items)
	case execution.UpdateItems:
		return o.note(e.Items)
	case execution.ConvertItems:
		return o.note(e.Items)
	case execution.AskItems:
		return o.note(e.Items)
	case execution.NoteItems:
		return o.note(e.Items)
	case execution.RedoItems:
		o.Accepted = true
		for _, item := range e.Items {
			o = o.set(lsv1alpha1.DeployItemGeneration{Name: item.Name})
		}
	case execution.LeaveFlow:
		o.Generations = nil
	case execution.DropOperation:
		o.Operation, o.Accepted = "", false
	}
	return o
}

// note remembers of items that they are as the present spec wants them, in the generation that they have now. What leaves
// the flow remembers nothing.
func (o Execution) note(items []execution.Item) Execution {
	for _, item := range items {
		i := slices.IndexFunc(o.Wanted, func(w execution.Item) bool { return w.Name == item.Name })
		if i >= 0 && !o.Deleted && !o.leaves() {
			o = o.set(lsv1alpha1.DeployItemGeneration{Name: item.Name, ExecutionGeneration: o.Generation, DeployItemGeneration: o.Wanted[i].Object.Generation})
		}
	}
	return o
}

// set replaces what is remembered of an item, and forgets items that the spec no longer contains.
func (o Execution) set(generation lsv1alpha1.DeployItemGeneration) Execution {
	kept := slices.DeleteFunc(slices.Clone(o.Generations), func(g lsv1alpha1.DeployItemGeneration) bool {
		wanted := slices.ContainsFunc(o.Wanted, func(i execution.Item) bool { return i.Name == g.Name })
		return g.Name == generation.Name || !wanted
	})
	o.Generations = append(kept, generation)
	return o
}
