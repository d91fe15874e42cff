// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/run"
)

// deleteContinuously deletes the items in reverse order, and then releases the execution.
func deleteContinuously(o Observed) Decision {
	failed, do := failedDeletions(o.Orphaned), deletions(o)
	switch {
	case !o.Finalizer:
		return idle(run.ReasonDeleting, "waiting for other clients to remove their finalizers")
	case o.Operation != "":
		return answerDeletion(o, failed)
	case len(do) > 0 && o.Phase == lsv1alpha1.PhaseDeleting:
		return Decision{Do: do, Why: deleting()}
	case len(do) == 0 && len(failed) > 0:
		return failDeletion(o, failed)
	case o.Phase != lsv1alpha1.PhaseDeleting:
		return Decision{Next: lsv1alpha1.PhaseDeleting, Why: deleting()}
	case len(o.Orphaned) > 0:
		return waitForItems(o, "waiting for the deletion of deploy items "+list(o.Orphaned))
	case !o.Complete:
		return Decision{
			Wait:         true,
			RequeueAfter: time.Second,
			Why:          because(run.ReasonDeleting, "waiting until the API server confirms that all deploy items are gone"),
		}
	default:
		return letGo(o)
	}
}

func deleting() decision.Reason { return because(run.ReasonDeleting, "deleting everything below") }

// deletions returns what can be deleted now: before that, all items are marked if what they have deployed stays.
func deletions(o Observed) []Effect {
	if keep := keepDeployed(o); len(keep) > 0 {
		return keep
	}
	if ready := deletable(o.Orphaned); len(ready) > 0 {
		return []Effect{DeleteItems{Items: ready}}
	}
	if strange := strangersGoing(o.Orphaned); len(strange) > 0 {
		return []Effect{ConvertItems{Flow: lsv1alpha1.FlowContinuous, Items: strange}}
	}
	return nil
}

// strangersGoing returns the items in the job flow that are being deleted: in that flow, they would wait for a job. They are deleted
// before they change their flow, so that nothing starts again.
func strangersGoing(orphans []Item) []Item {
	return filter(orphans, func(i Item) bool { return i.Terminating && i.Flow == lsv1alpha1.FlowJob })
}

// answerDeletion retries items that could not be deleted, on request.
func answerDeletion(o Observed, failed []Item) Decision {
	if len(failed) > 0 && run.Asked(o.Operation) && o.Operation != lsv1alpha1.OperationAbort {
		return Decision{Do: []Effect{AskItems{Operation: o.Operation, Items: failed}}, Why: deleting()}
	}
	return Decision{Do: []Effect{DropOperation{}}, Why: deleting()}
}

// failDeletion reports that items could not be deleted, unless that was reported before.
func failDeletion(o Observed, failed []Item) Decision {
	d := idle(run.ReasonNotDeleted, "deploy items could not be deleted: "+problemsOf(failed))
	if o.Phase != lsv1alpha1.PhaseFailed {
		d.Next = lsv1alpha1.PhaseFailed
	}
	return d
}

// deletable returns the objects whose deletion was not requested and that no other one depends on.
func deletable(orphans []Item) []Item {
	needed := neededObjects(orphans)
	return filter(orphans, func(i Item) bool { return !i.Terminating && !needed[i.Object.Name] })
}

// failedDeletions returns the objects whose deletion was requested and has failed.
func failedDeletions(orphans []Item) []Item {
	return filter(orphans, func(i Item) bool { return i.Terminating && i.State == StateFailed })
}
