// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// remove deletes the items in reverse order, and then releases the execution.
func remove(o Observed) Decision {
	if o.Phase != lsv1alpha1.PhaseDeleting {
		return Decision{Do: keepDeployed(o), Next: lsv1alpha1.PhaseDeleting, Why: because(ReasonDeleting, "deleting deploy items")}
	}
	if keep := keepDeployed(o); len(keep) > 0 {
		return Decision{Do: keep, Why: because(ReasonDeleting, "what was deployed stays")}
	}
	p := pruningOf(o.Orphaned)
	switch {
	case !p.over():
		d := o.await(lsv1alpha1.ReasonWaitingForSubObjects, p.awaited)
		d.Do = p.effects(o)
		// Only the installation reports a short deletion. A controller that continues it derives the same from the items, unless it must read
		// them from the API server each time.
		d.DeferStatusWrite = o.Remembered
		return d
	case !o.Complete:
		return Decision{
			Wait:         true,
			RequeueAfter: minRecheck,
			Why:          because(ReasonDeleting, "waiting until the API server confirms that all deploy items are gone"),
		}
	case len(o.Orphaned) > 0:
		return fail(o, failing{
			doing: "delete the deploy items", code: ReasonDeployItemsLeft,
			err: failed(operationDelete, ReasonDeployItemsLeft, p.codes(), p.problems()),
		})
	default:
		return letGo(o)
	}
}

// pruning is what can be done about objects that must be deleted: each is deleted once no object that depends on it exists. A deleted
// object gets the job in a later pass, after an event has shown the version in which it is being deleted.
type pruning struct {
	delete, trigger, working, left []Item
	// awaited is the first item that can still make progress.
	awaited Item
}

func pruningOf(items []Item) pruning {
	var p pruning
	needed := neededObjects(items)
	for _, item := range items {
		switch {
		case item.working():
			p.working = append(p.working, item)
		case item.State == StateFailed && item.Terminating, item.State == StateSucceeded && item.Terminating:
			p.left = append(p.left, item)
		case needed[item.Object.Name]:
		case item.Terminating:
			p.trigger = append(p.trigger, item)
		default:
			p.delete = append(p.delete, item)
		}
	}
	switch {
	case len(p.working) > 0:
		p.awaited = p.working[0]
	case len(p.trigger) > 0:
		p.awaited = p.trigger[0]
	case len(p.delete) > 0:
		p.awaited = p.delete[0]
		p.awaited.Terminating = true // this decision also deletes it: reporting that at once saves a write
	}
	return p
}

// over reports whether nothing more happens without a request: all objects are gone, or the remaining ones have failed.
func (p pruning) over() bool { return len(p.working)+len(p.delete)+len(p.trigger) == 0 }

// failed reports whether objects remain that make no more progress.
func (p pruning) failed() bool { return p.over() && len(p.left) > 0 }

func (p pruning) effects(o Observed) []Effect {
	var do []Effect
	if len(p.delete) > 0 {
		do = append(do, DeleteItems{Items: p.delete})
	}
	if len(p.trigger) > 0 {
		do = append(do, TriggerItems{JobID: o.Job.ID, Items: p.trigger})
	}
	return do
}

func (p pruning) problems() string { return problemsOf(p.left) }

func (p pruning) codes() []string { return codesOf(p.left) }
