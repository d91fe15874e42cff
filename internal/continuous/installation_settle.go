// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
)

// SettleInstallation writes the outcome of a decision into the status and returns the facts as they stand then.
func SettleInstallation(inst *lsv1alpha1.Installation, o Installation, d installation.Decision, err error) Installation {
	status := &inst.Status
	installation.RememberSpec(inst)
	if err == nil {
		o = record(inst, o, d)
	} else if failure.KindOf(err) == failure.Terminal && (status.Phase == lsv1alpha1.PhasePendingDependencies || o.Deleting) {
		o = giveUp(inst, o)
	}
	if err == nil && concludes(o, d) {
		installation.ObserveSpec(inst)
		o.Changed, o.FlowOnly = false, false
	}
	if !status.Phase.IsFinal() {
		installation.MarkSteps(status, o.Now, o.Done, err)
	}
	o.Done = nil
	run.SettleContinuously(&status.RunStatus, run.Outcome{Next: d.Next, Why: d.Why, Err: err, Now: o.Now})
	NoteFlow(inst, o.Now)
	o.Phase, o.Own = status.Phase, run.EndedByItself(&status.RunStatus)
	if status.PhaseTransitionTime != nil {
		o.Since = status.PhaseTransitionTime.Time
	}
	return o
}

// concludes tells whether a decision makes the present spec the one that the phase speaks of, although nothing was updated: it is this
// very spec that is not to be pursued, or this very deletion that has failed, or nothing but the flow is another one.
func concludes(o Installation, d installation.Decision) bool {
	switch {
	case d.Next == lsv1alpha1.PhaseAborted && d.Why.Code == lsv1alpha1.ReasonAborted:
		return true
	case d.Next == lsv1alpha1.PhaseFailed && d.Why.Code == run.ReasonNotDeleted:
		return true
	default:
		return o.FlowOnly && d.Next.IsCompleted() && !o.Deleting
	}
}

func record(inst *lsv1alpha1.Installation, o Installation, d installation.Decision) Installation {
	status := &inst.Status
	if o.Prepared != nil {
		o.Prepared.Record(status)
		o.Prepared.Warn(status, o.Now)
		remember(status, *o.Prepared)
		installation.ObserveSpec(inst)
		o.Updated, o.Entered, o.Changed, o.FlowOnly, o.ImportsChanged, o.UsedHash, o.Prepared = true, true, false, false, nil, status.ImportsHash, nil
		o.Stuck = nil
	}
	for _, effect := range d.Do {
		o = recordEffect(inst, o, effect)
	}
	if status.SubInstCache != nil && d.Next.IsCompleted() {
		status.SubInstCache.OrphanedSubs = nil
	}
	return o
}

// giveUp remembers that an update has failed for good: it is not tried again with the same spec and the same imports, and a deletion
// goes on without.
func giveUp(inst *lsv1alpha1.Installation, o Installation) Installation {
	o.attempt.Record(&inst.Status)
	remember(&inst.Status, o.attempt)
	installation.ObserveSpec(inst)
	o.Entered, o.Changed, o.FlowOnly, o.ImportsChanged = true, false, false, nil
	return o
}

// recordEffect keeps what an effect has come to that is done by the status write.
func recordEffect(inst *lsv1alpha1.Installation, o Installation, effect installation.Effect) Installation {
	status := &inst.Status
	switch effect.(type) {
	case installation.Export:
		o.Exported, o.ExportsGone = true, nil
	case installation.Observe:
		installation.ObserveSpec(inst)
		o.FlowOnly = false
	case Enter:
		installation.Enter(status, ConfigGeneration(inst, Read{}))
		o.Entered = true
	case Leave:
		installation.Leave(status)
		if o.FlowOnly || status.ObservedSpec == "" {
			// What else has changed is for the next job.
			installation.ObserveSpec(inst)
		}
	}
	return o
}

func remember(status *lsv1alpha1.InstallationStatus, p installation.Prepared) {
	status.Imports, status.ConfigGeneration = slices.Clone(p.Imports), p.ConfigGeneration
}
