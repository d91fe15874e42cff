// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"fmt"
	"slices"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/run"
)

// decideContinuously returns what an execution in the continuous flow does next. It is total.
func decideContinuously(o Observed) Decision {
	switch {
	case o.Ignored && o.Phase.IsCompleted():
		return idle(run.ReasonIgnored, run.FrozenMessage(o.Deleted))
	case !o.Deleted && !o.Finalizer:
		return Decision{Do: []Effect{AddFinalizer{}}, Why: because(run.ReasonHeld, "adding the finalizer first")}
	case o.leaves():
		return leave(o)
	case o.Deleted:
		return deleteContinuously(o)
	case o.Operation != "":
		return answer(o)
	case o.follows():
		return follow(o)
	default:
		return workOnItems(o)
	}
}

// workOnItems first restores the metadata of deploy items that match the spec otherwise, which deploys nothing.
func workOnItems(o Observed) Decision {
	switch marred := o.marred(); {
	case len(marred) > 0:
		return Decision{
			Do:  []Effect{UpdateItems{Items: marred}},
			Why: because(run.ReasonUpdated, "restoring labels, annotations and owners of deploy items "+list(marred)),
		}
	case o.Phase.IsCompleted() && o.UpToDate:
		return recheckItems(o)
	default:
		return reconcile(o)
	}
}

// marred returns the items at rest that match the spec except for metadata that another client has removed or changed.
func (o Observed) marred() []Item {
	pairs := o.Pairs()
	return filter(slices.Concat(ofClass(pairs, ClassDeployed), ofClass(pairs, ClassBroken)), func(i Item) bool {
		return i.Write != nil && !i.SpecDiffers && !i.Terminating
	})
}

// answer decides what an annotation triggers. The annotation is removed once that is stored.
func answer(o Observed) Decision {
	switch {
	case !run.Asked(o.Operation) || o.Accepted:
		return Decision{
			Do:        []Effect{DropOperation{}},
			SaveFirst: o.Accepted,
			Why:       because(run.ReasonOperation, "operation "+string(o.Operation)+" is done"),
		}
	case o.Operation == lsv1alpha1.OperationAbort:
		return abort(o)
	default:
		return accept(o)
	}
}

func idle(code, message string) Decision {
	return Decision{Wait: true, Why: because(code, message)}
}

// accept accepts a request: force redeploys all items, any other request those that have failed.
func accept(o Observed) Decision {
	redo := filter(o.Wanted, func(i Item) bool { return o.Operation == lsv1alpha1.OperationForceReconcile || i.State == StateFailed })
	return Decision{
		Do: []Effect{RedoItems{Items: redo}}, Next: lsv1alpha1.PhaseProgressing,
		Why: because(run.ReasonOperation, "operation "+string(o.Operation)+" is requested"),
	}
}

// recheckItems continues only if the items have changed since they were completed. While one has failed and no operation is requested, a
// reconcile would have the same result.
func recheckItems(o Observed) Decision {
	pairs := o.Pairs()
	switch {
	case o.Own:
		return idle(run.ReasonIdle, "stays in phase "+string(o.Phase)+" until a reconcile is requested or the spec changes")
	case o.Phase == lsv1alpha1.PhaseFailed && len(ofClass(pairs, ClassBroken)) > 0 && len(workedOn(o, pairs)) == 0:
		return idle(run.ReasonIdle, "deploy items failed: "+list(ofClass(pairs, ClassBroken)))
	case o.Phase == lsv1alpha1.PhaseSucceeded && o.ExportGone:
		return Decision{
			Next: lsv1alpha1.PhaseProgressing,
			Why:  because(run.ReasonExportsGone, "recreating the missing object with the exports"),
		}
	case o.Phase == lsv1alpha1.PhaseSucceeded && len(ofClass(pairs, ClassDeployed)) == len(pairs) && len(o.Orphaned) == 0:
		return idle(run.ReasonIdle, "nothing has changed")
	default:
		return Decision{
			Next: lsv1alpha1.PhaseProgressing,
			Why:  because(run.ReasonChangedBelow, "deploy items have changed: "+list(moved(o, pairs))),
		}
	}
}

// moved returns the items that differ from what the completed execution recorded.
func moved(o Observed, pairs []Pair) []Item {
	items := slices.Clone(o.Orphaned)
	for _, pair := range pairs {
		if pair.Class != ClassDeployed || o.Phase != lsv1alpha1.PhaseSucceeded {
			items = append(items, pair.Item)
		}
	}
	return items
}

// reconcile updates the items to match the spec. It does so from Progressing, so that an error on the way is reported.
func reconcile(o Observed) Decision {
	if o.Phase != lsv1alpha1.PhaseProgressing {
		return Decision{
			Next: lsv1alpha1.PhaseProgressing,
			Why:  because(string(lsv1alpha1.PhaseProgressing), "updating deploy items to match the spec"),
		}
	}
	if o.Invalid != nil {
		return fail(o, failing{doing: "read spec.deployItems", err: o.Invalid, code: failure.DetailsOf(o.Invalid).Reason})
	}
	if orphans := deletable(o.Orphaned); len(orphans) > 0 {
		return Decision{
			Do:  []Effect{DeleteItems{Items: orphans}},
			Why: because(run.ReasonUpdated, "deleting deploy items that are not in the spec"),
		}
	}
	if strange := strangersGoing(o.Orphaned); len(strange) > 0 {
		return Decision{
			Do:  []Effect{ConvertItems{Flow: lsv1alpha1.FlowContinuous, Items: strange}},
			Why: because(run.ReasonUpdated, "deleting deploy items of another flow"),
		}
	}
	pairs := o.Pairs()
	if turning := turning(pairs); len(turning) > 0 {
		return Decision{
			Do:  []Effect{ConvertItems{Flow: lsv1alpha1.FlowContinuous, Items: turning}},
			Why: because(run.ReasonUpdated, "taking over deploy items from another flow: "+list(turning)),
			// The status must record beforehand that this has started.
			SaveFirst: len(o.Generations) == 0,
		}
	}
	if broken := append(ofClass(pairs, ClassBroken), failedDeletions(o.Orphaned)...); len(broken) > 0 {
		text := problemsOf(broken)
		if busy := workedOn(o, pairs); len(busy) > 0 {
			return informed(o, waitForItems(o, "waiting for deploy items "+list(busy)+"; the execution then fails: "+text))
		}
		err := failed(operationDeploy, run.ReasonSubObjectFailed, codesOf(broken), text)
		return fail(o, failing{doing: "deploy", err: err, code: run.ReasonSubObjectFailed})
	}
	if len(ofClass(pairs, ClassDeployed)) == len(pairs) && len(o.Orphaned) == 0 {
		return complete(o)
	}
	if do := updates(pairs); len(do) > 0 {
		return Decision{Do: do, Why: because(run.ReasonUpdated, "updating deploy items: "+list(ofClass(pairs, ClassDue)))}
	}
	return informed(o, awaitPairs(o, pairs))
}

// turning returns the items in which only the flow must change. They change it regardless of the others, because nothing is deployed.
func turning(pairs []Pair) []Item {
	var items []Item
	for _, pair := range pairs {
		if (pair.Class == ClassDue || pair.Class == ClassPending) && taskOf(pair) == convertIt {
			items = append(items, pair.Item)
		}
	}
	return items
}

// workedOn returns the items that deployers work on: the execution does not fail before they have finished.
func workedOn(o Observed, pairs []Pair) []Item {
	going := filter(o.Orphaned, func(i Item) bool { return i.Terminating && i.State != StateFailed })
	return append(ofClass(pairs, ClassInWork), going...)
}

// updates returns the effects that make all items of class 2A match the spec, and records those that already do.
func updates(pairs []Pair) []Effect {
	work := map[task][]Item{}
	for _, pair := range pairs {
		if pair.Class != ClassDue {
			continue
		}
		t := taskOf(pair)
		if t == writeIt && pair.Redo && !pair.SpecDiffers {
			pair.Write = askedFor(pair.Write)
		}
		work[t] = append(work[t], pair.Item)
	}
	do := writes(work[writeIt])
	if items := work[askIt]; len(items) > 0 {
		do = append(do, AskItems{Operation: lsv1alpha1.OperationReconcile, Items: items})
	}
	if items := work[noteIt]; len(items) > 0 {
		do = append(do, NoteItems{Items: items})
	}
	return do
}

// task is the action that makes an item match the spec.
type task int

const (
	noteIt task = iota
	writeIt
	convertIt
	askIt
)

// taskOf returns the smallest sufficient action. An item of another flow that was already deployed changes its flow and is not redeployed.
func taskOf(pair Pair) task {
	settled := pair.State == StateSucceeded || pair.State == StateFailed
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

// awaitPairs waits for items, and names those that wait for them.
func awaitPairs(o Observed, pairs []Pair) Decision {
	message := "waiting for "
	switch inWork, pending := ofClass(pairs, ClassInWork), ofClass(pairs, ClassPending); {
	case len(inWork) > 0:
		message += "deploy items " + list(inWork)
		if len(pending) > 0 {
			message += "; next: " + list(pending)
		}
	default:
		message += "the deletion of deploy items " + list(o.Orphaned)
	}
	return waitForItems(o, message)
}

// informed notifies items of a deletion before the execution waits for them.
func informed(o Observed, wait Decision) Decision {
	if unaware := uninformed(o); len(unaware) > 0 {
		return tellItems(unaware)
	}
	return wait
}

func waitForItems(o Observed, message string) Decision {
	return Decision{Wait: true, RequeueAfter: o.recheck(), Why: because(lsv1alpha1.ReasonWaitingForSubObjects, message)}
}

// abort ends the work on all items, and stays aborted.
func abort(o Observed) Decision {
	if o.Aborted && o.UpToDate {
		return Decision{SaveFirst: true, Do: []Effect{DropOperation{}}, Wait: true, Why: because(lsv1alpha1.ReasonAborted, "aborted")}
	}
	if !o.Complete {
		return Decision{
			Wait:         true,
			RequeueAfter: time.Second,
			Why:          because(lsv1alpha1.ReasonAborted, "waiting until the API server confirms which deploy items exist"),
		}
	}
	if turned := o.turned(); len(turned) > 0 {
		return Decision{
			Do:        []Effect{ConvertItems{Flow: lsv1alpha1.FlowContinuous, Items: turned}},
			SaveFirst: len(o.Generations) == 0,
			Why:       because(run.ReasonFlowChanged, "taking back deploy items from another flow before the abort: "+list(turned)),
		}
	}
	cut := filter(slices.Concat(o.Wanted, o.Orphaned), func(i Item) bool { return i.CutShort != nil && !i.Terminating })
	message := fmt.Sprintf(
		"aborted by annotation %s=%s; to continue, request a reconcile or change the spec",
		lsv1alpha1.OperationAnnotation,
		lsv1alpha1.OperationAbort,
	)
	d := Decision{Next: lsv1alpha1.PhaseFailed, Why: because(lsv1alpha1.ReasonAborted, message)}
	if len(cut) > 0 {
		d.Do = []Effect{InterruptItems{Items: cut}}
	}
	return d
}
