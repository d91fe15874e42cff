// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package watchdog

import (
	"fmt"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/run"
)

// Decision is what the watchdog does next.
type Decision = decision.Of[lsv1alpha1.Phase, Effect]

// Effect is an action that a decision requests. The types below are all effects.
type Effect interface {
	fmt.Stringer
	effect()
}

type (
	// RemoveOperation removes an operation that has no effect on the item.
	RemoveOperation struct{}
	// DropExports deletes the Secret with the item's exports.
	DropExports struct{}
	// RemoveFinalizer releases the item.
	RemoveFinalizer struct{}
	// AddFinalizer restores the finalizer that another client has removed.
	AddFinalizer struct{}
	// TellNamespace records, outside the namespace that is being deleted, that what the item has deployed may stay.
	TellNamespace struct{}
	// Announce records in the status that a job was requested. The status write does it.
	Announce struct{}
	// Grant replaces the request for a job by the ID of the new job.
	Grant struct{}
	// Adopt makes the granted job the current one. The status write does it.
	Adopt struct{}
	// NoteJob records when the current job was first seen. The status write does it.
	NoteJob struct{}
	// Tell makes the conditions report that no deployer has picked up the item. The status write does it.
	Tell struct{}
	// TellUnasked makes the conditions report that no job was requested. The status write does it.
	TellUnasked struct{}
	// TimeOut only returns the error that ends the job.
	TimeOut struct{ Err error }
)

func (RemoveOperation) effect() {}
func (DropExports) effect()     {}
func (RemoveFinalizer) effect() {}
func (AddFinalizer) effect()    {}
func (TellNamespace) effect()   {}
func (Announce) effect()        {}
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
func (TellNamespace) String() string { return "report that what was deployed may stay" }

// String names the effect in errors.
func (Announce) String() string { return "announce the job" }

// String names the effect in errors.
func (Grant) String() string { return "grant the request" }

// String names the effect in errors.
func (Adopt) String() string { return "adopt the job" }

// String names the effect in errors.
func (NoteJob) String() string { return "record the job" }

// String names the effect in errors.
func (Tell) String() string { return "report the wait" }

// String names the effect in errors.
func (TellUnasked) String() string { return "report that no job is requested" }

// String names the effect in errors.
func (TimeOut) String() string { return "timeout" }

// These are the codes of reasons, in addition to those of the API.
const (
	CodeIdle       = "Idle"
	CodeInProgress = "InProgress"
	CodeRequested  = "Requested"
	CodeNoEffect   = "NoEffect"
	CodeForgotten  = "DeletedWithoutUninstall"
	// CodeNamespaceEnds means that the item is deleted with its namespace.
	CodeNamespaceEnds = "NamespaceTerminating"
	// CodeDamaged means that another client has removed the finalizer.
	CodeDamaged = "Damaged"
)

// Decide returns what the watchdog does next. It is total: every combination of facts has an answer.
func Decide(o Observed) Decision {
	switch {
	case o.Deleting && o.NamespaceEnds:
		return goWithNamespace(o)
	case o.Damaged && !o.Finalizer:
		return Decision{
			Do:  []Effect{AddFinalizer{}},
			Why: decision.Reason{Code: CodeDamaged, Message: "the finalizer of " + o.Name + " was removed"},
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

// DecideRestored is Decide once a finalizer that another client has removed is restored: the watchdog does that first, and then decides
// again in the same pass. So a missing finalizer delays nothing.
func DecideRestored(o Observed) Decision {
	if d := Decide(o); !does[AddFinalizer](d) {
		return d
	}
	o.Finalizer = true
	return Decide(o)
}

// watchContinuously releases what is deleted without uninstalling, and times out what takes too long. In the continuous flow, there is no
// limit on the wait for a deployer: no request sets its start.
func watchContinuously(o Observed) Decision {
	switch {
	case o.Deleting && o.WithoutUninstall && o.Finalizer:
		return letGo(o)
	case o.PickedUp && !o.Since.IsZero():
		return watch(o)
	case o.Due && !o.PickedUp:
		return awaitDeployer(o)
	default:
		return idle(o)
	}
}

// awaitDeployer waits for a deployer in the continuous flow. The status of an item that is being deleted names the command that ends the
// wait.
func awaitDeployer(o Observed) Decision {
	if o.Deleting && !o.Since.IsZero() && o.Deadline.IsZero() {
		return watch(o)
	}
	return Decision{Wait: true, Why: reason(o)}
}

func idle(o Observed) Decision {
	return Decision{Wait: true, Why: decision.Reason{Code: CodeIdle, Message: o.Name + " has no job to do"}}
}

func letGo(o Observed) Decision {
	d := Decision{Wait: true, Why: decision.Reason{
		Code: CodeForgotten, Message: o.Name + " is deleted, and what it deployed stays"}}
	if o.Exported {
		d.Do = append(d.Do, DropExports{})
	}
	d.Do = append(d.Do, RemoveFinalizer{})
	return d
}

// goWithNamespace releases an item whose namespace is being deleted. Its Target, its Secrets and the objects that could pass it a job are
// deleted too, so that an orderly uninstallation is no longer possible.
func goWithNamespace(o Observed) Decision {
	if !o.Finalizer {
		return idle(o)
	}
	return Decision{
		Do: []Effect{TellNamespace{}, RemoveFinalizer{}}, Wait: true,
		Why: decision.Reason{Code: CodeNamespaceEnds, Message: o.Name + " is deleted with its namespace, and what it deployed may stay"},
	}
}

// open starts a requested job. A client that sees that the request is gone must not find the result of the previous job in the status.
func open(o Observed) Decision {
	why := decision.Reason{Code: CodeRequested, Message: "a job for this deploy item alone was requested"}
	switch opening := o.Job.Open(o.Request); {
	case opening == run.OpenByGrant && !o.Announced:
		return Decision{Do: []Effect{Announce{}}, Why: why}
	case opening == run.OpenByGrant:
		return Decision{Do: []Effect{Grant{}}, SaveFirst: true, Why: why}
	case opening == run.OpenByAdoption:
		return Decision{Do: []Effect{Adopt{}}, Why: why}
	default:
		d := idle(o)
		if o.Unasked {
			d.Do = []Effect{TellUnasked{}}
			d.Why = decision.Reason{Code: run.ReasonNotRequested, Message: fmt.Sprintf(
				"No job requested yet: wait for one from the execution, set status.jobID, or set the annotation %s=%s",
				lsv1alpha1.OperationAnnotation, lsv1alpha1.OperationTestReconcile)}
		}
		return d
	}
}

// tellAfter is the delay before the conditions report that no deployer has picked up an item. Usually a deployer picks it up at once, and
// the report would cost a write.
const tellAfter = 30 * time.Second

// watch waits for a deployer to pick the item up, or to finish.
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
		return decision.Reason{Code: CodeInProgress, Message: fmt.Sprintf("deployer %s is working on %s%s", o.Deployer, o.Name, span(o))}
	}
	message := fmt.Sprintf("no deployer for type %s has picked up %s%s", o.Type, o.Name, span(o))
	if o.Continuous && o.Deleting {
		message += deployitem.WayOut(o.Target, "")
	}
	return decision.Reason{Code: lsv1alpha1.ReasonWaitingForDeployer, Message: message}
}

// span returns " since 12:00; it fails at 12:05", as far as that is known.
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
		return failure.Terminalf(details, "timed out after %s: no deployer for type %s has picked up the deploy item; check that one is running%s",
			o.Deadline.Sub(o.Since), o.Type, forTarget(o))
	}
	details.Operation, details.Reason = "Deploy", lsv1alpha1.ReasonProgressingTimeout
	if o.Phase.IsDeletion() {
		details.Operation = "Delete"
	}
	return failure.Terminalf(details, "timed out after %s: deployer %s %s. To allow more time, raise spec.timeout",
		o.Deadline.Sub(o.Since), o.Deployer, o.LastWord)
}

// forTarget explains how a Target affects which deployer is responsible.
func forTarget(o Observed) string {
	if o.Target == "" {
		return ""
	}
	return fmt.Sprintf(", that Target %s exists, and that the deployer's target selectors match it", o.Target)
}

// String describes what the deployer spent the time on.
func (w LastWord) String() string {
	switch {
	case w.Text == "":
		return "did not report what it was waiting for"
	case w.Failed:
		return fmt.Sprintf("has been failing since %s: %s", w.Since.UTC().Format(time.RFC3339), w.Text)
	default:
		return fmt.Sprintf("has been waiting since %s: %s", w.Since.UTC().Format(time.RFC3339), w.Text)
	}
}
