// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"fmt"
	"slices"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/graph"
)

// prepare creates and updates the objects of all items. It handles those that must be deleted first.
func prepare(o Observed) Decision {
	if o.DeletionAsked && !o.Begun {
		return overtaken(o)
	}
	if o.Invalid != nil {
		return refuseSpec(o)
	}
	orphans := pruningOf(o.Orphaned)
	if orphans.failed() {
		return failOrphans(o, orphans)
	}
	d := Decision{Next: lsv1alpha1.PhaseProgressing, Why: because(ReasonPrepared, fmt.Sprintf("prepared %d deploy items", len(o.Wanted)))}
	if len(o.Orphaned) > 0 {
		d = o.await(lsv1alpha1.ReasonWaitingForOrphans, orphans.awaited)
	} else if i := slices.IndexFunc(o.Wanted, func(i Item) bool { return i.State == StateUnseen }); i >= 0 {
		d = o.await(lsv1alpha1.ReasonWaitingForSubObjects, o.Wanted[i])
	}
	if !o.Finalizer && !o.Deleted {
		d.Do = append(d.Do, AddFinalizer{})
	}
	d.Do = append(d.Do, orphans.effects(o)...)
	d.Do = append(d.Do, writes(o.Wanted)...)
	return d
}

// overtaken ends a job that has not started to deploy anything, because the deletion was requested. It awaits what the job has already
// started to delete.
func overtaken(o Observed) Decision {
	for _, items := range [][]Item{o.Orphaned, o.Wanted} {
		if i := slices.IndexFunc(items, Item.working); i >= 0 {
			return o.await(lsv1alpha1.ReasonWaitingForSubObjects, items[i])
		}
	}
	if !o.Complete {
		return Decision{
			Wait:         true,
			RequeueAfter: time.Second,
			Why: because(
				lsv1alpha1.ReasonWaitingForSubObjects,
				"waiting until the API server confirms whether job "+o.Job.ID+" started deploy items",
			),
		}
	}
	message := "job " + o.Job.ID + " was interrupted before anything was deployed, because deletion was requested"
	return fail(o, failing{doing: "run the job", err: interruptError(message), code: lsv1alpha1.ReasonInterrupted})
}

// refuseSpec fails because of the spec, once nothing runs that a job of an earlier spec may have started.
func refuseSpec(o Observed) Decision {
	if i := slices.IndexFunc(o.Wanted, Item.working); i >= 0 {
		return o.await(lsv1alpha1.ReasonWaitingForSubObjects, o.Wanted[i])
	}
	return fail(o, failing{doing: "read spec.deployItems", err: o.Invalid, code: ReasonInvalidSpec})
}

// failOrphans fails because of objects that could not be deleted, once nothing runs that this job has started.
func failOrphans(o Observed, orphans pruning) Decision {
	if i := slices.IndexFunc(o.Wanted, Item.working); i >= 0 {
		return o.await(lsv1alpha1.ReasonWaitingForSubObjects, o.Wanted[i])
	}
	message := "deploy items that the spec no longer contains, or contains with another type, could not be deleted: " + orphans.problems()
	return fail(o, failing{
		doing: "remove old deploy items",
		code:  ReasonDeployItemsLeft,
		err:   failed(operationDelete, ReasonDeployItemsLeft, orphans.codes(), message),
	})
}

// progress starts what can be started and waits for what was started.
func progress(o Observed) Decision {
	if len(o.Orphaned) > 0 {
		return finishPruning(o)
	}
	plan := make([]planned, len(o.Wanted))
	for i, item := range o.Wanted {
		plan[i] = planned{name: item.Name, dependsOn: item.DependsOn}
	}
	g, err := graphOf(plan)
	if err != nil {
		return fail(o, failing{doing: "order the deploy items", err: err, code: ReasonInvalidSpec})
	}
	p := progressOf(o.Wanted)
	if ready := named(o.Wanted, g.Ready(p)); len(ready) > 0 {
		return Decision{
			Do:  []Effect{TriggerItems{JobID: o.Job.ID, Items: ready}},
			Why: because(ReasonTriggered, "starting deploy items "+list(ready)),
		}
	}
	if unaware := uninformed(o); len(unaware) > 0 {
		return tellItems(unaware)
	}
	if i := slices.IndexFunc(o.Wanted, Item.working); i >= 0 {
		d := o.await(lsv1alpha1.ReasonWaitingForSubObjects, o.Wanted[i])
		d.DeferStatusWrite = true
		return d
	}
	if len(p.Done) == len(o.Wanted) {
		return Decision{
			Next: lsv1alpha1.PhaseCompleting,
			Why:  because(ReasonDeployed, fmt.Sprintf("all %d deploy items succeeded", len(o.Wanted))),
		}
	}
	return failItems(o, named(o.Wanted, g.Blocked(p)))
}

// uninformed returns the items in progress that are not marked as part of a deletion: the mark ends those that only wait.
func uninformed(o Observed) []Item {
	if !o.DeletionAsked {
		return nil
	}
	return filter(o.Wanted, func(i Item) bool { return i.State == StateRunning && !i.DeletionAsked })
}

func tellItems(items []Item) Decision {
	return Decision{
		Do:  []Effect{TellItems{Items: items}},
		Why: because(lsv1alpha1.ReasonWaitingForSubObjects, "notifying deploy items of the deletion: "+list(items)),
	}
}

// finishPruning continues a deletion that an earlier controller has not finished.
func finishPruning(o Observed) Decision {
	orphans := pruningOf(o.Orphaned)
	if orphans.failed() {
		return failOrphans(o, orphans)
	}
	d := o.await(lsv1alpha1.ReasonWaitingForOrphans, orphans.awaited)
	d.Do = orphans.effects(o)
	return d
}

// progressOf returns the progress of the items. An item that can never be started counts as failed.
func progressOf(items []Item) graph.Progress {
	p := graph.Progress{Done: map[string]bool{}, Failed: map[string]bool{}, Running: map[string]bool{}}
	for _, item := range items {
		switch {
		case item.State == StateSucceeded:
			p.Done[item.Name] = true
		case item.working():
			p.Running[item.Name] = true
		case item.lost():
			p.Failed[item.Name] = true
		}
	}
	return p
}

// lost reports whether an item has not succeeded and will not: it failed, or its object is gone or being deleted.
func (i Item) lost() bool {
	return i.State == StateFailed || i.State == StateAbsent || i.State == StateIdle && i.Terminating
}

func failItems(o Observed, blocked []Item) Decision {
	lost := filter(o.Wanted, Item.lost)
	message := problemsOf(lost)
	if len(blocked) > 0 {
		message += "; not started as a result: " + list(blocked)
	}
	return fail(o, failing{
		doing: "deploy", code: ReasonDeployItemsFailed,
		err: failed(operationDeploy, ReasonDeployItemsFailed, codesOf(lost), message),
	})
}
