// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/failure"
)

// Decision is what a deployer does next.
type Decision = decision.Of[lsv1alpha1.Phase, Effect]

// These are the codes of reasons, in addition to those of the API.
const (
	// CodeNotMine means that another deployer is responsible.
	CodeNotMine = "NotMine"
	// CodeIdle means that there is no unfinished job.
	CodeIdle = "Idle"
	// CodeLeftToWatchdog means that the item is removed without its deployer.
	CodeLeftToWatchdog = "DeletedWithoutUninstall"
	// CodePickedUp means that a deployer has picked up the item.
	CodePickedUp = "PickedUp"
	// CodeUnchanged means that the item was skipped because nothing has changed.
	CodeUnchanged = "Unchanged"
	// CodeUninstalled means that the target contains nothing of the item any more.
	CodeUninstalled = "Uninstalled"
	// CodeClusterRemoved means that there is no target to uninstall from.
	CodeClusterRemoved = "ClusterRemoved"
)

// These are the operations of errors that report a requested deletion. operationAwaitTarget also means that no deployer has ever changed
// the target for the item: in the continuous flow, the end of the work leaves no other trace of that.
const (
	operationInterrupt   = "InterruptOperation"
	operationAwaitTarget = "AwaitTarget"
)

// defaultRecheck is the interval after which a waiting deployer is called again, in case no event arrives.
const defaultRecheck = 2 * time.Minute

// Decide returns what the deployer does next. It is total: every combination of facts has an answer.
func Decide(o Observed) Decision {
	switch {
	case !o.Mine:
		return wait(CodeNotMine, "another deployer is responsible for "+o.Name)
	case !o.Running():
		return idle(o)
	case o.Deleting && o.WithoutUninstall:
		return wait(CodeLeftToWatchdog, o.Name+" is deleted without uninstalling")
	case o.Problem != nil && o.Phase != "" && !o.Phase.IsFinal():
		return fail("check the deploy item", o.Problem)
	}
	return work(o)
}

// working reports whether the deployer has unfinished work on the item.
func working(o Observed) bool {
	return o.Mine && o.Running() && !(o.Deleting && o.WithoutUninstall)
}

func work(o Observed) Decision {
	if o.startsOver() {
		return startOver(o)
	}
	switch o.Phase {
	case lsv1alpha1.PhaseInit:
		return pickUp(o)
	case lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseCompleting, lsv1alpha1.PhaseObjectsCreated:
		return deploy(o)
	}
	if !InDeletionFlow(o.Deleting, o.Phase) {
		return Decision{Next: lsv1alpha1.PhaseInit, Why: pickedUp(o)}
	}
	switch o.Phase {
	case lsv1alpha1.PhaseInitDelete:
		return Decision{Next: lsv1alpha1.PhaseDeleting, Why: pickedUp(o)}
	case lsv1alpha1.PhaseDeleting, lsv1alpha1.PhaseTriggerDelete:
		return remove(o)
	default:
		return Decision{Next: lsv1alpha1.PhaseInitDelete, Why: pickedUp(o)}
	}
}

func pickUp(o Observed) Decision {
	switch {
	case !o.Finalizer && !o.Deleting:
		return Decision{Do: []Effect{AddFinalizer{}}, Why: pickedUp(o)}
	case o.Unchanged:
		return Decision{Next: lsv1alpha1.PhaseSucceeded, Why: decision.Reason{
			Code: CodeUnchanged, Message: "skipped: it succeeded before, its spec has not changed, and updateOnChangeOnly is set"}}
	default:
		return Decision{Next: lsv1alpha1.PhaseProgressing, Why: pickedUp(o)}
	}
}

func deploy(o Observed) Decision {
	switch {
	case o.Answer != nil && o.Answer.Err != nil:
		return fail(Deploy{}.String(), o.Overtaken(o.Answer.Err, o.Answer.Unreachable))
	case o.Answer != nil && o.Answer.Done:
		return finish(o)
	case o.Answer != nil:
		return awaitTarget(o)
	case o.timeIsUp():
		return awaitEnd(o)
	case o.Operation:
		return dropOperation(o)
	case o.Target == TargetMissing:
		return awaitTargetObject(o)
	case !o.Intended:
		return Decision{Do: []Effect{Intend{}}, Why: pickedUp(o)}
	default:
		return Decision{Do: []Effect{Deploy{}}, SaveFirst: !o.Stored, Why: pickedUp(o)}
	}
}

func finish(o Observed) Decision {
	d := Decision{Next: lsv1alpha1.PhaseSucceeded, Why: decision.Reason{
		Code: lsv1alpha1.ReasonSucceeded, Message: "everything is deployed and ready"}}
	switch {
	case len(o.Answer.Exports) > 0 && !o.ExportsStored:
		d.Do = []Effect{StoreExports{}}
	case len(o.Answer.Exports) == 0 && o.Exported && !o.ExportsDropped:
		d.Do = []Effect{DropExports{}}
	}
	return d
}

func remove(o Observed) Decision {
	switch {
	case o.Answer != nil && o.Answer.Err != nil:
		return fail(Delete{}.String(), fmt.Errorf("%w%s", o.Answer.Err, wayOut(o)))
	case o.Answer != nil && o.Answer.Done:
		return letGo(o, CodeUninstalled, "everything that "+o.Name+" deployed is gone")
	case o.Answer != nil:
		return awaitTarget(o)
	case o.Target == TargetMissing && o.ClusterMayBeGone:
		return letGo(o, CodeClusterRemoved, "nothing to uninstall from: Target "+o.TargetName+" does not exist")
	case o.timeIsUp():
		return awaitEnd(o)
	case o.Operation:
		return dropOperation(o)
	case o.Target == TargetMissing:
		return awaitTargetObject(o)
	default:
		return Decision{Do: []Effect{Delete{}}, SaveFirst: !o.Stored, Why: pickedUp(o)}
	}
}

func letGo(o Observed, code, message string) Decision {
	d := Decision{Wait: true, Why: decision.Reason{Code: code, Message: message}}
	if o.Exported && !o.ExportsDropped {
		d.Do = append(d.Do, DropExports{})
	}
	if o.Finalizer {
		d.Do = append(d.Do, RemoveFinalizer{})
	}
	return d
}

// idle repairs a finished item if its deployer has requested that and it is time.
func idle(o Observed) Decision {
	rest := wait(CodeIdle, o.Name+" has no job to do")
	switch {
	case o.RepairAt.IsZero() || o.Target == TargetMissing || o.Problem != nil:
		return rest
	case o.Ended || o.RepairAt.After(o.Now):
		rest.RequeueAfter = max(o.RepairAt.Sub(o.Now), time.Millisecond)
		return rest
	case o.Answer != nil && o.Answer.Err != nil:
		return fail(Repair{}.String(), o.Answer.Err)
	default:
		return Decision{Do: []Effect{Repair{}}, Why: rest.Why}
	}
}

func awaitTarget(o Observed) Decision {
	d := wait(cmp.Or(o.Answer.Waiting.Code, lsv1alpha1.ReasonWaitingForReadiness),
		cmp.Or(o.Answer.Waiting.Message, "waiting for the changes in the target to take effect")+untilDeadline(o))
	d.RequeueAfter = cmp.Or(o.Answer.Recheck, defaultRecheck)
	return d
}

func awaitTargetObject(o Observed) Decision {
	switch {
	case o.DeletionAsked && !InDeletionFlow(o.Deleting, o.Phase):
		return fail(Deploy{}.String(), o.Overtaken(errors.New("Target "+o.TargetName+" does not exist"), true))
	case InDeletionFlow(o.Deleting, o.Phase):
		return wait(
			lsv1alpha1.ReasonNoTargetFound,
			"Target "+o.TargetName+" does not exist, so nothing can be uninstalled: recreate it"+wayOut(o)+untilDeadline(o),
		)
	}
	return wait(lsv1alpha1.ReasonNoTargetFound, "Target "+o.TargetName+" does not exist: create it, or correct spec.target"+untilDeadline(o))
}

func wayOut(o Observed) string { return WayOut(o.TargetName, o.Root) }

// WayOut names the command that ends a deletion which cannot be executed. The names of the Target and of the root may be empty.
func WayOut(target, root string) string {
	where := ""
	if target != "" {
		where = " to Target " + target
	}
	how := "espalier delete and the flag --without-uninstall"
	if root != "" {
		how = "espalier delete " + root + " --without-uninstall"
	}
	return "; to leave behind what was deployed" + where + ", delete the root installation with " + how + " (annotation " +
		lsv1alpha1.DeleteWithoutUninstallAnnotation + ")"
}

// Overtaken returns the error to report for an error of the deployer. If the target is unreachable, work that deploys only waits, and a
// requested deletion ends it, in both flows.
func (o Observed) Overtaken(err error, unreachable bool) error {
	if err == nil || !unreachable || !o.DeletionAsked || InDeletionFlow(o.Deleting, o.Phase) {
		return err
	}
	operation := operationInterrupt
	if o.Untouched && !o.Intended {
		operation = operationAwaitTarget
	}
	return failure.NewTerminal(failure.Details{Operation: operation, Reason: lsv1alpha1.ReasonInterrupted},
		fmt.Errorf("interrupted, because deletion was requested while the deploy item was waiting: %w", err))
}

// awaitEnd leaves an item that has timed out to the watchdog. The status does not report that: it keeps what the deployer waited for until
// the watchdog copies that into the error.
func awaitEnd(o Observed) Decision {
	return wait(lsv1alpha1.ReasonProgressingTimeout, "timed out at "+o.Deadline.UTC().Format(time.RFC3339))
}

func (o Observed) timeIsUp() bool { return !o.Deadline.IsZero() && !o.Now.Before(o.Deadline) }

const failsAt = "; it fails at "

func untilDeadline(o Observed) string {
	if o.Deadline.IsZero() {
		return ""
	}
	return failsAt + o.Deadline.UTC().Format(time.RFC3339)
}

// nextAttempt matches the time of the next attempt in the message about an unreachable cluster.
var nextAttempt = regexp.MustCompile(`, next attempt at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// WithoutPlans returns the message of a wait or an error without the times of what was still to come: at which it fails, and at which the
// next attempt is made. In the error that ends the work, they would stay for ever.
func WithoutPlans(message string) string {
	if at := strings.LastIndex(message, failsAt); at >= 0 {
		message = message[:at]
	}
	return nextAttempt.ReplaceAllString(message, "")
}

func pickedUp(o Observed) decision.Reason {
	return decision.Reason{Code: CodePickedUp, Message: "deployer " + o.Deployer.Name + " (" + o.Deployer.Identity + ") is working on it"}
}

func wait(code, message string) Decision {
	return Decision{Wait: true, Why: decision.Reason{Code: code, Message: message}}
}

func fail(while string, err error) Decision {
	return Decision{
		Do:   []Effect{Fail{While: while, Err: err}},
		Wait: true,
		Why:  decision.Reason{Code: lsv1alpha1.ReasonFailed, Message: err.Error()},
	}
}
