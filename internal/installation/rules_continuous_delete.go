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
		return stay(run.ReasonDeleting, "it is gone as soon as others let it go")
	case o.Operation != "" && !o.forced() && o.Operation != lsv1alpha1.OperationReconcile:
		return dropOperation(fmt.Sprintf("operation %s has no effect on a deletion", o.Operation), false)
	case o.needed(staying):
		return o.waitIn(lsv1alpha1.PhaseDeleting, because(lsv1alpha1.ReasonWaitingForSuccessors, fmt.Sprintf(
			"it is not deleted while others import from it: %s (annotation %s=true does not wait)",
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

// needed reports whether others import from the installation, which holds its deletion until that has begun.
func (o Observed) needed(staying []Child) bool {
	begun := len(o.Children)+len(o.Orphaned) > 0 && len(staying) == 0
	return !begun && !o.forced() && !o.IgnoreSuccessors && len(o.Successors) > 0
}

// beginDeletion deletes what is below. What only waits is deleted at once, whatever it waits for.
func beginDeletion(o Observed, staying []Child) Decision {
	waiting := filter(staying, o.onlyWaits)
	busy := filter(staying, func(c Child) bool { return c.Busy() && !o.onlyWaits(c) })
	switch {
	case len(busy) > 0 && !o.forced() && !o.WithoutUninstall:
		return o.waitIn(
			o.Phase,
			because(
				lsv1alpha1.ReasonWaitingForSubObjects,
				fmt.Sprintf("before it is deleted, %s has to be completed (annotation %s=%s does not wait)",
					listed(busy), lsv1alpha1.OperationAnnotation, lsv1alpha1.OperationForceReconcile),
			),
		)
	case len(staying) == len(o.below()) && (len(waiting) == 0 || o.forced()) && o.outdatedBelow():
		return Decision{Do: []Effect{Prepare{}}, Why: because(run.ReasonUpdated, "what is below is updated before it is deleted")}
	default:
		return deleteChildren(staying)
	}
}

// onlyWaits reports whether a child does nothing but wait.
func (o Observed) onlyWaits(c Child) bool {
	return c.Presence == Present && c.Phase == lsv1alpha1.PhasePendingDependencies || o.stuck(c)
}

// outdatedBelow reports whether what is below is to be brought up to date, so that what it has installed is removed as the
// present spec and imports say. Without its imports that is not possible, and it is deleted as it is: so every deletion ends.
func (o Observed) outdatedBelow() bool {
	return o.Entered && !o.Updated && (o.Changed || len(o.ImportsChanged) > 0) && o.ImportsMissing == nil && !o.WithoutUninstall
}

// deleteChildren comes before children are told of force: one that is not deleted yet would take that for an update.
func deleteChildren(staying []Child) Decision {
	return Decision{Do: []Effect{DeleteChildren{Children: staying}}, Why: deleting()}
}

// awaitDeletion waits for children that are being deleted, unless nothing more can be expected of them.
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

// strangersGoing are the children of the job flow that were asked to go: there they would wait for a job. They are deleted before
// they change their flow, so that nothing begins anew.
func (o Observed) strangersGoing() []Child {
	return filter(o.misfits(lsv1alpha1.FlowContinuous), func(c Child) bool {
		going := c.Deleting
		c.Deleting = false
		return going && !c.Busy()
	})
}

// passOn tells children what the installation is asked for: of force all, as soon as they can be seen, and of anything else
// those that have failed. Then the annotation goes.
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
	default:
		return dropOperation("operation "+string(o.Operation)+" is passed on", true)
	}
}

// notDeletable reports whether a child could not be deleted and tries no more.
func notDeletable(c Child) bool {
	return c.Presence == Present && c.Phase == lsv1alpha1.PhaseFailed && c.UpToDate && !run.Asked(c.Operation)
}

// unawareOfKeeping reports whether a child does not know that what it has installed stays.
func (o Observed) unawareOfKeeping(c Child) bool {
	return c.Presence == Present && o.WithoutUninstall && !c.WithoutUninstall
}

func deleting() decision.Reason { return because(run.ReasonDeleting, "everything below is deleted") }

// siblingNames names siblings, and whether they are going as well.
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
