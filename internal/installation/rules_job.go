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
			Why: because(run.ReasonRequested, "only a root installation can be asked for a job: ask the root of this tree"),
		}
	case !o.Job.Running() && o.FlowOnly:
		return Decision{Do: []Effect{Observe{}}, Why: because(run.ReasonIdle, "nothing but the flow has changed")}
	case !o.Job.Running():
		return decideBeginning(o)
	case o.Phase == "" || o.Phase.IsFinal():
		return begin(o, "the job was handed down")
	case o.Phase.IsDeletion():
		return afterChildren(o, decideJobDeletion(o))
	default:
		return afterChildren(o, decideJobRun(o))
	}
}

// afterChildren holds an end back while children work on the job, whatever the reason for the end is.
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

// thenMore has an installation looked at again right after the end of a job if the next one is wanted already. It needs a
// new look: the facts are those of the job that ends.
func thenMore(o Observed, d Decision) Decision {
	if o.Root && (o.Request.Asked || o.Request.GrantedID != o.Job.RequestedID || o.Deleting || o.IfChanged || o.Scheduled) {
		d.RequeueAfter = time.Millisecond
	}
	return d
}

// decideBeginning decides about an installation that has no job to do.
func decideBeginning(o Observed) Decision {
	switch {
	case o.Interrupt && !o.adopts():
		return Decision{Do: []Effect{DropOperation{}}, Why: because(run.ReasonIdle, "there is nothing to interrupt")}
	case o.Deleting && !o.Finalizer:
		return rest("the installation is gone as soon as others let it go")
	case !o.Root:
		return awaitParent(o)
	case len(o.UntoldSuccessors) > 0 && !o.Deleting:
		return Decision{
			Do:  []Effect{Notify{Successors: o.UntoldSuccessors}},
			Why: because(run.ReasonIdle, "the controller before this one has not told the successors"),
		}
	case o.beginsDeletion():
		return begin(o, "the installation is being deleted")
	}
	switch o.Job.Open(o.Request) {
	case run.OpenByGrant:
		return grant(o)
	case run.OpenByAdoption:
		return begin(o, "a job was requested")
	}
	return decideByItself(o)
}

// adopts reports whether a request was granted whose job the status does not know yet. It may have begun all the same, in a pass whose
// status was refused because of the very interrupt that is there now: the job begins, and is interrupted.
func (o Observed) adopts() bool {
	return o.Root && !o.beginsDeletion() && o.Job.Open(o.Request) == run.OpenByAdoption
}

// tellAfter is how long nobody is told that a nested installation has no job yet. Usually its parent hands one down at once, and telling
// of it would cost a write.
const tellAfter = 30 * time.Second

// awaitParent waits for a job of the parent. A nested installation that never had one says so; who has made it by hand is told at once.
func awaitParent(o Observed) Decision {
	d := rest("the parent has handed down no new job")
	if o.Job.ID != "" || o.Phase != "" {
		return d
	}
	if wait := o.Created.Add(tellAfter).Sub(o.Now); wait > 0 && !o.ByHand {
		d.RequeueAfter = wait
		return d
	}
	d.Why = because(
		run.ReasonNotRequested,
		fmt.Sprintf("No job handed down yet: installation %s, which this one is nested in, does that with its next job", o.Parent),
	)
	return d
}

// beginsDeletion reports whether a deletion begins without a request. One that has failed does only if those below do not know yet that
// what was installed is to stay.
func (o Observed) beginsDeletion() bool {
	return o.Deleting && (o.Phase != lsv1alpha1.PhaseDeleteFailed || o.MayGiveUp() && len(untold(o)) > 0)
}

// MayGiveUp reports whether a deletion has failed that shall leave alone what was installed.
func (o Observed) MayGiveUp() bool {
	return o.Root && o.Deleting && o.Phase == lsv1alpha1.PhaseDeleteFailed && o.WithoutUninstall
}

// grant answers a request. Whoever sees that the request is gone must not find the end of the job before in the status.
func grant(o Observed) Decision {
	d := Decision{Do: []Effect{Grant{}}, SaveFirst: true, Why: because(run.ReasonRequested, "a job was requested")}
	if !o.Announced {
		d.Do, d.SaveFirst = []Effect{Announce{}}, false
	}
	return d
}

// decideByItself starts jobs that nobody has requested.
func decideByItself(o Observed) Decision {
	if o.Deleting {
		return rest("the deletion has failed; request a job to try again")
	}
	switch {
	case o.IfChanged && o.Changed:
		return held(o, begin(o, "the spec has changed"))
	case o.Automatic.Due.IsZero() && o.Job.ID == "" && o.Phase == "":
		return Decision{Wait: true, Why: because(run.ReasonNotRequested,
			fmt.Sprintf("No job requested yet: set the annotation %s=%s", lsv1alpha1.OperationAnnotation, lsv1alpha1.OperationReconcile))}
	case o.Automatic.Due.IsZero():
		return rest("no job was requested")
	case o.Automatic.Due.After(o.Now):
		d := rest("the next automatic job is due at " + o.Automatic.Due.UTC().Format(time.RFC3339))
		d.RequeueAfter = o.Automatic.Due.Sub(o.Now)
		return d
	default:
		return held(o, begin(o, "an automatic job is due"))
	}
}

// begin starts a job. Which one, Settle finds out from the same facts.
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

// overtaken ends a job that has not begun to install anything, because the deletion was asked for.
func overtaken(o Observed) Decision {
	return fail(o, lsv1alpha1.ReasonInterrupted, "interrupted before anything was installed, because the deletion was asked for")
}

// interrupted ends the job because somebody asked for it.
func interrupted(o Observed) Decision {
	d := fail(o, lsv1alpha1.ReasonInterrupted, "interrupted by the operation annotation")
	d.Do = []Effect{DropOperation{}}
	return d
}
