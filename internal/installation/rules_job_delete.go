// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/run"
)

// decideJobDeletion decides in the phases of a job that deletes.
func decideJobDeletion(o Observed) Decision {
	switch o.Phase {
	case lsv1alpha1.PhaseInitDelete:
		return decideInitDelete(o)
	case lsv1alpha1.PhaseTriggerDelete:
		return Decision{Next: lsv1alpha1.PhaseDeleting, Why: waitingForDeletion()}
	default:
		return decideDeleting(o)
	}
}

// decideInitDelete keeps the installation while others need its exports.
func decideInitDelete(o Observed) Decision {
	if o.Interrupt {
		return interrupted(o)
	}
	if !o.IgnoreSuccessors && len(o.Successors) > 0 {
		return awaitSuccessors(o)
	}
	d := Decision{Next: lsv1alpha1.PhaseTriggerDelete, Why: waitingForDeletion()}
	if left := untold(o); len(left) > 0 {
		d.Do = []Effect{DeleteChildren{Children: left}}
	}
	return d
}

// untold returns the children that are not marked as part of the deletion, or not with its current options: these may have been chosen
// after a first attempt to delete them.
func untold(o Observed) []Child {
	return filter(everyChild(o), func(c Child) bool {
		return c.Presence == Present && (!c.Deleting || o.WithoutUninstall && !c.WithoutUninstall)
	})
}

// awaitSuccessors waits for the siblings that import from the installation. A nested sibling that could not be deleted in this job is not
// awaited: the deletion fails.
func awaitSuccessors(o Observed) Decision {
	var waiting []string
	for _, s := range o.Successors {
		if !o.Root && s.Job.ID == o.Job.ID && !s.Job.Running() && s.Deleting {
			return fail(o, reasonSuccessorLeft, fmt.Sprintf("installation %s, which imports from this one, could not be deleted", s.Name))
		}
		what := "installation " + s.Name
		if !s.Deleting {
			what += ", which is not being deleted"
		}
		waiting = append(waiting, what)
	}
	d := wait(lsv1alpha1.ReasonWaitingForSuccessors, "waiting for the deletion of "+list(waiting)+", which imports from this one"+o.since())
	d.DeferStatusWrite = !o.Root // as when it waits for predecessors
	return d
}

// decideDeleting passes the job down and waits until all children are gone.
func decideDeleting(o Observed) Decision {
	left := present(everyChild(o))
	if len(left) == 0 {
		return Decision{
			Do:   []Effect{CleanUp{}, RemoveFinalizer{}},
			Wait: true,
			Why:  because(string(lsv1alpha1.PhaseDeleting), "everything below is gone"),
		}
	}
	if unmarked := untold(o); len(unmarked) > 0 {
		return Decision{Do: []Effect{DeleteChildren{Children: unmarked}}, Why: waitingForDeletion()}
	}
	if untold := without(left, o.Job.ID); len(untold) > 0 {
		return Decision{SaveFirst: true, Do: []Effect{PropagateJob{Children: untold}}, Why: waitingForDeletion()}
	}
	busy := running(left, o.Job.ID)
	if o.Interrupt {
		return Decision{Do: []Effect{Interrupt{Children: busy}, DropOperation{}}, Why: waitingForDeletion()}
	}
	if len(busy) > 0 {
		why := waitingForDeletion()
		return wait(why.Code, why.Message)
	}
	return fail(o, run.ReasonSubObjectFailed, problems(left))
}

func everyChild(o Observed) []Child {
	return append(append([]Child(nil), o.Children...), o.Orphaned...)
}

// undeleted returns the children whose deletion was not requested.
func undeleted(children []Child) []Child {
	return filter(children, func(c Child) bool { return c.Presence == Present && !c.Deleting })
}

// The messages of waiting do not change while children finish one after another: each change would cost a write.

func waitingForChildren(children []Child) decision.Reason {
	return because(lsv1alpha1.ReasonWaitingForSubObjects, "waiting for "+count(children))
}

func waitingForOrphans() decision.Reason {
	return because(lsv1alpha1.ReasonWaitingForOrphans, "waiting for the deletion of what the blueprint no longer contains")
}

func waitingForDeletion() decision.Reason {
	return because(lsv1alpha1.ReasonWaitingForSubObjects, "waiting for the deletion of everything below")
}

// count returns the number of children in words.
func count(children []Child) string {
	nested, execution := 0, ""
	for _, c := range children {
		if c.Kind == ChildExecution {
			execution = c.String()
		} else {
			nested++
		}
	}
	installations := fmt.Sprintf("%d nested installations", nested)
	if nested == 1 {
		installations = "one nested installation"
	}
	switch {
	case nested == 0:
		return execution
	case execution == "":
		return installations
	default:
		return installations + " and " + execution
	}
}
