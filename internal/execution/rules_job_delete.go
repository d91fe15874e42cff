// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// remove deletes the items in reverse order, and then lets the execution go.
func remove(o Observed) Decision {
	if o.Phase != lsv1alpha1.PhaseDeleting {
		return Decision{Do: keepDeployed(o), Next: lsv1alpha1.PhaseDeleting, Why: because(ReasonDeleting, "its deploy items are deleted")}
	}
	if keep := keepDeployed(o); len(keep) > 0 {
		return Decision{Do: keep, Why: because(ReasonDeleting, "what was deployed stays")}
	}
	r := removalOf(o.Orphaned)
	switch {
	case !r.over():
		d := o.await(lsv1alpha1.ReasonWaitingForSubObjects, r.awaited)
		d.Do = r.effects(o)
		// A deletion that does not take long is told by the installation alone. Whoever goes on with it finds the same in the items, unless
		// he has to ask the API server for them each time.
		d.DeferStatusWrite = o.Remembered
		return d
	case !o.Complete:
		return Decision{
			Wait:         true,
			RequeueAfter: minRecheck,
			Why:          because(ReasonDeleting, "whether all deploy items are gone is not known for certain yet"),
		}
	case len(o.Orphaned) > 0:
		return fail(o, failing{
			doing: "delete the deploy items", code: ReasonDeployItemsLeft,
			err: failed(operationDelete, ReasonDeployItemsLeft, r.codes(), r.problems()),
		})
	default:
		return letGo(o)
	}
}

// removal is what can be done about objects that have to go: each goes when none that depends on it is left. One that was
// deleted gets the job in a later pass, when an event has brought the version in which it is being deleted.
type removal struct {
	delete, trigger, working, left []Item
	// awaited is the first item that something can be expected of.
	awaited Item
}

func removalOf(items []Item) removal {
	var r removal
	needed := neededObjects(items)
	for _, item := range items {
		switch {
		case item.working():
			r.working = append(r.working, item)
		case item.State == StateFailed && item.Terminating, item.State == StateSucceeded && item.Terminating:
			r.left = append(r.left, item)
		case needed[item.Object.Name]:
		case item.Terminating:
			r.trigger = append(r.trigger, item)
		default:
			r.delete = append(r.delete, item)
		}
	}
	switch {
	case len(r.working) > 0:
		r.awaited = r.working[0]
	case len(r.trigger) > 0:
		r.awaited = r.trigger[0]
	case len(r.delete) > 0:
		r.awaited = r.delete[0]
		r.awaited.Terminating = true // the decision that waits for it deletes it: saying so at once spares a write
	}
	return r
}

// over reports whether nothing happens any more by itself: all are gone, or those that are left have failed.
func (r removal) over() bool { return len(r.working)+len(r.delete)+len(r.trigger) == 0 }

// failed reports whether objects are left of which no more can be expected.
func (r removal) failed() bool { return r.over() && len(r.left) > 0 }

func (r removal) effects(o Observed) []Effect {
	var do []Effect
	if len(r.delete) > 0 {
		do = append(do, DeleteItems{Items: r.delete})
	}
	if len(r.trigger) > 0 {
		do = append(do, TriggerItems{JobID: o.Job.ID, Items: r.trigger})
	}
	return do
}

func (r removal) problems() string { return problemsOf(r.left) }

func (r removal) codes() []string { return codesOf(r.left) }
