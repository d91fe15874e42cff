// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// Settle writes the outcome of a decision to the status and returns the facts afterwards.
func Settle(inst *lsv1alpha1.Installation, o Observed, d Decision, err error) Observed {
	before, waited := endOf(&inst.Status), o.Phase == lsv1alpha1.PhaseInit
	switch {
	case o.NamespaceEnds:
		return o
	case o.Continuous:
		o = settleContinuously(inst, o, d, err)
	default:
		o = settleJob(inst, o, d, err)
	}
	noteFlow(inst, o.Now)
	noteSuspension(inst, d, o.Now)
	if ended := endOf(&inst.Status); ended != nil && !ended.Equal(before) && IsRoot(inst) {
		noteRun(inst, *ended, o.Continuous)
		if waited && !o.Continuous {
			noteSpec(inst, o) // The job ended before it used a spec.
		}
		noteResult(inst, *ended, o)
	}
	return o
}

// settleJob is Settle in the job flow.
func settleJob(inst *lsv1alpha1.Installation, o Observed, d Decision, err error) Observed {
	status := &inst.Status
	if err == nil {
		o = settleSteps(inst, o, d)
	}
	if !status.IsFinished() {
		markSteps(status, o.Now, o.Done, err)
	}
	o.Done = nil
	run.Settle(&status.RunStatus, run.Outcome{Next: d.Next, Why: d.Why, Err: err, Deleting: o.Phase.IsDeletion(), Now: o.Now})
	o.Phase, o.Job = status.Phase, run.JobOf(&status.RunStatus)
	if status.PhaseTransitionTime != nil {
		o.Since = status.PhaseTransitionTime.Time
	}
	return o
}

// settleSteps records the results of single steps.
func settleSteps(inst *lsv1alpha1.Installation, o Observed, d Decision) Observed {
	status := &inst.Status
	if beginsJob(o, d) {
		startJob(inst, &o)
	}
	o = settleRequest(inst, o, d)
	if len(o.UntoldSuccessors) > 0 && does[Notify](d) {
		status.DependentsToTrigger, o.UntoldSuccessors = nil, nil
	}
	if o.Prepared != nil {
		o.Prepared.record(status)
		ObserveSpec(inst)
		noteSpec(inst, o) // It may have changed while the job waited in Init.
		o.Prepared.tell(status, o.Now)
		o.Prepared, o.Changed = nil, changed(inst)
	}
	if does[Observe](d) {
		ObserveSpec(inst)
		o.FlowOnly = false
	}
	o.ExportsWritten = o.ExportsWritten || does[Export](d)
	settlePhase(status, d.Next, o.Now)
	return o
}

// settlePhase records what entering a phase implies.
func settlePhase(status *lsv1alpha1.InstallationStatus, next lsv1alpha1.Phase, now time.Time) {
	switch next {
	case lsv1alpha1.PhaseObjectsCreated:
		if status.SubInstCache != nil {
			status.SubInstCache.OrphanedSubs = nil
		}
	case lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseDeleting:
		if status.TransitionTimes != nil {
			at := metav1.NewTime(now)
			status.TransitionTimes.WaitTime = &at
		}
	}
}

// settleRequest reports whether a job is requested.
func settleRequest(inst *lsv1alpha1.Installation, o Observed, d Decision) Observed {
	if does[Announce](d) {
		run.Announce(&inst.Status.RunStatus, o.Now)
		o.Announced = true
	}
	if d.Why.Code == run.ReasonNotRequested {
		run.AwaitRequest(&inst.Status.RunStatus, d.Why.Message, o.Now)
	}
	return o
}

func does[E Effect](d Decision) bool {
	return slices.ContainsFunc(d.Do, func(e Effect) bool { _, ok := e.(E); return ok })
}

// beginsJob reports whether a decision starts a job, rather than returning to an earlier phase of one.
func beginsJob(o Observed, d Decision) bool {
	first := d.Next == lsv1alpha1.PhaseInit || d.Next == lsv1alpha1.PhaseInitDelete
	return first && (!o.Job.Running() || o.Phase == "" || o.Phase.IsFinal())
}

// startJob makes the job of the facts current: passed down, requested, or new.
func startJob(inst *lsv1alpha1.Installation, o *Observed) {
	status, first := &inst.Status, lsv1alpha1.PhaseInit
	if o.Deleting {
		first = lsv1alpha1.PhaseInitDelete
	}
	switch {
	case o.Job.Running():
		run.Begin(&status.RunStatus, o.Job.ID, first, o.Now)
	case o.Job.Open(o.Request) == run.OpenByAdoption && !(o.Deleting && o.Phase != lsv1alpha1.PhaseDeleteFailed):
		run.Adopt(&status.RunStatus, o.Request.GrantedID, first, o.Now)
	default:
		run.Begin(&status.RunStatus, o.NewJobID, first, o.Now)
		countAutomatic(inst, o)
	}
	ObserveSpec(inst)
	noteStart(inst, *o)
	o.Changed, o.FlowOnly = false, false
	// From here on, the status refers to the job and its exports.
	status.ConfigGeneration, status.Imports = "", nil
	status.DependentsToTrigger, o.UntoldSuccessors = nil, nil
}

// countAutomatic records a job that started automatically because it was due.
func countAutomatic(inst *lsv1alpha1.Installation, o *Observed) {
	if o.Deleting || o.Automatic.Due.IsZero() || o.Automatic.Due.After(o.Now) {
		return
	}
	at := metav1.NewTime(o.Now)
	next := &lsv1alpha1.AutomaticReconcileStatus{
		Generation:         inst.Generation,
		LastReconcileTime:  &at,
		OnFailed:           o.Automatic.AfterFailure,
		NumberOfReconciles: 1,
	}
	if o.Automatic.AfterFailure {
		next.NumberOfReconciles = o.Automatic.Count + 1
	}
	inst.Status.AutomaticReconcileStatus = next
}

// record writes the result of the effect Prepare to a status.
func (p Prepared) record(status *lsv1alpha1.InstallationStatus) {
	status.ObservedGeneration, status.ImportsHash, status.BlueprintRevision = p.Generation, p.ImportsHash, p.BlueprintRevision
	status.SubInstCache, status.ExecutionReference, status.StateSecrets = p.Subs, p.ExecutionRef, p.StateSecrets
}
