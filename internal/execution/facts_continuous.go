// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"slices"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// readContinuousRun compares the items with the current spec. Deploy items get the flow that the execution currently follows, whatever its
// spec requests for later.
func (l *facts) readContinuousRun() {
	e, status := l.Execution, &l.Execution.Status.RunStatus
	l.o.Chosen, l.o.Generation, l.o.UpToDate = e.Spec.Flow.OrDefault(), e.Generation, e.Generation == status.ObservedGeneration
	l.o.Operation = lsv1alpha1.Operation(e.Annotations[lsv1alpha1.OperationAnnotation])
	l.o.Ignored = e.Annotations[lsv1alpha1.IgnoreAnnotation] == "true"
	l.o.Own, l.o.Aborted, l.o.ExportGone = run.EndedByItself(status), aborted(status), l.ExportGone
	l.o.Generations = slices.Clone(e.Status.DeployItemGenerations)
	if l.o.FlowOnly {
		l.o.carry(status.ObservedGeneration)
	}
	if onItsWay := status.Phase != "" && !status.Phase.IsFinal(); onItsWay && l.o.Chosen != lsv1alpha1.FlowContinuous {
		l.Execution = e.DeepCopy()
		l.Execution.Spec.Flow = lsv1alpha1.FlowContinuous
	}
	if l.o.Deleted {
		l.readRemoval()
		l.trackItems()
		return
	}
	l.preparing = true
	m := l.readRun()
	l.trackItems()
	l.prepareExports(m)
}

func aborted(status *lsv1alpha1.RunStatus) bool {
	return status.Phase == lsv1alpha1.PhaseFailed && run.ReadyReason(status) == lsv1alpha1.ReasonAborted
}

// carry applies the records of items since a generation to the current generation, which requires the same.
func (o *Observed) carry(since int64) {
	for i := range o.Generations {
		if g := &o.Generations[i]; g.ExecutionGeneration >= since && g.ExecutionGeneration != 0 {
			g.ExecutionGeneration = o.Generation
		}
	}
}

// trackItems determines the progress of the items from the generations that their objects report.
func (l *facts) trackItems() {
	for _, items := range [][]Item{l.o.Wanted, l.o.Orphaned} {
		for i := range items {
			item := &items[i]
			at := slices.IndexFunc(l.objects, func(o *lsv1alpha1.DeployItem) bool { return o.Name == item.Object.Name })
			if at >= 0 && item.State != StateUnseen && !item.Replaced {
				l.trackItem(item, l.objects[at])
			}
		}
	}
}

// trackItem determines the progress of an item. Objects that must be deleted count as at rest until then.
func (l *facts) trackItem(item *Item, object *lsv1alpha1.DeployItem) {
	item.Object.Generation, item.Flow = object.Generation, object.Spec.Flow.OrDefault()
	item.Halfway = isHalfway(object)
	item.Current = object.Status.ObservedGeneration >= object.Generation || item.Halfway
	item.Since = time.Time{}
	switch status := &object.Status; {
	case l.o.Deleted && !item.Terminating:
		item.State = StateIdle
	case InWork(object):
		item.State = StateRunning
		item.CutShort = abortedStatus(object, l.Now)
	case status.Phase == lsv1alpha1.PhaseSucceeded && !item.Terminating:
		item.State = StateSucceeded
	default:
		item.State = StateFailed
		item.Problem, item.Codes = problemOf(status)
	}
	if item.Write != nil {
		item.SpecDiffers = !sameSpec(object.Spec, item.Write.Spec)
		other := item.Write.Spec
		other.Flow = object.Spec.Flow
		item.OnlyFlow = item.SpecDiffers && item.Current && sameSpec(object.Spec, other)
	}
}

// InWork reports whether a deployer works on an item of the continuous flow, or is about to.
func InWork(item *lsv1alpha1.DeployItem) bool {
	status := &item.Status
	final := status.Phase.IsCompleted() || status.Phase == lsv1alpha1.PhaseDeleteFailed
	gone := !item.DeletionTimestamp.IsZero() && status.Phase == lsv1alpha1.PhaseSucceeded
	operation := lsv1alpha1.Operation(item.Annotations[lsv1alpha1.OperationAnnotation])
	asked := operation == lsv1alpha1.OperationReconcile || operation == lsv1alpha1.OperationForceReconcile
	return !status.IsFinished() || !final || gone || asked || outdated(item)
}

// outdated reports whether the status refers to another spec than the current one. An item in the job flow need not have processed its
// last spec: no job has requested that.
func outdated(item *lsv1alpha1.DeployItem) bool {
	return item.Spec.Flow == lsv1alpha1.FlowContinuous && item.Status.ObservedGeneration != item.Generation
}

// abortedStatus returns the status of an aborted item in progress: failed, and no longer processed by its deployer.
func abortedStatus(item *lsv1alpha1.DeployItem, now time.Time) *lsv1alpha1.DeployItemStatus {
	status := item.Status.DeepCopy()
	if status.Phase == "" || status.Phase.IsFinal() {
		status.Phase = lsv1alpha1.PhaseInit
	}
	status.ObservedGeneration = item.Generation
	err := interruptError(
		"aborted by annotation " + lsv1alpha1.OperationAnnotation + "=" + string(
			lsv1alpha1.OperationAbort,
		) + " on the execution",
	)
	run.Settle(&status.RunStatus, run.Outcome{Err: err, Now: now})
	status.FirstError, status.LastErrors = status.LastError.DeepCopy(), []lsv1alpha1.Error{*status.LastError.DeepCopy()}
	return status
}
