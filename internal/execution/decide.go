// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/run"
)

// Decide says what to do next. It is total.
func Decide(o Observed) Decision {
	switch {
	case o.NamespaceEnds:
		return decideEnding(o)
	case o.Continuous:
		return Decision{Wait: true, Why: because(ReasonContinuous, "it follows its spec and takes no part in jobs")}
	case !o.Running():
		return rest(o)
	case o.Fresh():
		return start(o)
	case o.InterruptAsked:
		return Decision{Do: []Effect{AcceptInterrupt{JobID: o.Job.ID}}, Why: because(ReasonInterruptAccepted, "job "+o.Job.ID+" is cut short by an annotation")}
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
		return Decision{Wait: true, RequeueAfter: time.Second, Why: because(ReasonDeleting, "whether job "+o.Job.ID+" has started deploy items before it was deleted is not known for certain yet")}
	case o.Removing():
		return Decision{Next: lsv1alpha1.PhaseInitDelete, Why: because(ReasonStarted, "job "+o.Job.ID+" deletes it")}
	default:
		return Decision{Next: lsv1alpha1.PhaseInit, Why: because(ReasonStarted, "job "+o.Job.ID+" has arrived")}
	}
}

// rest is the decision when there is no job to do.
func rest(o Observed) Decision {
	d := Decision{Wait: true, Why: because(lsv1alpha1.ReasonNotStarted, "no job has arrived: the installation passes one on, or somebody writes status.jobID")}
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
		return Decision{Wait: true, RequeueAfter: time.Second, Why: because(ReasonInterruptAccepted, "which deploy items exist is not known for certain yet")}
	}
	var cut []Item
	for _, items := range [][]Item{o.Wanted, o.Orphaned} {
		for _, item := range items {
			if item.CutShort != nil {
				cut = append(cut, item)
			}
		}
	}
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

// failing is why a job ends as failed.
type failing struct {
	doing string
	err   error
	code  string
}

func fail(o Observed, f failing) Decision {
	d := Decision{
		Do: []Effect{Refuse{Doing: f.doing, Err: f.err}}, Next: lsv1alpha1.PhaseFailed, Wait: true,
		Why: because(f.code, f.doing+": "+f.err.Error()),
	}
	if o.Removing() {
		d.Next = lsv1alpha1.PhaseDeleteFailed
	}
	return d
}

func failed(operation, reason string, codes []string, message string) error {
	return failure.Terminalf(failure.Details{Operation: operation, Reason: reason, Codes: codes}, "%s", message)
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

// minRecheck is when to look again at something that is about to be known.
const minRecheck = run.MinRecheck

// recheck is when to look again should no event come.
func (o Observed) recheck() time.Duration { return run.Recheck(o.PhaseSince, o.Now) }
