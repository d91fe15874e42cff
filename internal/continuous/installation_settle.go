// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
)

// SettleInstallation writes the outcome of a decision into the status and returns the facts as they stand then.
func SettleInstallation(inst *lsv1alpha1.Installation, o Installation, d installation.Decision, err error) Installation {
	status := &inst.Status
	if err == nil {
		o = record(status, o, d)
	} else if failure.KindOf(err) == failure.Terminal && status.Phase == lsv1alpha1.PhasePendingDependencies {
		// An update that fails for good is not tried again with the same spec and the same imports.
		o.attempt.Record(status)
		remember(status, o.attempt)
		o.Entered, o.Changed, o.ImportsChanged = true, false, nil
	}
	aborted := d.Next == lsv1alpha1.PhaseAborted && d.Why.Code == lsv1alpha1.ReasonAborted
	undeleted := d.Next == lsv1alpha1.PhaseFailed && d.Why.Code == ReasonNotDeleted
	if err == nil && (aborted || undeleted) {
		// It is this very spec that is not to be pursued, or this very deletion that has failed.
		status.ObservedGeneration, o.Changed = inst.Generation, false
	}
	if !status.Phase.IsFinal() {
		installation.MarkSteps(status, o.Now, o.Done, err)
	}
	o.Done = nil
	settle(&status.RunStatus, run.Outcome{Next: d.Next, Why: d.Why, Err: err, Now: o.Now})
	NoteFlow(inst, o.Now)
	o.Phase, o.Own = status.Phase, own(&status.RunStatus)
	if status.PhaseTransitionTime != nil {
		o.Since = status.PhaseTransitionTime.Time
	}
	return o
}

func record(status *lsv1alpha1.InstallationStatus, o Installation, d installation.Decision) Installation {
	if o.Prepared != nil {
		o.Prepared.Record(status)
		o.Prepared.Warn(status, o.Now)
		remember(status, *o.Prepared)
		o.Updated, o.Entered, o.Changed, o.ImportsChanged, o.UsedHash, o.Prepared = true, true, false, nil, status.ImportsHash, nil
	}
	for _, effect := range d.Do {
		switch effect.(type) {
		case installation.Export:
			o.Exported = true
		case Leave:
			status.ConfigGeneration, status.Imports = "", nil
		}
	}
	if status.SubInstCache != nil && d.Next.IsCompleted() {
		status.SubInstCache.OrphanedSubs = nil
	}
	return o
}

func remember(status *lsv1alpha1.InstallationStatus, p installation.Prepared) {
	status.Imports, status.ConfigGeneration = slices.Clone(p.Imports), p.ConfigGeneration
}

// settle is the ladder of package run, with the times that jobs have.
func settle(status *lsv1alpha1.RunStatus, outcome run.Outcome) {
	before := status.Phase
	run.Settle(status, outcome)
	if status.Phase == before {
		return
	}
	switch {
	case status.Phase.IsFinal():
		stamp(status, func(t *lsv1alpha1.TransitionTimes, at *metav1.Time) { t.FinishedTime = at }, outcome.Now)
	case before == "" || before.IsFinal():
		stamp(status, func(t *lsv1alpha1.TransitionTimes, at *metav1.Time) {
			*t = lsv1alpha1.TransitionTimes{TriggerTime: at, InitTime: at}
		}, outcome.Now)
	}
}

func stamp(status *lsv1alpha1.RunStatus, set func(*lsv1alpha1.TransitionTimes, *metav1.Time), now time.Time) {
	at := metav1.NewTime(now)
	if status.TransitionTimes == nil {
		status.TransitionTimes = &lsv1alpha1.TransitionTimes{}
	}
	set(status.TransitionTimes, &at)
}
