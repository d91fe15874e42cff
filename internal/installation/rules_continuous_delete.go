// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/run"
)

// decideContinuousDeletion decides about an installation of the continuous flow that is being deleted.
func decideContinuousDeletion(o Observed) Decision {
	left := o.below()
	staying := filter(left, func(c Child) bool { return !c.Deleting })
	switch {
	case !o.Finalizer:
		return stay(run.ReasonDeleting, "waiting for other clients to remove their finalizers")
	case o.Operation != "" && !o.forced() && o.Operation != lsv1alpha1.OperationReconcile:
		return dropOperation(fmt.Sprintf("operation %s has no effect on a deletion", o.Operation), false)
	case o.needed(staying):
		return o.waitIn(lsv1alpha1.PhaseDeleting, because(lsv1alpha1.ReasonWaitingForSuccessors, fmt.Sprintf(
			"deletion waits for installations that import from this one: %s (to skip the wait, set annotation %s=true)",
			siblingNames(o.Successors),
			lsv1alpha1.DeleteIgnoreSuccessorsAnnotation,
		)))
	case len(left) == 0:
		return Decision{
			Do: []Effect{CleanUp{}, RemoveFinalizer{}}, Wait: true, Why: because(run.ReasonDeleting, "everything below is gone"),
		}
	case o.Phase != lsv1alpha1.PhaseDeleting && len(staying) > 0:
		return Decision{Next: lsv1alpha1.PhaseDeleting, Why: deleting()}
	case len(staying) > 0:
		return beginDeletion(o, staying)
	default:
		return awaitDeletion(o, left)
	}
}

func (o Observed) forced() bool { return o.Operation == lsv1alpha1.OperationForceReconcile }

// needed reports whether others import from the installation, which blocks its deletion until that has started.
func (o Observed) needed(staying []Child) bool {
	begun := len(o.Children)+len(o.Orphaned) > 0 && len(staying) == 0
	return !begun && !o.forced() && !o.IgnoreSuccessors && len(o.Successors) > 0
}

// beginDeletion deletes the objects below. A child that only waits is deleted at once, whatever it waits for.
func beginDeletion(o Observed, staying []Child) Decision {
	waiting := filter(staying, o.onlyWaits)
	busy := filter(staying, func(c Child) bool { return c.Busy() && !o.onlyWaits(c) })
	switch {
	case len(busy) > 0 && !o.forced() && !o.WithoutUninstall:
		return o.informed(busy, o.waitIn(
			o.Phase,
			because(
				lsv1alpha1.ReasonWaitingForSubObjects,
				fmt.Sprintf("deletion waits until %s is completed (to skip the wait, set annotation %s=%s)",
					listed(busy), lsv1alpha1.OperationAnnotation, lsv1alpha1.OperationForceReconcile),
			),
		))
	case len(staying) == len(o.below()) && (len(waiting) == 0 || o.forced()) && o.outdatedBelow():
		return Decision{Do: []Effect{Prepare{}}, Why: because(run.ReasonUpdated, "updating the objects below before deleting them")}
	default:
		return deleteChildren(staying)
	}
}

// informed notifies busy children of a deletion before the installation waits for them: that ends work which only waits for its target.
func (o Observed) informed(busy []Child, wait Decision) Decision {
	unaware := filter(busy, func(c Child) bool { return c.Presence == Present && !c.DeletionAsked })
	if !o.DeletionAsked || len(unaware) == 0 {
		return wait
	}
	return Decision{
		Do:  []Effect{Tell{Children: unaware}},
		Why: because(lsv1alpha1.ReasonWaitingForSubObjects, "notifying "+listed(unaware)+" of the deletion"),
	}
}

// onlyWaits reports whether a child only waits.
func (o Observed) onlyWaits(c Child) bool {
	return c.Presence == Present && c.Phase == lsv1alpha1.PhasePendingDependencies || o.stuck(c)
}

// outdatedBelow reports whether the objects below must be updated first, so that they are uninstalled according to the current spec and
// imports. If imports are missing, that is impossible, and they are deleted as they are: so every deletion ends.
func (o Observed) outdatedBelow() bool {
	return o.Entered && !o.Updated && (o.Changed || len(o.ImportsChanged) > 0) && o.ImportsMissing == nil && !o.WithoutUninstall
}

// deleteChildren precedes the marking of children for force: a child that is not being deleted yet takes the mark for an update.
func deleteChildren(staying []Child) Decision {
	return Decision{Do: []Effect{DeleteChildren{Children: staying}}, Why: deleting()}
}

// awaitDeletion waits for children that are being deleted, unless no further progress is possible.
func awaitDeletion(o Observed, left []Child) Decision {
	stopped, keep := filter(left, notDeletable), filter(left, o.unawareOfKeeping)
	switch strange := o.strangersGoing(); {
	case len(strange) > 0:
		return Decision{Do: []Effect{Convert{Flow: lsv1alpha1.FlowContinuous, Children: strange}}, Why: deleting()}
	case len(keep) > 0:
		return Decision{Do: []Effect{DeleteChildren{Children: keep}}, Why: deleting()}
	case o.Operation != "":
		return passOn(o, left, stopped)
	case len(stopped) < len(left):
		return o.waitIn(lsv1alpha1.PhaseDeleting, because(lsv1alpha1.ReasonWaitingForSubObjects, "waiting for the deletion of "+listed(left)))
	case o.Phase == lsv1alpha1.PhaseFailed:
		return stay(run.ReasonNotDeleted, problems(failed(left)))
	default:
		return Decision{Next: lsv1alpha1.PhaseFailed, Wait: true, Why: because(run.ReasonNotDeleted, problems(failed(left)))}
	}
}

// strangersGoing returns the children in the job flow that are being deleted: in that flow, they would wait for a job. They are deleted
// before they change their flow, so that nothing starts again.
func (o Observed) strangersGoing() []Child {
	return filter(o.misfits(lsv1alpha1.FlowContinuous), func(c Child) bool {
		going := c.Deleting
		c.Deleting = false
		return going && !c.Busy()
	})
}

// passOn passes the operation on to children: force to all, once they are visible, and any other operation to those that have failed. Then
// it removes the annotation.
func passOn(o Observed, left, stopped []Child) Decision {
	untold := stopped
	if o.forced() {
		untold = filter(left, func(c Child) bool {
			return c.Presence == Present && c.Operation != o.Operation
		})
	}
	unseen := filter(left, func(c Child) bool { return c.Presence == Unseen })
	switch {
	case len(untold) > 0:
		return ask(o.Operation, untold)
	case o.forced() && len(unseen) > 0:
		return o.waitIn(lsv1alpha1.PhaseDeleting, because(lsv1alpha1.ReasonWaitingForSubObjects, "waiting for the deletion of "+listed(left)))
	case o.Phase != lsv1alpha1.PhaseDeleting:
		// Once the request is gone, the status must no longer show the failure that the request was to fix.
		return Decision{Next: lsv1alpha1.PhaseDeleting, Why: deleting()}
	default:
		return dropOperation("operation "+string(o.Operation)+" is passed on", true)
	}
}

// notDeletable reports whether a child could not be deleted and does not retry.
func notDeletable(c Child) bool {
	return c.Presence == Present && c.Phase == lsv1alpha1.PhaseFailed && c.UpToDate && !run.Asked(c.Operation)
}

// unawareOfKeeping reports whether a child lacks the mark that what it has installed stays.
func (o Observed) unawareOfKeeping(c Child) bool {
	return c.Presence == Present && o.WithoutUninstall && !c.WithoutUninstall
}

func deleting() decision.Reason { return because(run.ReasonDeleting, "deleting everything below") }

// siblingNames names siblings, and marks those that are also being deleted.
func siblingNames(all []Sibling) string {
	var words []string
	for _, s := range all {
		word := "installation " + s.Name
		if s.Deleting {
			word += ", which is being deleted"
		}
		words = append(words, word)
	}
	return list(words)
}
