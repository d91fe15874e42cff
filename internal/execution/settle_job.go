// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// settleJob writes the result of a decision of the job flow to the status.
func settleJob(e *lsv1alpha1.Execution, o Observed, d Decision, err error) Observed {
	if !o.Running() || o.undetermined() {
		return settleRest(e, o, d)
	}
	status := &e.Status
	removing, preparing := o.Removing(), o.preparing()
	if o.Fresh() {
		begin(status, o)
	}
	if preparing {
		observeSpec(e)
	}
	remember(status, o, d, err)
	run.Settle(&status.RunStatus, run.Outcome{Next: d.Next, Why: d.Why, Err: err, Deleting: removing, Now: o.Now})
	if d.Wait && !preparing {
		noteWait(&status.RunStatus, o.Now)
	}
	return o.at(&status.RunStatus)
}

// settleRest records a change of the flow that does not involve a job, and reports on an execution that was created by hand that no job
// was requested. Others get their job right after they were created.
func settleRest(e *lsv1alpha1.Execution, o Observed, d Decision) Observed {
	if o.ByHand && d.Why.Code == lsv1alpha1.ReasonNotStarted && o.Phase == "" {
		run.AwaitRequest(&e.Status.RunStatus, d.Why.Message, o.Now)
	}
	if o.FlowOnly && !o.Running() {
		observeSpec(e)
		o.FlowOnly = false
	}
	return o
}

// remember records what later passes and jobs need from this one. After an error, that is complete only if all objects were read from the
// API server, as they are for an interrupt.
func remember(status *lsv1alpha1.ExecutionStatus, o Observed, d Decision, err error) {
	if o.preparing() && !o.Fresh() && (err == nil || o.Complete) {
		status.DeployItemCache = o.record()
	}
	if err == nil && d.Next == lsv1alpha1.PhaseSucceeded {
		status.ExportReference = o.Export.Reference
	}
}

// noteWait records when the execution started to wait for its deploy items in this job.
func noteWait(status *lsv1alpha1.RunStatus, now time.Time) {
	if status.Phase.IsFinal() || status.TransitionTimes == nil || status.TransitionTimes.WaitTime != nil {
		return
	}
	at := metav1.NewTime(now)
	status.TransitionTimes.WaitTime = &at
}

// begin makes the new job current. It must run before anything else is settled: otherwise, the job would inherit the final phase of the
// previous one.
func begin(status *lsv1alpha1.ExecutionStatus, o Observed) {
	first := lsv1alpha1.PhaseInit
	if o.Removing() {
		first = lsv1alpha1.PhaseInitDelete
	}
	before := status.TransitionTimes
	run.Begin(&status.RunStatus, status.JobID, first, o.Now)
	if before != nil && before.TriggerTime != nil && before.InitTime == nil {
		status.TransitionTimes.TriggerTime = before.TriggerTime
	}
}
