// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/failure"
)

// Outcome is the result of one step of a run.
type Outcome struct {
	// Next and Why are those of the decision; Next is empty if the phase stays.
	Next lsv1alpha1.Phase
	Why  decision.Reason
	// Err is what prevented the step, nil if nothing did.
	Err error
	// Deleting is set in the deletion flow.
	Deleting bool
	Now      time.Time
}

// Settle derives what the status shows from the outcome of a step:
//
//	went well        the next phase; the last error is removed
//	waiting          the phase stays; what is waited for is in the conditions, not in the last error
//	retryable error  the phase stays and is repeated; the last error shows why
//	terminal error   Failed, or DeleteFailed in the deletion flow; the job is finished
//
// A final phase finishes the job in the same status, and so in the same write. The conditions refer to status.observedGeneration, which
// the kind sets when it takes a spec into account.
//
// An object at rest stays as it is: a pass that starts nothing adds nothing to the result of the last run, and gives no status to an
// object that never ran. It only reverts what Announce has written if the request was withdrawn.
func Settle(status *lsv1alpha1.RunStatus, o Outcome) {
	if atRest(status, o) {
		Withdraw(status, o)
		return
	}
	at := metav1.NewTime(o.Now)
	if next := nextPhase(status.Phase, o); next != status.Phase {
		status.Phase, status.PhaseTransitionTime = next, &at
	}
	if !notBegun(status, o) && status.Phase.IsFinal() && !status.IsFinished() {
		status.JobIDFinished = status.JobID
		times(status).FinishedTime = &at
	}
	status.LastError = sinceFirst(status.LastError, problem(status.Phase, o), at)
	if !notBegun(status, o) {
		status.Conditions = conditions(status, o, at)
	}
}

// notBegun reports whether the phase still belongs to the previous job: a new one was passed down, and this step has not started it.
func notBegun(status *lsv1alpha1.RunStatus, o Outcome) bool {
	return status.Phase.IsFinal() && !status.IsFinished() && o.Next == "" && (o.Err == nil || failure.KindOf(o.Err) != failure.Terminal)
}

func atRest(status *lsv1alpha1.RunStatus, o Outcome) bool {
	switch {
	case !status.IsFinished():
		return false
	case status.Phase == "":
		return o.Next == "" && o.Err == nil
	default:
		return status.Phase.IsFinal() && (o.Next == "" || o.Err != nil)
	}
}

// Begin makes id the current job and removes the previous job's results from the status. A job that was passed down keeps the time at
// which that happened.
func Begin(status *lsv1alpha1.RunStatus, id string, first lsv1alpha1.Phase, now time.Time) {
	at := metav1.NewTime(now)
	trigger := &at
	if status.JobID == id && status.TransitionTimes != nil && status.TransitionTimes.TriggerTime != nil {
		trigger = status.TransitionTimes.TriggerTime
	}
	status.JobID = id
	status.Phase, status.PhaseTransitionTime = first, &at
	status.LastError = nil
	status.TransitionTimes = &lsv1alpha1.TransitionTimes{TriggerTime: trigger, InitTime: &at}
}

// Adopt starts the job that a grant carries, and records that this grant is used up.
func Adopt(status *lsv1alpha1.RunStatus, granted string, first lsv1alpha1.Phase, now time.Time) {
	Begin(status, granted, first, now)
	status.JobIDRequested = granted
}

func times(status *lsv1alpha1.RunStatus) *lsv1alpha1.TransitionTimes {
	if status.TransitionTimes == nil {
		status.TransitionTimes = &lsv1alpha1.TransitionTimes{}
	}
	return status.TransitionTimes
}

func nextPhase(phase lsv1alpha1.Phase, o Outcome) lsv1alpha1.Phase {
	switch {
	case o.Err == nil:
		return cmp.Or(o.Next, phase)
	case failure.KindOf(o.Err) != failure.Terminal:
		return phase
	case o.Deleting:
		return lsv1alpha1.PhaseDeleteFailed
	default:
		return lsv1alpha1.PhaseFailed
	}
}

// problem returns the last error to report, nil if there is none. A decision that ends a run as failed is also a problem, described by its
// reason.
func problem(phase lsv1alpha1.Phase, o Outcome) *lsv1alpha1.Error {
	if o.Err == nil {
		if phase != lsv1alpha1.PhaseFailed && phase != lsv1alpha1.PhaseDeleteFailed {
			return nil
		}
		return &lsv1alpha1.Error{Operation: defaultOperation, Reason: o.Why.Code, Message: o.Why.Message}
	}
	if failure.KindOf(o.Err) == failure.Waiting {
		return nil
	}
	d := failure.DetailsOf(o.Err)
	e := &lsv1alpha1.Error{Operation: cmp.Or(d.Operation, defaultOperation), Reason: d.Reason, Message: o.Err.Error()}
	for _, code := range d.Codes {
		e.Codes = append(e.Codes, lsv1alpha1.ErrorCode(code))
	}
	return e
}

// defaultOperation is used if an error does not name its operation.
const defaultOperation = "Reconcile"

// sinceFirst keeps the time at which an error first occurred while errors of the same sort repeat. The message does not count:
// it often contains a port or a request ID.
func sinceFirst(before, now *lsv1alpha1.Error, at metav1.Time) *lsv1alpha1.Error {
	if now == nil {
		return nil
	}
	now.LastTransitionTime, now.LastUpdateTime = at, at
	if before != nil && before.Operation == now.Operation && before.Reason == now.Reason && slices.Equal(before.Codes, now.Codes) {
		now.LastTransitionTime = before.LastTransitionTime
	}
	return now
}
