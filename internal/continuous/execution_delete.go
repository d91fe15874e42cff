// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/run"
)

// deleteExecution deletes the items in reverse order, and then lets the execution go.
func deleteExecution(o Execution) execution.Decision {
	failed, do := failedDeletions(o.Orphaned), deletions(o)
	switch {
	case !o.Finalizer:
		return idle(run.ReasonDeleting, "it is gone as soon as others let it go")
	case o.Operation != "":
		return answerDeletion(o, failed)
	case len(do) > 0 && o.Phase == lsv1alpha1.PhaseDeleting:
		return execution.Decision{Do: do, Why: deleting()}
	case len(do) == 0 && len(failed) > 0:
		return failDeletion(o, failed)
	case o.Phase != lsv1alpha1.PhaseDeleting:
		return execution.Decision{Next: lsv1alpha1.PhaseDeleting, Why: deleting()}
	case len(o.Orphaned) > 0:
		return waitForItems(o, "waiting for the deletion of deploy items "+execution.Names(o.Orphaned))
	case !o.Complete:
		return execution.Decision{Wait: true, RequeueAfter: time.Second, Why: because(run.ReasonDeleting, "whether all deploy items are gone is not known for certain yet")}
	default:
		return execution.LetGo(o.Observed)
	}
}

// deletions are what can be done now: all items know first whether what they have deployed stays.
func deletions(o Execution) []execution.Effect {
	if keep := execution.KeepingDeployed(o.Observed); len(keep) > 0 {
		return keep
	}
	if ready := deletable(o.Orphaned); len(ready) > 0 {
		return []execution.Effect{execution.DeleteItems{Items: ready}}
	}
	if strange := strangersGoing(o.Orphaned); len(strange) > 0 {
		return []execution.Effect{execution.ConvertItems{Flow: lsv1alpha1.FlowContinuous, Items: strange}}
	}
	return nil
}

// strangersGoing are the items of the job flow that were asked to go: there they would wait for a job. They are deleted before
// they change their flow, so that nothing begins anew.
func strangersGoing(leaving []execution.Item) []execution.Item {
	var strange []execution.Item
	for _, item := range leaving {
		if item.Terminating && item.Flow == lsv1alpha1.FlowJob {
			strange = append(strange, item)
		}
	}
	return strange
}

// answerDeletion has items that could not be deleted try again, if that is asked for.
func answerDeletion(o Execution, failed []execution.Item) execution.Decision {
	if len(failed) > 0 && run.Asked(o.Operation) && o.Operation != lsv1alpha1.OperationAbort {
		return execution.Decision{Do: []execution.Effect{execution.AskItems{Operation: o.Operation, Items: failed}}, Why: deleting()}
	}
	return execution.Decision{Do: []execution.Effect{execution.DropOperation{}}, Why: deleting()}
}

// failDeletion says that items could not be deleted, unless that was said before.
func failDeletion(o Execution, failed []execution.Item) execution.Decision {
	d := idle(run.ReasonNotDeleted, notDeleted(failed))
	if o.Phase != lsv1alpha1.PhaseFailed {
		d.Next = lsv1alpha1.PhaseFailed
	}
	return d
}

// NeedsComplete tells whether the next decision needs to know for certain which objects exist: an abort must miss none, and
// a deletion ends when none is left.
func NeedsComplete(o Execution) bool {
	return !o.Complete && (o.Operation == lsv1alpha1.OperationAbort || o.Deleted && len(o.Orphaned) == 0)
}

func notDeleted(items []execution.Item) string {
	text, _ := execution.Problems(items)
	return "deploy items could not be deleted: " + text
}

// deletable are the objects that were not asked to go and that no other one depends on.
func deletable(leaving []execution.Item) []execution.Item {
	needed := execution.Needed(leaving)
	var ready []execution.Item
	for _, item := range leaving {
		if !item.Terminating && !needed[item.Object.Name] {
			ready = append(ready, item)
		}
	}
	return ready
}

// failedDeletions are the objects that were asked to go and will not.
func failedDeletions(leaving []execution.Item) []execution.Item {
	var failed []execution.Item
	for _, item := range leaving {
		if item.Terminating && item.State == execution.StateFailed {
			failed = append(failed, item)
		}
	}
	return failed
}
