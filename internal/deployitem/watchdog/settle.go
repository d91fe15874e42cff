// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package watchdog

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/run"
)

// Settle writes the outcome of a decision to the status and returns the facts afterwards. The status belongs to the deployer; the watchdog
// writes to it only what ends a job, and when a job starts.
func Settle(item *lsv1alpha1.DeployItem, o Observed, d Decision, err error) Observed {
	status := &item.Status
	switch {
	case err != nil:
		if failure.KindOf(err) == failure.Terminal {
			end(item, o, err)
		}
	case does[Announce](d):
		run.Announce(&status.RunStatus, o.Now)
		o.Announced = true
	case does[Adopt](d):
		status.JobID, status.JobIDRequested = o.Request.GrantedID, o.Request.GrantedID
		note(status, o)
	case does[NoteJob](d):
		note(status, o)
	case does[TellUnasked](d):
		run.AwaitRequest(&status.RunStatus, d.Why.Message, o.Now)
		o.Unasked = false
	case does[Tell](d):
		run.AwaitBeginning(&status.RunStatus, d.Why, o.Now)
		o.Told = true
	case !o.Job.Running():
		run.Withdraw(&status.RunStatus, run.Outcome{Why: d.Why, Now: o.Now})
	}
	o.Phase, o.Job = status.Phase, run.JobOf(&status.RunStatus)
	o.Since, o.Deadline = waitOf(item, o.pickupTimeout)
	return o
}

// note records when the current job was first seen; it clears the times of the previous one.
func note(status *lsv1alpha1.DeployItemStatus, o Observed) {
	at := metav1.NewTime(o.Now)
	status.JobIDGenerationTime = &at
	status.TransitionTimes = &lsv1alpha1.TransitionTimes{TriggerTime: &at}
}

// end finishes the current job as failed. If no deployer has started the job, the contents of the status belong to the previous one.
func end(item *lsv1alpha1.DeployItem, o Observed, err error) {
	status := &item.Status
	deletion := !o.Continuous && deployitem.InDeletionFlow(o.Deleting, o.Phase)
	if o.Continuous {
		status.ObservedGeneration = item.Generation
	}
	if !o.PickedUp {
		first := lsv1alpha1.PhaseInit
		if deletion {
			first = lsv1alpha1.PhaseInitDelete
		}
		deployitem.Begin(status, first, o.Now)
	}
	run.Settle(&status.RunStatus, run.Outcome{Err: err, Deleting: deletion, Now: o.Now})
	deployitem.RecordError(status)
}

func does[E Effect](d Decision) bool {
	return slices.ContainsFunc(d.Do, func(e Effect) bool { _, ok := e.(E); return ok })
}
