// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package watchdog

import (
	"fmt"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/run"
)

// Decision is what the watchdog does next.
type Decision = decision.Of[lsv1alpha1.Phase, Effect]

// Effect is something that a decision wants to have done. The types below are all there are.
type Effect interface {
	fmt.Stringer
	effect()
}

type (
	// RemoveOperation takes an operation off the item that has no effect there.
	RemoveOperation struct{}
	// DropExports deletes the Secret with the item's exports.
	DropExports struct{}
	// RemoveFinalizer lets the item go.
	RemoveFinalizer struct{}
	// AddFinalizer puts back the finalizer that somebody has removed.
	AddFinalizer struct{}
	// TellNamespace records, where the end of the namespace does not wipe it out, that what the item has deployed may stay.
	TellNamespace struct{}
	// Grant replaces the request for a job by the ID of the job to come.
	Grant struct{}
	// Adopt makes the granted job the current one. It is done by the status write alone.
	Adopt struct{}
	// NoteJob records when the current job was first seen. It is done by the status write alone.
	NoteJob struct{}
	// Tell has the conditions say that no deployer has taken the item. It is done by the status write alone.
	Tell struct{}
	// TellUnasked has the conditions say that nobody has asked for a job. It is done by the status write alone.
	TellUnasked struct{}
	// TimeOut does nothing but return the error that ends the job.
	TimeOut struct{ Err error }
)

func (RemoveOperation) effect() {}
func (DropExports) effect()     {}
func (RemoveFinalizer) effect() {}
func (AddFinalizer) effect()    {}
func (TellNamespace) effect()   {}
func (Grant) effect()           {}
func (Adopt) effect()           {}
func (NoteJob) effect()         {}
func (Tell) effect()            {}
func (TellUnasked) effect()     {}
func (TimeOut) effect()         {}

// String names the effect in errors.
func (RemoveOperation) String() string { return "remove the operation" }

// String names the effect in errors.
func (DropExports) String() string { return "drop the exports" }

// String names the effect in errors.
func (RemoveFinalizer) String() string { return "remove the finalizer" }

// String names the effect in errors.
func (AddFinalizer) String() string { return "add the finalizer" }

// String names the effect in errors.
func (TellNamespace) String() string { return "tell that what was deployed may stay" }

// String names the effect in errors.
func (Grant) String() string { return "grant the request" }

// String names the effect in errors.
func (Adopt) String() string { return "adopt the job" }

// String names the effect in errors.
func (NoteJob) String() string { return "note the job" }

// String names the effect in errors.
func (Tell) String() string { return "tell of the wait" }

// String names the effect in errors.
func (TellUnasked) String() string { return "tell that no job was requested" }

// String names the effect in errors.
func (TimeOut) String() string { return "timeout" }

// Codes of reasons, beside those of the API.
const (
	CodeIdle       = "Idle"
	CodeInProgress = "InProgress"
	CodeRequested  = "Requested"
	CodeNoEffect   = "NoEffect"
	CodeForgotten  = "DeletedWithoutUninstall"
	// CodeNamespaceEnds says that the item goes with its namespace.
	CodeNamespaceEnds = "NamespaceTerminating"
	// CodeDamaged says that somebody has removed the finalizer.
	CodeDamaged = "Damaged"
)

// Decide says what the watchdog does next. It is total: every combination of facts has an answer.
func Decide(o Observed) Decision {
	switch {
	case o.Deleting && o.NamespaceEnds:
		return goWithNamespace(o)
	case o.Damaged && !o.Finalizer:
		return Decision{
			Do:  []Effect{AddFinalizer{}},
			Why: decision.Reason{Code: CodeDamaged, Message: "somebody has removed the finalizer of " + o.Name},
		}
	case o.Continuous:
		return watchContinuously(o)
	case o.Idle != "":
		return Decision{Do: []Effect{RemoveOperation{}}, Why: decision.Reason{
			Code: CodeNoEffect, Message: fmt.Sprintf("operation %s has no effect on a deploy item", o.Idle)}}
	case o.Deleting && o.WithoutUninstall && o.Finalizer:
		return letGo(o)
	case !o.Job.Running():
		return open(o)
	default:
		return watch(o)
	}
}

// watchContinuously lets go what is deleted without uninstall, and ends what takes too long. How long an item waits for a
// deployer is not limited in the continuous flow: nobody has asked for it at a certain time.
func watchContinuously(o Observed) Decision {
	switch {
	case o.Deleting && o.WithoutUninstall && o.Finalizer:
		return letGo(o)
	case o.PickedUp && !o.Since.IsZero():
		return watch(o)
	default:
		return idle(o)
	}
}

func idle(o Observed) Decision {
	return Decision{Wait: true, Why: decision.Reason{Code: CodeIdle, Message: o.Name + " has no job to do"}}
}

func letGo(o Observed) Decision {
	d := Decision{Wait: true, Why: decision.Reason{
		Code: CodeForgotten, Message: o.Name + " is deleted, and what it has deployed stays"}}
	if o.Exported {
		d.Do = append(d.Do, DropExports{})
	}
	d.Do = append(d.Do, RemoveFinalizer{})
	return d
}

// goWithNamespace lets an item go whose namespace is being deleted. Its Target, its Secrets and whoever could hand it a job go, too, so
// that nothing could be uninstalled in an orderly way any more.
func goWithNamespace(o Observed) Decision {
	if !o.Finalizer {
		return idle(o)
	}
	return Decision{
		Do: []Effect{TellNamespace{}, RemoveFinalizer{}}, Wait: true,
		Why: decision.Reason{Code: CodeNamespaceEnds, Message: o.Name + " goes with its namespace, and what it has deployed may stay"},
	}
}

func open(o Observed) Decision {
	why := decision.Reason{Code: CodeRequested, Message: "a job of this deploy item alone was asked for"}
	switch o.Job.Open(o.Request) {
	case run.OpenByGrant:
		return Decision{Do: []Effect{Grant{}}, Why: why}
	case run.OpenByAdoption:
		return Decision{Do: []Effect{Adopt{}}, Why: why}
	default:
		d := idle(o)
		if o.Unasked {
			d.Do = []Effect{TellUnasked{}}
			d.Why = decision.Reason{Code: run.ReasonNotRequested, Message: fmt.Sprintf(
				"No job requested yet: an execution passes one on, somebody writes status.jobID, or sets the annotation %s=%s",
				lsv1alpha1.OperationAnnotation, lsv1alpha1.OperationTestReconcile)}
		}
		return d
	}
}

// tellAfter is how long nobody is told that no deployer has taken an item. Usually one does at once, and telling of it
// would cost a write.
const tellAfter = 30 * time.Second

// watch waits for a deployer to pick the item up, or to come to an end.
func watch(o Observed) Decision {
	untold := !o.PickedUp && !o.Told
	switch {
	case o.Since.IsZero():
		return Decision{Do: []Effect{NoteJob{}}, Why: reason(o)}
	case !o.Deadline.IsZero() && !o.Now.Before(o.Deadline):
		return Decision{Do: []Effect{TimeOut{Err: timeout(o)}}, Wait: true, Why: reason(o)}
	case untold && !o.Now.Before(o.Since.Add(tellAfter)):
		return Decision{Do: []Effect{Tell{}}, Why: reason(o)}
	}
	d := Decision{Wait: true, Why: reason(o)}
	if !o.Deadline.IsZero() {
		d.RequeueAfter = o.Deadline.Sub(o.Now)
	}
	if next := o.Since.Add(tellAfter).Sub(o.Now); untold && (d.RequeueAfter == 0 || next < d.RequeueAfter) {
		d.RequeueAfter = next
	}
	return d
}

func reason(o Observed) decision.Reason {
	if o.PickedUp {
		return decision.Reason{Code: CodeInProgress, Message: fmt.Sprintf("deployer %s works on %s%s", o.Deployer, o.Name, span(o))}
	}
	return decision.Reason{
		Code:    lsv1alpha1.ReasonWaitingForDeployer,
		Message: fmt.Sprintf("no deployer for type %s has taken %s%s", o.Type, o.Name, span(o)),
	}
}

// span is " since 12:00; it fails at 12:05", as far as that is known.
func span(o Observed) string {
	text := ""
	if !o.Since.IsZero() {
		text += " since " + o.Since.UTC().Format(time.RFC3339)
	}
	if !o.Deadline.IsZero() {
		text += "; it fails at " + o.Deadline.UTC().Format(time.RFC3339)
	}
	return text
}

func timeout(o Observed) error {
	details := failure.Details{
		Operation: lsv1alpha1.OperationWaitingForPickup,
		Reason:    lsv1alpha1.ReasonPickupTimeout,
		Codes:     []string{string(lsv1alpha1.ErrorTimeout)},
	}
	if !o.PickedUp {
		return failure.Terminalf(details, "no deployer for type %s has taken the deploy item within %s: check that one runs%s",
			o.Type, o.Deadline.Sub(o.Since), forTarget(o))
	}
	details.Operation, details.Reason = "Deploy", lsv1alpha1.ReasonProgressingTimeout
	if o.Phase.IsDeletion() {
		details.Operation = "Delete"
	}
	return failure.Terminalf(details, "deployer %s has not come to an end within %s; %s. If it only needs more time, raise spec.timeout",
		o.Deployer, o.Deadline.Sub(o.Since), o.LastWord)
}

// forTarget says what a Target has to do with the choice of a deployer.
func forTarget(o Observed) string {
	if o.Target == "" {
		return ""
	}
	return fmt.Sprintf(", that Target %s exists, and that the deployer's target selectors choose it", o.Target)
}

// String says what the time was spent on.
func (w LastWord) String() string {
	switch {
	case w.Text == "":
		return "it has not said what it waits for"
	case w.Failed:
		return fmt.Sprintf("since %s it failed with: %s", w.Since.UTC().Format(time.RFC3339), w.Text)
	default:
		return fmt.Sprintf("since %s it waited for this: %s", w.Since.UTC().Format(time.RFC3339), w.Text)
	}
}
