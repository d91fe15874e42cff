// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"slices"
	"strconv"
	"strings"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// This file is what the continuous flow, which package continuous decides, takes from this package: the same items and
// objects, judged by their generations instead of by a job.

// noJob is a job that no deploy item has.
const noJob = "none"

// FlowOf tells which flow an execution follows at present. One that the continuous flow has worked on stays in it until its
// deploy items have been told of the change, too.
func FlowOf(e *lsv1alpha1.Execution) lsv1alpha1.Flow {
	if e.Status.IsFinished() && len(e.Status.DeployItemGenerations) > 0 {
		return lsv1alpha1.FlowContinuous
	}
	return run.FlowOf(e.Spec.Flow, &e.Status.RunStatus)
}

// onlyFlowChanged tells whether the present spec differs in nothing but its flow from the one that the status speaks of,
// although it has another generation.
func onlyFlowChanged(e *lsv1alpha1.Execution) bool {
	status := &e.Status
	return e.DeletionTimestamp.IsZero() && e.Generation != status.ObservedGeneration && status.ObservedSpec != "" &&
		status.ObservedSpec == specMark(e, status.ObservedGeneration)
}

func specMark(e *lsv1alpha1.Execution, generation int64) string {
	spec := e.Spec
	spec.Flow = ""
	return run.SpecMark(e.UID, generation, spec)
}

// ObserveSpec has the status speak of the present spec.
func ObserveSpec(e *lsv1alpha1.Execution) {
	run.Observe(&e.Status.RunStatus, e.Generation, specMark(e, e.Generation))
}

// RememberSpec has a status of before it remembered the spec do so.
func RememberSpec(e *lsv1alpha1.Execution) {
	run.RememberSpec(&e.Status.RunStatus, e.Generation, func(generation int64) string { return specMark(e, generation) })
}

// LookWithoutJob turns what was read about an execution of the continuous flow into what a decision depends on.
func LookWithoutJob(s Snapshot) Observed {
	o := NewObserved(s)
	o.Continuous, o.InterruptAsked, o.Interrupted = true, false, false
	l := facts{Snapshot: s, o: o, objects: make([]*lsv1alpha1.DeployItem, len(s.Items))}
	for i := range s.Items {
		l.objects[i] = &s.Items[i]
	}
	slices.SortFunc(l.objects, func(a, b *lsv1alpha1.DeployItem) int { return strings.Compare(a.Name, b.Name) })
	l.o.Wanted, l.o.Orphaned, l.o.Invalid, l.o.Export = nil, nil, nil, Export{}
	// The spec is always the one to work on, as it is at the beginning of a job.
	l.o.Job, l.o.Phase, l.o.Deleted = run.Job{ID: noJob}, lsv1alpha1.PhaseInit, false
	if o.Deleted {
		l.lookForRemoval()
	} else {
		l.lookForRun()
	}
	for _, items := range [][]Item{l.o.Wanted, l.o.Orphaned} {
		for i := range items {
			l.judge(&items[i], o.Deleted)
		}
	}
	if !o.Deleted {
		l.o.Export = Export{}
		l.lookAtExports(match(s.Execution, l.plan(), l.objects))
	}
	l.o.Job, l.o.Phase, l.o.Deleted = o.Job, o.Phase, o.Deleted
	return l.o
}

// judge says how far an item has come, by what its object says of its generation. Objects that are to be deleted are at
// rest before, whatever they do.
func (l *facts) judge(item *Item, removing bool) {
	i := slices.IndexFunc(l.objects, func(o *lsv1alpha1.DeployItem) bool { return o.Name == item.Object.Name })
	if i < 0 || item.State == StateUnseen || item.Replaced {
		return
	}
	l.judgeObject(item, l.objects[i], removing)
}

func (l *facts) judgeObject(item *Item, object *lsv1alpha1.DeployItem, removing bool) {
	item.Object.Generation, item.Flow = object.Generation, object.Spec.Flow.OrDefault()
	item.Halfway = isHalfway(object)
	item.Current = object.Status.ObservedGeneration >= object.Generation || item.Halfway
	item.Since = time.Time{}
	switch status := &object.Status; {
	case removing && !item.Terminating:
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

// FlowGenerationAnnotation names the generation of a deploy item that its execution has made by a change of the flow to that of jobs, and
// that was deployed before. The status says so in the next write.
const FlowGenerationAnnotation = "espalier.dev/flow-generation"

// isHalfway tells whether a change of the flow has stopped between its two writes: on the way to jobs the status is one generation behind,
// on the way back it is ahead.
func isHalfway(object *lsv1alpha1.DeployItem) bool {
	made := object.Annotations[FlowGenerationAnnotation] == strconv.FormatInt(object.Generation, 10)
	return made && object.Status.ObservedGeneration == object.Generation-1 || object.Status.ObservedGeneration > object.Generation
}

// InWork tells whether a deployer works on an item of the continuous flow, or is about to.
func InWork(item *lsv1alpha1.DeployItem) bool {
	status := &item.Status
	final := status.Phase.IsCompleted() || status.Phase == lsv1alpha1.PhaseDeleteFailed
	gone := !item.DeletionTimestamp.IsZero() && status.Phase == lsv1alpha1.PhaseSucceeded
	operation := lsv1alpha1.Operation(item.Annotations[lsv1alpha1.OperationAnnotation])
	asked := operation == lsv1alpha1.OperationReconcile || operation == lsv1alpha1.OperationForceReconcile
	return !status.IsFinished() || !final || gone || asked || outdated(item)
}

// outdated tells whether the status speaks of another spec than the present one. An item of the job flow need not have seen
// its last spec: nobody has asked for it.
func outdated(item *lsv1alpha1.DeployItem) bool {
	return item.Spec.Flow == lsv1alpha1.FlowContinuous && item.Status.ObservedGeneration != item.Generation
}

// abortedStatus is the status of an item in work that was aborted: failed, and none of its deployer's business any more.
func abortedStatus(item *lsv1alpha1.DeployItem, now time.Time) *lsv1alpha1.DeployItemStatus {
	status := item.Status.DeepCopy()
	if status.Phase == "" || status.Phase.IsFinal() {
		status.Phase = lsv1alpha1.PhaseInit
	}
	status.ObservedGeneration = item.Generation
	err := interruptError("the work on it was cut short by annotation " + lsv1alpha1.OperationAnnotation + "=" + string(lsv1alpha1.OperationAbort) + " on the execution")
	run.Settle(&status.RunStatus, run.Outcome{Err: err, Now: now})
	status.FirstError, status.LastErrors = status.LastError.DeepCopy(), []lsv1alpha1.Error{*status.LastError.DeepCopy()}
	return status
}

// Needed are the names of the objects that another one depends on.
func Needed(items []Item) map[string]bool { return neededObjects(items) }

// KeepingDeployed is what has to be done so that all objects know that what they have deployed stays.
func KeepingDeployed(o Observed) []Effect { return keepDeployed(o) }

// Collect ends a run whose deploy items have all succeeded, with their exports.
func Collect(o Observed) Decision { return complete(o) }

// LetGo ends a deletion of which no deploy item is left.
func LetGo(o Observed) Decision { return letGo(o) }

// Problems says of each item what is wrong with it, and Codes are the error codes of all.
func Problems(items []Item) (text string, codes []string) { return problemsOf(items), codesOf(items) }

// Names lists items for a message.
func Names(items []Item) string { return list(items) }

// Record is what the status remembers of the objects.
func Record(o Observed) *lsv1alpha1.DeployItemCache { return o.record() }

// Updates creates and updates the objects of items.
func Updates(items []Item) []Effect { return writes(items) }
