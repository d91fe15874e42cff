// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/run"
)

// decideContinuously decides in the continuous flow.
func decideContinuously(o Observed) Decision {
	switch {
	case o.Frozen():
		return stay(run.ReasonIgnored, run.FrozenMessage(o.Deleting))
	case o.keepsStill():
		return keepStill(o)
	case !o.Deleting && !o.Finalizer:
		return Decision{Do: []Effect{AddFinalizer{}}, Wait: true, Why: because(run.ReasonHeld, "adding the finalizer first")}
	case o.leaves():
		return leave(o)
	case o.Updated && !o.Deleting:
		return afterUpdate(o)
	case o.Deleting:
		return decideContinuousDeletion(o)
	case o.follows():
		return follow(o)
	default:
		return proceed(o)
	}
}

// proceed decides about an installation that is not being deleted.
func proceed(o Observed) Decision {
	if unowned := filter(o.below(), func(c Child) bool { return c.Unowned && !c.Deleting }); len(unowned) > 0 {
		return Decision{
			Do:  []Effect{Adopt{Children: unowned}},
			Why: because(reasonDamaged, "the owner was removed from "+listed(unowned)),
		}
	}
	if o.forcesLater() {
		return standard(o)
	}
	switch o.Operation {
	case "":
		if o.Phase.IsCompleted() && o.outdated() == "" {
			return recheck(o)
		}
		return standard(o)
	case lsv1alpha1.OperationReconcile:
		return standard(o)
	case lsv1alpha1.OperationForceReconcile:
		return update(o)
	case lsv1alpha1.OperationAbort:
		return abort(o)
	default:
		return dropOperation(fmt.Sprintf("operation %s has no effect in the continuous flow", o.Operation), false)
	}
}

// outdated returns why the objects below must be updated; empty if no update is required. An aborted installation waits for a request or a
// new spec.
func (o Observed) outdated() string {
	switch misfits := o.misfits(lsv1alpha1.FlowContinuous); {
	case o.Changed:
		return "the spec has changed"
	case o.Own && o.Phase == lsv1alpha1.PhaseAborted:
		return ""
	case !o.Entered:
		return "first pass in the continuous flow"
	case len(o.ImportsChanged) > 0:
		return "imports have changed: " + list(o.ImportsChanged)
	case o.importsGone():
		return "imports are missing: " + o.ImportsMissing.Error()
	case len(misfits) > 0:
		return misfits[0].String() + " is in another flow"
	default:
		return o.childGone()
	}
}

// importsGone reports whether imports that the last update used no longer exist.
func (o Observed) importsGone() bool {
	return o.ImportsMissing != nil && failure.KindOf(o.ImportsMissing) == failure.Retryable
}

// childGone names a child that another client has deleted.
func (o Observed) childGone() string {
	for _, c := range o.Children {
		if c.Presence == Gone {
			return c.String() + " is gone"
		}
	}
	return ""
}

// recheck continues only if the combined state below differs from the installation's.
func recheck(o Observed) Decision {
	if o.Own {
		return rest("stays in phase " + string(o.Phase) + " until a reconcile is requested or the spec changes")
	}
	combined := o.combined()
	if combined == "" {
		combined = lsv1alpha1.PhaseSucceeded
	}
	busy := filter(o.below(), Child.Busy)
	switch {
	case len(busy) == 0 && combined == lsv1alpha1.PhaseSucceeded && len(o.ExportsGone) > 0:
		return Decision{
			Next: lsv1alpha1.PhaseProgressing,
			Why:  because(run.ReasonExportsGone, "restoring missing exports: "+list(o.ExportsGone)),
		}
	case len(busy) == 0 && combined == o.Phase:
		return rest("nothing has changed")
	}
	return Decision{Next: lsv1alpha1.PhaseProgressing, Why: because(run.ReasonChangedBelow, "the state of objects below has changed")}
}

// standard is the usual procedure: wait for the objects below, update them if necessary, and take over their state.
func standard(o Observed) Decision {
	if strange := o.strangersGoing(); len(strange) > 0 {
		return Decision{
			Do:  []Effect{Convert{Flow: lsv1alpha1.FlowContinuous, Children: strange}},
			Why: because(run.ReasonUpdated, "objects that are being deleted change their flow"),
		}
	}
	if busy := o.busy(); len(busy) > 0 {
		message := "waiting for " + listed(busy)
		if why := o.outdated(); why != "" {
			message += "; " + why + o.takesEffect()
		}
		return o.informed(busy, o.waitIn(lsv1alpha1.PhaseProgressing, because(lsv1alpha1.ReasonWaitingForSubObjects, message)))
	}
	switch {
	case o.Phase == lsv1alpha1.PhasePendingDependencies || o.outdated() != "" && !o.updatesLater() || o.triesAgain():
		return update(o)
	case o.standstill():
		return o.waitIn(lsv1alpha1.PhaseProgressing, because(run.ReasonStandstill, o.deadlock()))
	default:
		return complete(o)
	}
}

// takesEffect describes when changes that require another update take effect.
func (o Observed) takesEffect() string {
	if o.updatesLater() {
		return ", which takes effect on resume"
	}
	return fmt.Sprintf(", which takes effect afterwards (to skip the wait, set annotation %s=%s)",
		lsv1alpha1.OperationAnnotation, lsv1alpha1.OperationForceReconcile)
}

// triesAgain reports whether the operation annotation requests a retry of what has not succeeded.
func (o Observed) triesAgain() bool {
	return o.Operation == lsv1alpha1.OperationReconcile && !o.Suspension.On &&
		(o.Phase == lsv1alpha1.PhaseFailed || o.Phase == lsv1alpha1.PhaseAborted || o.standstill())
}

// update updates the objects below once dependencies and imports permit it. Force ignores the state of dependencies and busy objects below.
func update(o Observed) Decision {
	if o.Phase != lsv1alpha1.PhasePendingDependencies {
		return Decision{
			Next: lsv1alpha1.PhasePendingDependencies,
			Why:  because(string(lsv1alpha1.PhasePendingDependencies), "an update is required: "+o.occasion()),
		}
	}
	if o.DependencyError != nil {
		return failWith(o.DependencyError)
	}
	if waiting := unready(o.Predecessors); len(waiting) > 0 && o.Operation != lsv1alpha1.OperationForceReconcile {
		return o.waitIn(o.Phase, because(lsv1alpha1.ReasonWaitingForPredecessors, "waiting for "+list(waiting)))
	}
	if o.ImportsMissing != nil {
		return failWith(o.ImportsMissing)
	}
	return Decision{
		Do:   []Effect{Prepare{}, TellOfUpdate{}},
		Next: lsv1alpha1.PhaseProgressing,
		Why:  because(run.ReasonUpdated, "updated the objects below: "+o.occasion()),
		// The objects below switch from another flow: the status must record beforehand that this has started.
		SaveFirst: !o.Entered && len(o.below()) > 0,
	}
}

func (o Observed) occasion() string {
	if why := o.outdated(); why != "" {
		return why
	}
	return "requested by the operation annotation"
}

func failWith(err error) Decision {
	return Decision{
		Do: []Effect{Fail{Err: err}}, Wait: true, Why: because(lsv1alpha1.ReasonWaitingForImports, err.Error()),
	}
}

// unready describes, for each predecessor without valid exports, why they are not valid.
func unready(predecessors []Sibling) []string {
	var waiting []string
	for _, p := range predecessors {
		if problem := problemOf(p); problem != "" {
			waiting = append(waiting, fmt.Sprintf("installation %s, which %s", p.Name, problem))
		}
	}
	return waiting
}

func problemOf(p Sibling) string {
	switch {
	case p.Deleting:
		return "is being deleted"
	case p.Job.Running() || p.Asked && !p.Continuous:
		return "has an unfinished job"
	case p.Continuous && !p.Suspended && p.behind() != "":
		return p.behind()
	case p.Phase != lsv1alpha1.PhaseSucceeded:
		return "is in phase " + phaseOf(p.Phase)
	default:
		return ""
	}
}

// behind describes what a sibling in the continuous flow is about to do; empty if nothing.
func (s Sibling) behind() string {
	switch {
	case s.Operation != "":
		return "has a pending request to " + string(s.Operation)
	case !s.UpToDate:
		return "has not processed its new spec yet"
	default:
		return ""
	}
}

// afterUpdate removes the annotation once the update is stored.
func afterUpdate(o Observed) Decision {
	if o.forced() || o.Operation == lsv1alpha1.OperationReconcile {
		d := dropOperation("operation "+string(o.Operation)+" started an update", true)
		d.Wait = false
		return d
	}
	return standard(o)
}

// AskedByUpdate returns the children to notify of an update that has just been made, and the operation: their specs need not
// have changed. Force applies to all. Otherwise, a failed child at rest retries, and a nested installation checks its imports if they have
// changed.
func (o Observed) AskedByUpdate() Ask {
	if o.forced() {
		return Ask{Operation: o.Operation, Children: filter(o.below(), func(c Child) bool {
			return c.Presence == Present && !c.Deleting && c.Operation != o.Operation
		})}
	}
	renewed := o.Prepared != nil && o.Prepared.ImportsHash != o.UsedHash
	return Ask{Operation: lsv1alpha1.OperationReconcile, Children: filter(o.below(), func(c Child) bool {
		concerned := o.retries() && c.Phase != lsv1alpha1.PhaseSucceeded || renewed && c.Kind == ChildInstallation
		return c.Presence == Present && (!c.Busy() || o.standsStill(c)) && concerned
	})}
}

// retries reports whether an update retries what has failed. A change of the flow alone does not.
func (o Observed) retries() bool {
	return o.Entered && !o.FlowOnly || o.Operation == lsv1alpha1.OperationReconcile
}

func ask(operation lsv1alpha1.Operation, children []Child) Decision {
	return Decision{
		Do:  []Effect{Ask{Operation: operation, Children: children}},
		Why: because(run.ReasonOperation, "operation "+string(operation)+" is passed on"),
	}
}

// dropOperation removes the annotation; if the status must show the result of the operation, it is stored first.
func dropOperation(why string, stored bool) Decision {
	return Decision{Do: []Effect{DropOperation{}}, SaveFirst: stored, Wait: !stored, Why: because(run.ReasonOperation, why)}
}

// complete takes over the state of the objects below. It does so from Progressing, so that an error on the way is reported.
func complete(o Observed) Decision {
	combined := o.combined()
	switch {
	case o.Exported && o.Operation != "":
		return dropOperation("operation "+string(o.Operation)+" is done", true)
	case o.Exported:
		return rest("everything is installed")
	case o.Phase != lsv1alpha1.PhaseProgressing:
		return Decision{Next: lsv1alpha1.PhaseProgressing, Why: because(run.ReasonChangedBelow, "taking over the state of objects below")}
	case o.cannotExport(combined):
		return o.awaitResumption()
	case combined == "" || combined == lsv1alpha1.PhaseSucceeded:
		return succeed(o)
	}
	d := Decision{Next: combined, Wait: o.Operation == "", Why: because(run.ReasonSubObjectFailed, problems(failed(o.below())))}
	if combined == lsv1alpha1.PhaseAborted {
		d.Why.Code = run.ReasonSubObjectAborted
	}
	return d
}

func succeed(o Observed) Decision {
	if !o.ExportsWritten {
		return writeExports()
	}
	d := Decision{
		Next: lsv1alpha1.PhaseSucceeded, Wait: o.Operation == "",
		Why: because(lsv1alpha1.ReasonSucceeded, "everything is installed"),
	}
	if successors := o.importers(); len(successors) > 0 {
		d.Do = append(d.Do, Notify{Successors: successors})
	}
	return d
}

// abort stops the objects below, and stays aborted.
func abort(o Observed) Decision {
	if o.aborted() && !o.Changed && !o.FlowOnly {
		d := dropOperation("aborted", true)
		d.Wait = !o.strays() && len(o.misfits(lsv1alpha1.FlowContinuous)) == 0
		return d
	}
	d := Decision{Next: lsv1alpha1.PhaseAborted, Why: because(
		lsv1alpha1.ReasonAborted,
		fmt.Sprintf(
			"aborted by annotation %s=%s; to continue, request a reconcile or change the spec",
			lsv1alpha1.OperationAnnotation,
			lsv1alpha1.OperationAbort,
		),
	)}
	running := filter(o.below(), func(c Child) bool {
		return c.Presence == Present && !c.Deleting && c.Busy() && c.Operation != lsv1alpha1.OperationAbort
	})
	if o.strays() {
		// Otherwise, the objects below would miss a later change of the flow.
		d.Do = append(d.Do, EnterFlow{})
	}
	if len(running) > 0 {
		d.Do = append(d.Do, Ask{Operation: lsv1alpha1.OperationAbort, Children: running})
	}
	return d
}

// waitIn waits in a phase for a change that an event reports. The status may show the wait late, if there is nothing else to report.
func (o Observed) waitIn(phase lsv1alpha1.Phase, why decision.Reason) Decision {
	return Decision{Next: phase, Wait: true, RequeueAfter: safetyNet, Why: why, DeferStatusWrite: o.Phase == phase && !o.Moved}
}

// listed names children in messages of the continuous flow.
func listed(children []Child) string {
	var words []string
	for _, c := range children {
		words = append(words, c.String())
	}
	return list(words)
}
