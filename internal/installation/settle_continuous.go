// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/run"
)

// settleContinuously is Settle in the continuous flow.
func settleContinuously(inst *lsv1alpha1.Installation, o Observed, d Decision, err error) Observed {
	status := &inst.Status
	rememberSpec(inst)
	if err == nil {
		o = record(inst, o, d)
	} else if failure.KindOf(err) == failure.Terminal && (status.Phase == lsv1alpha1.PhasePendingDependencies || o.Deleting) {
		o = giveUp(inst, o)
	}
	if err == nil && concludes(o, d) {
		ObserveSpec(inst)
		o.Changed, o.FlowOnly = false, false
	}
	if !status.Phase.IsFinal() {
		markSteps(status, o.Now, o.Done, err)
	}
	o.Done = nil
	o.Moved = o.Moved || err != nil || moves(o, d)
	run.SettleContinuously(&status.RunStatus, run.Outcome{Next: d.Next, Why: d.Why, Err: err, Now: o.Now})
	o.Phase, o.Own = status.Phase, run.EndedByItself(&status.RunStatus)
	if status.PhaseTransitionTime != nil {
		o.Since = status.PhaseTransitionTime.Time
	}
	return o
}

// moves reports whether a decision does something, or leads to another phase.
func moves(o Observed, d Decision) bool { return len(d.Do) > 0 || d.Next != "" && d.Next != o.Phase }

// concludes reports whether a decision makes the phase refer to the current spec, although nothing was updated: this spec was
// aborted, this deletion has failed, or only the flow has changed.
func concludes(o Observed, d Decision) bool {
	switch {
	case d.Next == lsv1alpha1.PhaseAborted && d.Why.Code == lsv1alpha1.ReasonAborted:
		return true
	case d.Next == lsv1alpha1.PhaseFailed && d.Why.Code == run.ReasonNotDeleted:
		return true
	default:
		return o.FlowOnly && d.Next.IsCompleted() && !o.Deleting
	}
}

func record(inst *lsv1alpha1.Installation, o Observed, d Decision) Observed {
	status := &inst.Status
	if o.Prepared != nil {
		o.Prepared.record(status)
		o.Prepared.tell(status, o.Now)
		remember(status, *o.Prepared)
		ObserveSpec(inst)
		noteSpec(inst, o)
		o.Updated, o.Entered, o.Changed, o.FlowOnly = true, true, false, false
		o.ImportsChanged, o.UsedHash, o.Prepared = nil, status.ImportsHash, nil
		o.Stuck, o.Unrecorded = nil, ""
	}
	for _, effect := range d.Do {
		o = recordEffect(inst, o, effect)
	}
	o.Exported = o.Exported || o.ExportsWritten && d.Next == lsv1alpha1.PhaseSucceeded
	if status.SubInstCache != nil && d.Next.IsCompleted() {
		status.SubInstCache.OrphanedSubs = nil
	}
	return o
}

// giveUp records that an update has failed permanently: it is not retried with the same spec and the same imports, and a deletion
// continues without it.
func giveUp(inst *lsv1alpha1.Installation, o Observed) Observed {
	if o.Plan != nil && o.Plan.Err == nil {
		o.attempt.StateSecrets = o.Plan.Prepared.StateSecrets // What was written starts to work, and its errors must be masked.
	}
	o.attempt.record(&inst.Status)
	remember(&inst.Status, o.attempt)
	ObserveSpec(inst)
	noteSpec(inst, o)
	o.Entered, o.Changed, o.FlowOnly, o.ImportsChanged, o.Unrecorded = true, false, false, nil, ""
	return o
}

// recordEffect records the result of an effect that the status write does.
func recordEffect(inst *lsv1alpha1.Installation, o Observed, effect Effect) Observed {
	status := &inst.Status
	switch effect.(type) {
	case Export:
		o.ExportsWritten, o.ExportsGone = true, nil
	case Observe:
		ObserveSpec(inst)
		o.FlowOnly = false
	case EnterFlow:
		Enter(status, configGeneration(inst, ImportsRead{}))
		o.Entered = true
	case LeaveFlow:
		Leave(status)
		if o.FlowOnly || status.ObservedSpec == "" {
			// Any other change is for the next job.
			ObserveSpec(inst)
		}
	case Announce, Grant, AddFinalizer, RemoveFinalizer, DropOperation, Fail, Prepare, PropagateJob, Interrupt, Notify, DeleteChildren, Tell,
		Relabel, Restore, CleanUp, Ask, TellOfUpdate, Convert, Adopt:
	}
	return o
}

func remember(status *lsv1alpha1.InstallationStatus, p Prepared) {
	status.Imports, status.ConfigGeneration = slices.Clone(p.Imports), p.ConfigGeneration
}
