// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"fmt"
	"slices"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/run"
)

// DecideExecution says what an execution of the continuous flow does next. It is total.
func DecideExecution(o Execution) execution.Decision {
	switch {
	case o.Ignored && o.Phase.IsCompleted():
		return idle(run.ReasonIgnored, "annotation "+lsv1alpha1.IgnoreAnnotation+" freezes it")
	case !o.Deleted && !o.Finalizer:
		return execution.Decision{Do: []execution.Effect{execution.AddFinalizer{}}, Why: because(run.ReasonHeld, "the finalizer comes before everything else")}
	case o.leaves():
		return leaveExecution(o)
	case o.Deleted:
		return deleteExecution(o)
	case o.Operation != "":
		return answer(o)
	case o.follows():
		return followExecution(o)
	case o.Phase.IsCompleted() && o.UpToDate:
		return recheckExecution(o)
	default:
		return reconcile(o)
	}
}

// answer decides what an annotation leads to. It goes once that is stored.
func answer(o Execution) execution.Decision {
	switch {
	case !run.Asked(o.Operation) || o.Accepted:
		return execution.Decision{Do: []execution.Effect{execution.DropOperation{}}, SaveFirst: o.Accepted, Why: because(run.ReasonOperation, "operation "+string(o.Operation)+" is answered")}
	case o.Operation == lsv1alpha1.OperationAbort:
		return abortExecution(o)
	default:
		return accept(o)
	}
}

func idle(code, message string) execution.Decision {
	return execution.Decision{Wait: true, Why: because(code, message)}
}

// accept takes up a request: with force all items are deployed again, otherwise those that have failed.
func accept(o Execution) execution.Decision {
	var redo []execution.Item
	for _, item := range o.Wanted {
		if o.Operation == lsv1alpha1.OperationForceReconcile || item.State == execution.StateFailed {
			redo = append(redo, item)
		}
	}
	return execution.Decision{
		Do: []execution.Effect{execution.RedoItems{Items: redo}}, Next: lsv1alpha1.PhaseProgressing,
		Why: because(run.ReasonOperation, "operation "+string(o.Operation)+" is asked for"),
	}
}

// recheckExecution goes on only if something has happened to the items since they were completed. While one has failed and
// nothing was asked for, a reconcile would come to the same end.
func recheckExecution(o Execution) execution.Decision {
	pairs := o.Pairs()
	switch {
	case o.Own:
		return idle(run.ReasonIdle, "it stays in phase "+string(o.Phase)+" until it is asked to reconcile or its spec changes")
	case o.Phase == lsv1alpha1.PhaseFailed && len(of(pairs, Broken)) > 0 && len(working(o, pairs)) == 0:
		return idle(run.ReasonIdle, "deploy items have failed: "+execution.Names(of(pairs, Broken)))
	case o.Phase == lsv1alpha1.PhaseSucceeded && o.ExportGone:
		return execution.Decision{Next: lsv1alpha1.PhaseProgressing, Why: because(run.ReasonExportsGone, "the object with its exports has vanished and is written anew")}
	case o.Phase == lsv1alpha1.PhaseSucceeded && len(of(pairs, Deployed)) == len(pairs) && len(o.Orphaned) == 0:
		return idle(run.ReasonIdle, "nothing has changed")
	default:
		return execution.Decision{Next: lsv1alpha1.PhaseProgressing, Why: because(run.ReasonChangedBelow, "deploy items have changed: "+execution.Names(moved(o, pairs)))}
	}
}

// moved are the items that are not as an execution which has come to an end has left them.
func moved(o Execution, pairs []Pair) []execution.Item {
	items := slices.Clone(o.Orphaned)
	for _, pair := range pairs {
		if pair.Class != Deployed || o.Phase != lsv1alpha1.PhaseSucceeded {
			items = append(items, pair.Item)
		}
	}
	return items
}

// reconcile brings the items in line with the spec. It does so from Progressing, so that an error on the way is told.
func reconcile(o Execution) execution.Decision {
	if o.Phase != lsv1alpha1.PhaseProgressing {
		return execution.Decision{Next: lsv1alpha1.PhaseProgressing, Why: because(string(lsv1alpha1.PhaseProgressing), "its deploy items are brought in line with the spec")}
	}
	if o.Invalid != nil {
		return refuse("read spec.deployItems", o.Invalid)
	}
	if orphans := deletable(o.Orphaned); len(orphans) > 0 {
		return execution.Decision{Do: []execution.Effect{execution.DeleteItems{Items: orphans}}, Why: because(run.ReasonUpdated, "deploy items that the spec does not contain are deleted")}
	}
	if strange := strangersGoing(o.Orphaned); len(strange) > 0 {
		return execution.Decision{Do: []execution.Effect{execution.ConvertItems{Flow: lsv1alpha1.FlowContinuous, Items: strange}}, Why: because(run.ReasonUpdated, "deploy items of another flow are deleted")}
	}
	pairs := o.Pairs()
	if turning := turning(pairs); len(turning) > 0 {
		return execution.Decision{
			Do:  []execution.Effect{execution.ConvertItems{Flow: lsv1alpha1.FlowContinuous, Items: turning}},
			Why: because(run.ReasonUpdated, "deploy items come from another flow: "+execution.Names(turning)),
			// That this has begun is known before.
			SaveFirst: len(o.Generations) == 0,
		}
	}
	if broken := append(of(pairs, Broken), failedDeletions(o.Orphaned)...); len(broken) > 0 {
		text, codes := execution.Problems(broken)
		if busy := working(o, pairs); len(busy) > 0 {
			return waitForItems(o, "waiting for deploy items "+execution.Names(busy)+"; then it fails: "+text)
		}
		return refuse("deploy the items", failure.Terminalf(failure.Details{Operation: "DeployItems", Reason: run.ReasonSubObjectFailed, Codes: codes}, "%s", text))
	}
	if len(of(pairs, Deployed)) == len(pairs) && len(o.Orphaned) == 0 {
		return execution.Collect(o.Observed)
	}
	if do := updates(pairs); len(do) > 0 {
		return execution.Decision{Do: do, Why: because(run.ReasonUpdated, "deploy items are updated: "+execution.Names(of(pairs, Due)))}
	}
	return await(o, pairs)
}

// turning are the items that have nothing to change but their flow. They do so whatever the others are doing, for nothing is deployed.
func turning(pairs []Pair) []execution.Item {
	var items []execution.Item
	for _, pair := range pairs {
		if (pair.Class == Due || pair.Class == Pending) && taskOf(pair) == convertIt {
			items = append(items, pair.Item)
		}
	}
	return items
}

// working are the items on which deployers work: nothing is called failed before they have come to their end.
func working(o Execution, pairs []Pair) []execution.Item {
	busy := of(pairs, InWork)
	for _, item := range o.Orphaned {
		if item.Terminating && item.State != execution.StateFailed {
			busy = append(busy, item)
		}
	}
	return busy
}

func refuse(doing string, err error) execution.Decision {
	return execution.Decision{
		Do: []execution.Effect{execution.Refuse{Doing: doing, Err: err}}, Next: lsv1alpha1.PhaseFailed, Wait: true,
		Why: because(failure.DetailsOf(err).Reason, doing+": "+err.Error()),
	}
}

// updates are what makes all items of class Due as the spec wants them. What is so already is noted.
func updates(pairs []Pair) []execution.Effect {
	work := map[task][]execution.Item{}
	for _, pair := range pairs {
		if pair.Class != Due {
			continue
		}
		t := taskOf(pair)
		if t == writeIt && pair.Redo && !pair.SpecDiffers {
			pair.Write = askedFor(pair.Write)
		}
		work[t] = append(work[t], pair.Item)
	}
	do := execution.Updates(work[writeIt])
	if items := work[askIt]; len(items) > 0 {
		do = append(do, execution.AskItems{Operation: lsv1alpha1.OperationReconcile, Items: items})
	}
	if items := work[noteIt]; len(items) > 0 {
		do = append(do, execution.NoteItems{Items: items})
	}
	return do
}

// task is what makes an item as the spec wants it.
type task int

const (
	noteIt task = iota
	writeIt
	convertIt
	askIt
)

// taskOf chooses the least that has to be done. An item of another flow that somebody has deployed before changes its flow
// and is not deployed again.
func taskOf(pair Pair) task {
	settled := pair.State == execution.StateSucceeded || pair.State == execution.StateFailed
	switch {
	case pair.OnlyFlow && settled && !pair.Redo:
		return convertIt
	case pair.Write != nil:
		return writeIt
	case pair.Redo:
		return askIt
	default:
		return noteIt
	}
}

func askedFor(item *lsv1alpha1.DeployItem) *lsv1alpha1.DeployItem {
	item = item.DeepCopy()
	if item.Annotations == nil {
		item.Annotations = map[string]string{}
	}
	item.Annotations[lsv1alpha1.OperationAnnotation] = string(lsv1alpha1.OperationReconcile)
	return item
}

// await waits for items, and says which others wait for them.
func await(o Execution, pairs []Pair) execution.Decision {
	message := "waiting for "
	switch inWork, pending := of(pairs, InWork), of(pairs, Pending); {
	case len(inWork) > 0:
		message += "deploy items " + execution.Names(inWork)
		if len(pending) > 0 {
			message += "; then come " + execution.Names(pending)
		}
	default:
		message += "the deletion of deploy items " + execution.Names(o.Orphaned)
	}
	return waitForItems(o, message)
}

func waitForItems(o Execution, message string) execution.Decision {
	return execution.Decision{Wait: true, RequeueAfter: run.Recheck(o.PhaseSince, o.Now), Why: because(lsv1alpha1.ReasonWaitingForSubObjects, message)}
}

// abortExecution ends the work on all items, and stays.
func abortExecution(o Execution) execution.Decision {
	if o.Aborted && o.UpToDate {
		return execution.Decision{SaveFirst: true, Do: []execution.Effect{execution.DropOperation{}}, Wait: true, Why: because(lsv1alpha1.ReasonAborted, "it is aborted")}
	}
	if !o.Complete {
		return execution.Decision{Wait: true, RequeueAfter: time.Second, Why: because(lsv1alpha1.ReasonAborted, "which deploy items exist is not known for certain yet")}
	}
	var cut []execution.Item
	for _, item := range slices.Concat(o.Wanted, o.Orphaned) {
		if item.CutShort != nil && !item.Terminating {
			cut = append(cut, item)
		}
	}
	message := fmt.Sprintf("aborted by annotation %s=%s; a reconcile or a change of the spec goes on", lsv1alpha1.OperationAnnotation, lsv1alpha1.OperationAbort)
	d := execution.Decision{Next: lsv1alpha1.PhaseFailed, Why: because(lsv1alpha1.ReasonAborted, message)}
	if len(cut) > 0 {
		d.Do = []execution.Effect{execution.InterruptItems{Items: cut}}
	}
	return d
}
