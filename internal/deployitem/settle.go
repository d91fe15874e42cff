// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"errors"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/run"
)

// Settle writes the outcome of a decision to the status and returns the facts afterwards. To an item that has no job, or that this
// deployer is not responsible for, it adds only what a repair needs to record.
func Settle(item *lsv1alpha1.DeployItem, o Observed, d Decision, err error) Observed {
	status := &item.Status
	if o.Remember != nil {
		status.ProviderStatus, o.Remember = o.Remember, nil
	}
	if !working(o) || leftToWatchdog(d, err) {
		return o
	}
	if err == nil {
		o = advance(item, o, d)
	}
	if err == nil && d.Next == "" && !d.Wait {
		return o // An intermediate step; the final step reports its result.
	}
	err = withCause(status.LastError, err)
	run.Settle(&status.RunStatus, run.Outcome{
		Next: d.Next, Why: d.Why, Err: err, Deleting: !o.Continuous && InDeletionFlow(o.Deleting, status.Phase), Now: o.Now,
	})
	RecordError(status)
	o.Phase, o.Job = status.Phase, run.JobOf(&status.RunStatus)
	if o.Continuous && o.Phase.IsFinal() {
		o = endContinuously(item, o)
	}
	o.Ended = !o.Running()
	return o
}

// CutOff is the error of a call that failed only because the item has little time left, after an earlier call had failed.
type CutOff struct {
	// After is how much time the call had.
	After time.Duration
	Err   error
}

func (c *CutOff) Error() string { return c.Err.Error() }

// Unwrap returns the error with which the call ended.
func (c *CutOff) Unwrap() error { return c.Err }

// saysCutOff starts what the last error says about a later call that was cut off.
const saysCutOff = "; a later attempt was cut off after "

// withCause returns the earlier error in place of that of a call that was cut off: the former names the cause, the latter hides it.
func withCause(earlier *lsv1alpha1.Error, err error) error {
	cut := (*CutOff)(nil)
	if earlier == nil || !errors.As(err, &cut) || failure.KindOf(err) != failure.Retryable {
		return err
	}
	details := failure.Details{Operation: earlier.Operation, Reason: earlier.Reason}
	for _, code := range earlier.Codes {
		details.Codes = append(details.Codes, string(code))
	}
	cause, _, _ := strings.Cut(earlier.Message, saysCutOff)
	return failure.NewRetryable(details, errors.New(cause+saysCutOff+cut.After.Round(time.Millisecond).String()))
}

// leftToWatchdog reports whether the item has timed out, so that its status no longer belongs to the deployer.
func leftToWatchdog(d Decision, err error) bool {
	return err == nil && d.Why.Code == lsv1alpha1.ReasonProgressingTimeout
}

// advance records what a successful step adds to the status, besides phase and conditions.
func advance(item *lsv1alpha1.DeployItem, o Observed, d Decision) Observed {
	status := &item.Status
	switch d.Next {
	case lsv1alpha1.PhaseInit, lsv1alpha1.PhaseInitDelete:
		Begin(status, d.Next, o.Now)
		if o.Untouched {
			status.ObservedGeneration = 0 // Begin has removed the error that said so.
		}
		o.Restart, o.Intended = false, o.Intended && !o.Continuous
	case lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseDeleting:
		recordPickUp(status, o)
		o.Stored = false
	case lsv1alpha1.PhaseSucceeded:
		if o.Phase == lsv1alpha1.PhaseInit { // skipped
			recordPickUp(status, o)
		}
		o.exportsInto(item)
	}
	return called(item, o, d)
}

// called records what a call of the deployer adds.
func called(item *lsv1alpha1.DeployItem, o Observed, d Decision) Observed {
	switch {
	case does[Intend](d):
		item.Status.ObservedGeneration = item.Generation
		o.Intended, o.Stored = true, false
	case does[Delete](d):
		item.Status.ObservedGeneration = item.Generation
		o.Stored = true
	case does[Deploy](d):
		o.Stored = true
	case does[DropOperation](d):
		o.Stored, o.Operation = true, false
	case d.Wait && o.Answer != nil && !o.Answer.Done:
		recordWait(&item.Status, o)
	}
	return o
}

func recordWait(status *lsv1alpha1.DeployItemStatus, o Observed) {
	if times := status.TransitionTimes; times != nil && times.WaitTime == nil {
		at := metav1.NewTime(o.Now)
		times.WaitTime = &at
	}
}

// Begin restarts the current job of an item and removes the previous job's results from the status, except for what was set when the job
// was passed to the item.
func Begin(status *lsv1alpha1.DeployItemStatus, first lsv1alpha1.Phase, now time.Time) {
	before := status.TransitionTimes
	run.Begin(&status.RunStatus, status.JobID, first, now)
	if before != nil && before.TriggerTime != nil && before.FinishedTime == nil {
		status.TransitionTimes.TriggerTime = before.TriggerTime
	}
	status.FirstError, status.LastErrors = nil, nil
}

func recordPickUp(status *lsv1alpha1.DeployItemStatus, o Observed) {
	at := metav1.NewTime(o.Now)
	status.LastReconcileTime = &at
	status.Deployer = o.Deployer
}

func (o Observed) exportsInto(item *lsv1alpha1.DeployItem) {
	switch {
	case o.ExportsStored:
		item.Status.ExportReference = &lsv1alpha1.ObjectReference{Name: ExportSecretName(item.Name), Namespace: item.Namespace}
	case o.ExportsDropped:
		item.Status.ExportReference = nil
	}
}

// ExportSecretName returns the name of the Secret with the exports of an item.
func ExportSecretName(item string) string { return item + "-export" }

func does[E Effect](d Decision) bool {
	return slices.ContainsFunc(d.Do, func(e Effect) bool { _, ok := e.(E); return ok })
}

// RecordError keeps the first and the last few errors of a job. Consecutive errors of the same sort count as one.
func RecordError(status *lsv1alpha1.DeployItemStatus) {
	last := status.LastError
	if last == nil {
		return
	}
	if status.FirstError == nil {
		status.FirstError = last.DeepCopy()
	}
	if n := len(status.LastErrors); n > 0 && sameSort(status.LastErrors[n-1], *last) {
		status.LastErrors[n-1] = *last.DeepCopy()
		return
	}
	status.LastErrors = append(status.LastErrors, *last.DeepCopy())
	if extra := len(status.LastErrors) - lsv1alpha1.MaxLastErrors; extra > 0 {
		status.LastErrors = slices.Delete(status.LastErrors, 0, extra)
	}
}

func sameSort(a, b lsv1alpha1.Error) bool {
	return a.Operation == b.Operation && a.Reason == b.Reason && slices.Equal(a.Codes, b.Codes)
}
