// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// reasonNamespaceEnds is the reason if nothing more is done because the namespace is being deleted.
const reasonNamespaceEnds = "NamespaceTerminating"

// decideEnding decides in a namespace that is being deleted, in either flow. The deletion of a namespace deletes everything in it,
// regardless of jobs: so there is no job to pass down. The objects below go first, so that no object is left without the one that manages
// it.
func decideEnding(o Observed) Decision {
	switch {
	case !o.Deleting:
		return Decision{Wait: true, Why: because(reasonNamespaceEnds, "the namespace is being deleted: no new work starts")}
	case !o.Finalizer:
		return rest("waiting for other clients to remove their finalizers")
	}
	if left := present(everyChild(o)); len(left) > 0 {
		return wait(lsv1alpha1.ReasonWaitingForSubObjects, "the namespace is being deleted; waiting for the deletion of "+names(left))
	}
	return Decision{
		Do:   []Effect{RemoveFinalizer{}},
		Wait: true,
		Why:  because(reasonNamespaceEnds, "the namespace is being deleted, and everything below is gone"),
	}
}

// Damaged reports whether another client has removed from the installation what an orderly deletion requires. The label is needed until the
// end; a finalizer can no longer be added once the deletion was requested.
func (o Observed) Damaged() bool {
	return o.LabelLost && (o.Finalizer || !o.Deleting) || !o.Deleting && (len(o.Lost) > 0 || !o.Finalizer && o.Job.ID != "")
}

// DecideRestored is Decide once the metadata that another client has removed is restored: the controller does that first, and then decides
// again in the same pass. So missing metadata delays nothing.
func DecideRestored(o Observed) Decision {
	d := Decide(o)
	for o.Damaged() && !d.Wait {
		for _, effect := range d.Do {
			o = o.AfterMetadata(effect)
		}
		d = Decide(o)
	}
	return d
}

// mend restores what another client has removed, in either flow.
func mend(o Observed) Decision {
	why := because(reasonDamaged, "the finalizer or the label that names the parent was removed")
	if o.LabelLost {
		// The facts are those of a root, and do not apply to a nested installation: the event of this write triggers a new pass.
		return Decision{Do: []Effect{Relabel{Parent: o.Parent}}, Wait: o.Root, Why: why}
	}
	if !o.Finalizer && o.Job.ID != "" {
		return Decision{Do: []Effect{AddFinalizer{}}, Why: why}
	}
	why = because(reasonDamaged, fmt.Sprintf("%s %s was deleted or has lost its labels or its owner", o.Lost[0].Kind, o.Lost[0].Name))
	return Decision{Do: []Effect{Restore{Objects: o.Lost}}, Wait: true, RequeueAfter: time.Millisecond, Why: why}
}
