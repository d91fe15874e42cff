// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// reasonNamespaceEnds says that nothing is done any more because the namespace is being deleted.
const reasonNamespaceEnds = "NamespaceTerminating"

// decideEnding decides in a namespace that is being deleted. Whoever deletes the namespace asks everything in it to go, in either flow and
// whatever runs: so there is no job to hand down. What is below goes first, so that nobody is left without the one who looks after it.
func decideEnding(o Observed) Decision {
	switch {
	case !o.Deleting:
		return Decision{Wait: true, Why: because(reasonNamespaceEnds, "the namespace is being deleted, and nothing is begun in it any more")}
	case !o.Finalizer:
		return rest("the installation is gone as soon as others let it go")
	}
	if left := present(everyChild(o)); len(left) > 0 {
		return wait(lsv1alpha1.ReasonWaitingForSubObjects, "the namespace is being deleted; waiting for the end of "+names(left))
	}
	return Decision{
		Do:   []Effect{RemoveFinalizer{}},
		Wait: true,
		Why:  because(reasonNamespaceEnds, "the namespace is being deleted, and everything below is gone"),
	}
}

// Damaged reports whether somebody has taken away from the installation what it needs in order to be deleted in an orderly way. The label
// is needed until the end; a finalizer cannot be added any more once the deletion was asked for.
func (o Observed) Damaged() bool {
	return o.LabelLost && (o.Finalizer || !o.Deleting) || !o.Deleting && (len(o.Lost) > 0 || !o.Finalizer && o.Job.ID != "")
}

// mend restores what somebody has taken away, in either flow.
func mend(o Observed) Decision {
	why := because(reasonDamaged, "somebody has removed the finalizer, or the label that names the parent")
	if o.LabelLost {
		// What is known of a root does not hold for a nested installation: the write brings it back.
		return Decision{Do: []Effect{Relabel{Parent: o.Parent}}, Wait: o.Root, Why: why}
	}
	if !o.Finalizer && o.Job.ID != "" {
		return Decision{Do: []Effect{AddFinalizer{}}, Why: why}
	}
	why = because(reasonDamaged, fmt.Sprintf("somebody has deleted %s %s", o.Lost[0].Kind, o.Lost[0].Name))
	return Decision{Do: []Effect{Restore{Objects: o.Lost}}, Wait: true, RequeueAfter: time.Millisecond, Why: why}
}
