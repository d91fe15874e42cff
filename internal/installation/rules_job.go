// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// decideJob decides in the job flow.
func decideJob(o Observed) Decision {
	switch {
	case o.StrayRequest:
		return Decision{
			Do:  []Effect{DropOperation{}},
			Why: because(run.ReasonRequested, "only a root installation accepts requests for jobs: start the job at the root of this tree"),
		}
	case !o.Job.Running() && o.FlowOnly:
		return Decision{Do: []Effect{Observe{}}, Why: because(run.ReasonIdle, "only the flow has changed")}
	case !o.Job.Running():
		return decideBeginning(o)
	case o.Phase == "" || o.Phase.IsFinal():
		return begin(o, "the parent passed the job on")
	case o.Phase.IsDeletion():
		return afterChildren(o, decideJobDeletion(o))
	default:
		return afterChildren(o, decideJobRun(o))
	}
}

// afterChildren delays the end of the job while children work on it, whatever the reason for the end.
func afterChildren(o Observed, d Decision) Decision {
	if !d.Next.IsFinal() {
		return d
	}
	working := filter(everyChild(o), func(c Child) bool { return c.has(o.Job.ID) && c.Job.Running() })
	if len(working) == 0 {
		return thenMore(o, d)
	}
	held := wait(lsv1alpha1.ReasonWaitingForSubObjects, fmt.Sprintf("%s; waiting for %s%s", d.Why.Message, names(working), o.since()))
	if o.Interrupt {
		held.Do = []Effect{Interrupt{Children: working}}
	}
	return held
}

// thenMore triggers another pass right after the end of a job if the next job is already due. That pass needs new facts: the present ones
// belong to the job that ends.
func thenMore(o Observed, d Decision) Decision {
	if o.Root && (o.Request.Asked || o.Request.GrantedID != o.Job.RequestedID || o.Deleting || o.IfChanged || o.Scheduled) {
		d.RequeueAfter = time.Millisecond
	}
	return d
}

// decideBeginning decides about an installation without an unfinished job.
func decideBeginning(o Observed) Decision {
	switch {
	case o.Interrupt && !o.adopts():
		return Decision{Do: []Effect{DropOperation{}}, Why: because(run.ReasonIdle, "nothing to interrupt")}
	case o.Deleting && !o.Finalizer:
		return rest("waiting for other clients to remove their finalizers")
	case !o.Root:
		return awaitParent(o)
	case len(o.UntoldSuccessors) > 0 && !o.Deleting:
		return Decision{
			Do:  []Effect{Notify{Successors: o.UntoldSuccessors}},
			Why: because(run.ReasonIdle, "successors have not been notified yet"),
		}
	case o.beginsDeletion():
		return begin(o, "the installation is being deleted")
	}
	return decideOpening(o)
}

// decideOpening starts a job that was requested or is due, unless the installation is suspended.
func decideOpening(o Observed) Decision {
	if o.HeldBack() {
		return keepStill(o)
	}
	switch o.Job.Open(o.Request) {
	case run.OpenByGrant:
		return grant(o)
	case run.OpenByAdoption:
		return begin(o, "a job was requested")
	}
	return decideByItself(o)
}

// adopts reports whether a request was granted and its job is not yet in the status. The job may nevertheless have started, in a pass whose
// status write was rejected because of the interrupt that is pending now: the job starts, and is interrupted.
func (o Observed) adopts() bool {
	return o.Root && !o.beginsDeletion() && o.Job.Open(o.Request) == run.OpenByAdoption
}

// tellAfter is the delay before the status reports that a nested installation has no job yet. Usually its parent passes one down at once,
// and the report would cost a write.
const tellAfter = 30 * time.Second

// awaitParent waits for a job of the parent. A nested installation that never had one reports that after a delay, or at once if it was
// created by hand.
func awaitParent(o Observed) Decision {
	d := rest("no new job from the parent")
	if o.Job.ID != "" || o.Phase != "" {
		return d
	}
	if wait := o.Created.Add(tellAfter).Sub(o.Now); wait > 0 && !o.ByHand {
		d.RequeueAfter = wait
		return d
	}
	d.Why = because(
		run.ReasonNotRequested,
		fmt.Sprintf("No job yet: the parent, installation %s, passes one down with its next job", o.Parent),
	)
	return d
}

// beginsDeletion reports whether a deletion starts without a request. A failed deletion restarts only if children lack the mark that what
// was installed stays.
func (o Observed) beginsDeletion() bool {
	return o.Deleting && (o.Phase != lsv1alpha1.PhaseDeleteFailed || o.MayGiveUp() && len(untold(o)) > 0)
}

// MayGiveUp reports whether a deletion that must leave what was installed has failed.
func (o Observed) MayGiveUp() bool {
	return o.Root && o.Deleting && o.Phase == lsv1alpha1.PhaseDeleteFailed && o.WithoutUninstall
}

// grant grants a request. A client that sees that the request is gone must not find the result of the previous job in the status.
func grant(o Observed) Decision {
	d := Decision{Do: []Effect{Grant{}}, SaveFirst: true, Why: because(run.ReasonRequested, "a job was requested")}
	if !o.Announced {
		d.Do, d.SaveFirst = []Effect{Announce{}}, false
	}
	return d
}

// decideByItself starts automatic jobs.
func decideByItself(o Observed) Decision {
	if o.Deleting {
		return rest("the deletion failed; start a new job to retry")
	}
	switch {
	case o.IfChanged && o.Changed:
		return held(o, begin(o, "the spec has changed"))
	case o.Automatic.Due.IsZero() && o.Job.ID == "" && o.Phase == "":
		return Decision{Wait: true, Why: because(run.ReasonNotRequested,
			fmt.Sprintf("No job requested yet: set the annotation %s=%s", lsv1alpha1.OperationAnnotation, lsv1alpha1.OperationReconcile))}
	case o.Automatic.Due.IsZero():
		return rest("no job requested")
	case o.Automatic.Due.After(o.Now):
		d := rest("the next automatic job is due at " + o.Automatic.Due.UTC().Format(time.RFC3339))
		d.RequeueAfter = o.Automatic.Due.Sub(o.Now)
		return d
	default:
		return held(o, begin(o, "an automatic job is due"))
	}
}

// begin starts a job. Settle derives its ID from the same facts.
func begin(o Observed, why string) Decision {
	if o.Deleting {
		return Decision{Next: lsv1alpha1.PhaseInitDelete, Why: because(string(lsv1alpha1.PhaseInitDelete), why)}
	}
	return Decision{Next: lsv1alpha1.PhaseInit, Why: because(string(lsv1alpha1.PhaseInit), why)}
}

// held adds the finalizer before anything else happens.
func held(o Observed, d Decision) Decision {
	if !o.Finalizer {
		d.Do = append([]Effect{AddFinalizer{}}, d.Do...)
	}
	return d
}

// fail ends the job.
func fail(o Observed, code, message string) Decision {
	next := lsv1alpha1.PhaseFailed
	if o.Phase.IsDeletion() {
		next = lsv1alpha1.PhaseDeleteFailed
	}
	return Decision{Next: next, Wait: true, Why: because(code, message)}
}

// overtaken ends a job that has not installed anything yet, because the deletion was requested.
func overtaken(o Observed) Decision {
	return fail(o, lsv1alpha1.ReasonInterrupted, "interrupted before anything was installed, because deletion was requested")
}

// interrupted ends the job on request.
func interrupted(o Observed) Decision {
	d := fail(o, lsv1alpha1.ReasonInterrupted, "interrupted by the operation annotation")
	d.Do = []Effect{DropOperation{}}
	return d
}
