// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/installation"
)

// deleteInstallation decides about an installation that is being deleted.
func deleteInstallation(o Installation) installation.Decision {
	left := o.every()
	standing := filter(left, func(c installation.Child) bool { return !c.Deleting })
	switch {
	case !o.Finalizer:
		return rest(ReasonDeleting, "it is gone as soon as others let it go")
	case o.Operation != "" && !o.forced() && o.Operation != lsv1alpha1.OperationReconcile:
		return dropOperation(fmt.Sprintf("operation %s has no effect on a deletion", o.Operation), false)
	case o.needed(standing):
		return waitIn(lsv1alpha1.PhaseDeleting, lsv1alpha1.ReasonWaitingForSuccessors, "it is not deleted while others import from it: "+siblings(o.Successors))
	case len(left) == 0:
		return installation.Decision{
			Do: []installation.Effect{installation.CleanUp{}, installation.Release{}}, Wait: true, Why: because(ReasonDeleting, "everything below is gone"),
		}
	case o.Phase != lsv1alpha1.PhaseDeleting && len(standing) > 0:
		return installation.Decision{Next: lsv1alpha1.PhaseDeleting, Why: deleting()}
	case len(standing) > 0:
		return beginDeletion(o, standing)
	default:
		return awaitDeletion(o, left)
	}
}

func (o Installation) forced() bool { return o.Operation == lsv1alpha1.OperationForceReconcile }

// needed tells whether others import from the installation, which holds its deletion until that has begun.
func (o Installation) needed(standing []installation.Child) bool {
	begun := len(o.Children)+len(o.Leaving) > 0 && len(standing) == 0
	return !begun && !o.forced() && !o.IgnoreSuccessors && len(o.Successors) > 0
}

// beginDeletion deletes what is below.
func beginDeletion(o Installation, standing []installation.Child) installation.Decision {
	busy, misfits := filter(standing, Busy), o.misfits(lsv1alpha1.FlowContinuous)
	switch {
	case len(busy) > 0 && !o.forced():
		return waitIn(o.Phase, lsv1alpha1.ReasonWaitingForSubObjects, fmt.Sprintf("before it is deleted, %s has to be completed (annotation %s=%s does not wait)",
			names(busy), lsv1alpha1.OperationAnnotation, lsv1alpha1.OperationForceReconcile))
	case len(misfits) > 0:
		return installation.Decision{Do: []installation.Effect{installation.Convert{Flow: lsv1alpha1.FlowContinuous, Children: misfits}}, Why: deleting()}
	case len(standing) == len(o.every()) && o.Entered && !o.Updated && (o.Changed || len(o.ImportsChanged) > 0):
		return updateBeforeDeletion(o, standing)
	default:
		return deleteChildren(standing)
	}
}

// updateBeforeDeletion brings what is below up to date: what it has installed is removed as the present spec and imports
// say. With force, what cannot be brought up to date is deleted as it is.
func updateBeforeDeletion(o Installation, standing []installation.Child) installation.Decision {
	switch {
	case o.ImportsMissing == nil:
		return installation.Decision{Do: []installation.Effect{installation.Prepare{}}, Why: because(ReasonUpdated, "what is below is updated before it is deleted")}
	case o.forced():
		return deleteChildren(standing)
	default:
		return raise(o.ImportsMissing)
	}
}

// deleteChildren comes before children are told of force: one that is not deleted yet would take that for an update.
func deleteChildren(standing []installation.Child) installation.Decision {
	return installation.Decision{Do: []installation.Effect{installation.DeleteChildren{Children: standing}}, Why: deleting()}
}

// awaitDeletion waits for children that are being deleted, unless nothing more can be expected of them.
func awaitDeletion(o Installation, left []installation.Child) installation.Decision {
	failed, keep := filter(left, notDeletable), filter(left, o.unawareOfKeeping)
	switch {
	case len(keep) > 0:
		return installation.Decision{Do: []installation.Effect{installation.DeleteChildren{Children: keep}}, Why: deleting()}
	case o.Operation != "":
		return passOn(o, left, failed)
	case len(failed) < len(left):
		return waitIn(lsv1alpha1.PhaseDeleting, lsv1alpha1.ReasonWaitingForSubObjects, "waiting for the deletion of "+names(left))
	case o.Phase == lsv1alpha1.PhaseFailed:
		return rest(ReasonNotDeleted, problems(left))
	default:
		return installation.Decision{Next: lsv1alpha1.PhaseFailed, Wait: true, Why: because(ReasonNotDeleted, problems(left))}
	}
}

// passOn tells children what the installation is asked for: of force all, as soon as they can be seen, and of anything else
// those that have failed. Then the annotation goes.
func passOn(o Installation, left, failed []installation.Child) installation.Decision {
	untold := failed
	if o.forced() {
		untold = filter(left, func(c installation.Child) bool {
			return c.Presence == installation.Present && c.Operation != o.Operation
		})
	}
	unseen := filter(left, func(c installation.Child) bool { return c.Presence == installation.Unseen })
	switch {
	case len(untold) > 0:
		return ask(o.Operation, untold)
	case o.forced() && len(unseen) > 0:
		return waitIn(lsv1alpha1.PhaseDeleting, lsv1alpha1.ReasonWaitingForSubObjects, "waiting for the deletion of "+names(left))
	default:
		return dropOperation("operation "+string(o.Operation)+" is passed on", true)
	}
}

// notDeletable tells whether a child could not be deleted and tries no more.
func notDeletable(c installation.Child) bool {
	return c.Presence == installation.Present && c.Phase == lsv1alpha1.PhaseFailed && c.UpToDate && !asked(c.Operation)
}

// unawareOfKeeping tells whether a child does not know that what it has installed stays.
func (o Installation) unawareOfKeeping(c installation.Child) bool {
	return c.Presence == installation.Present && o.WithoutUninstall && !c.WithoutUninstall
}

func deleting() decision.Reason { return because(ReasonDeleting, "everything below is deleted") }

// siblings names siblings, and whether they are going as well.
func siblings(all []installation.Sibling) string {
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
