// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"slices"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// decideJob returns what an execution in the job flow does next. It is total.
func decideJob(o Observed) Decision {
	switch {
	case !o.Running():
		return rest(o)
	case o.Fresh():
		return start(o)
	case !o.Finalizer && !o.Deleted && !o.preparing():
		return Decision{Do: []Effect{AddFinalizer{}}, Why: because(run.ReasonHeld, "the finalizer was removed during the job")}
	case o.InterruptAsked:
		return Decision{
			Do:  []Effect{AcceptInterrupt{JobID: o.Job.ID}},
			Why: because(ReasonInterruptAccepted, "job "+o.Job.ID+" is interrupted by an annotation"),
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

// start starts a job that has arrived.
func start(o Observed) Decision {
	switch {
	case o.undetermined():
		return Decision{
			Wait:         true,
			RequeueAfter: time.Second,
			Why: because(
				ReasonDeleting,
				"waiting until the API server confirms whether job "+o.Job.ID+" started deploy items before the deletion",
			),
		}
	case o.Removing():
		return Decision{Next: lsv1alpha1.PhaseInitDelete, Why: because(ReasonStarted, "job "+o.Job.ID+" deletes the execution")}
	default:
		return Decision{Next: lsv1alpha1.PhaseInit, Why: because(ReasonStarted, "starting job "+o.Job.ID)}
	}
}

// rest decides when there is no unfinished job.
func rest(o Observed) Decision {
	d := Decision{
		Wait: true,
		Why:  because(lsv1alpha1.ReasonNotStarted, "no job yet: wait for one from the installation, or set status.jobID"),
	}
	switch {
	case o.Deleted:
		d.Why.Message = "being deleted, but no job yet: wait for one from the installation, or set status.jobID"
	case o.Job.ID != "":
		d.Why = because(string(o.Phase), "job "+o.Job.ID+" has finished")
	}
	if o.InterruptAsked {
		d.Do = []Effect{DropInterrupt{}}
	}
	if !o.Finalizer && !o.Deleted && o.Job.ID != "" {
		d.Do = append(d.Do, AddFinalizer{}) // another client has removed it
	}
	return d
}

// interrupt ends a job that was cut short: nothing more starts, and unfinished items fail.
func interrupt(o Observed) Decision {
	if !o.Complete {
		return Decision{
			Wait:         true,
			RequeueAfter: time.Second,
			Why:          because(ReasonInterruptAccepted, "waiting until the API server confirms which deploy items exist"),
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
		message += ", which is busy with another job"
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
