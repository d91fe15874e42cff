// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"slices"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// decideJob says what an execution of the job flow does next. It is total.
func decideJob(o Observed) Decision {
	switch {
	case !o.Running():
		return rest(o)
	case o.Fresh():
		return start(o)
	case o.InterruptAsked:
		return Decision{
			Do:  []Effect{AcceptInterrupt{JobID: o.Job.ID}},
			Why: because(ReasonInterruptAccepted, "job "+o.Job.ID+" is cut short by an annotation"),
		}
	case o.Interrupted:
		return interrupt(o)
	case o.Removing():
		return remove(o)
	case o.preparing():
		return prepare(o)
	case o.Phase == lsv1alpha1.PhaseCompleting:
		return complete(o)
	default:
		return progress(o)
	}
}

// start begins a job that has arrived.
func start(o Observed) Decision {
	switch {
	case o.undetermined():
		return Decision{
			Wait:         true,
			RequeueAfter: time.Second,
			Why: because(
				ReasonDeleting,
				"whether job "+o.Job.ID+" has started deploy items before it was deleted is not known for certain yet",
			),
		}
	case o.Removing():
		return Decision{Next: lsv1alpha1.PhaseInitDelete, Why: because(ReasonStarted, "job "+o.Job.ID+" deletes it")}
	default:
		return Decision{Next: lsv1alpha1.PhaseInit, Why: because(ReasonStarted, "job "+o.Job.ID+" has arrived")}
	}
}

// rest is the decision when there is no job to do.
func rest(o Observed) Decision {
	d := Decision{
		Wait: true,
		Why:  because(lsv1alpha1.ReasonNotStarted, "no job has arrived: the installation passes one on, or somebody writes status.jobID"),
	}
	switch {
	case o.Deleted:
		d.Why.Message = "it is being deleted, and no job for that has arrived: the installation passes one on, or somebody writes status.jobID"
	case o.Job.ID != "":
		d.Why = because(string(o.Phase), "job "+o.Job.ID+" has finished")
	}
	if o.InterruptAsked {
		d.Do = []Effect{DropInterrupt{}}
	}
	if !o.Finalizer && !o.Deleted && o.Job.ID != "" {
		d.Do = append(d.Do, AddFinalizer{}) // somebody has removed it
	}
	return d
}

// interrupt ends a job that was cut short. Nothing is started any more, and what has not finished fails.
func interrupt(o Observed) Decision {
	if !o.Complete {
		return Decision{
			Wait:         true,
			RequeueAfter: time.Second,
			Why:          because(ReasonInterruptAccepted, "which deploy items exist is not known for certain yet"),
		}
	}
	cut := filter(slices.Concat(o.Wanted, o.Orphaned), func(i Item) bool { return i.CutShort != nil })
	message := o.cut()
	if len(cut) > 0 {
		message += "; unfinished deploy items: " + list(cut)
	}
	d := fail(o, failing{doing: "run the job", err: interruptError(message), code: lsv1alpha1.ReasonInterrupted})
	if len(cut) > 0 {
		d.Do = append([]Effect{InterruptItems{Items: cut}}, d.Do...)
	}
	return d
}

// await is the decision to wait for an item.
func (o Observed) await(code string, item Item) Decision {
	message := "waiting for deploy item " + item.String()
	switch {
	case item.State == StateBusy:
		message += ", which another job works on"
	case item.State == StateUnseen:
		message += ", which is not visible yet"
	case item.Terminating:
		message += ", which is being deleted"
	}
	if !item.Since.IsZero() && item.working() {
		message += ", since " + item.Since.UTC().Format(time.RFC3339)
	}
	return Decision{Wait: true, Why: because(code, message), RequeueAfter: o.recheck()}
}
