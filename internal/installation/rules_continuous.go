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
	case o.Ignored && o.Phase.IsCompleted():
		return stay(run.ReasonIgnored, "annotation "+lsv1alpha1.IgnoreAnnotation+" freezes it")
	case !o.Deleting && !o.Finalizer:
		return Decision{Do: []Effect{AddFinalizer{}}, Wait: true, Why: because(run.ReasonHeld, "the finalizer comes before everything else")}
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

// proceed decides about an installation that is to be there.
func proceed(o Observed) Decision {
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

// outdated says why what is below has to be updated, nothing if it need not. An aborted installation waits for a word or a
// new spec.
func (o Observed) outdated() string {
	switch misfits := o.misfits(lsv1alpha1.FlowContinuous); {
	case o.Changed:
		return "the spec has changed"
	case o.Own && o.Phase == lsv1alpha1.PhaseAborted:
		return ""
	case !o.Entered:
		return "nothing has been done in the continuous flow yet"
	case len(o.ImportsChanged) > 0:
		return "imports have changed: " + list(o.ImportsChanged)
	case o.importsGone():
		return "imports are missing: " + o.ImportsMissing.Error()
	case len(misfits) > 0:
		return misfits[0].String() + " follows another flow"
	default:
		return o.childGone()
	}
}

// importsGone reports whether imports that the last update has used are not there any more.
func (o Observed) importsGone() bool {
	return o.ImportsMissing != nil && failure.KindOf(o.ImportsMissing) == failure.Retryable
}

// childGone names a child that somebody has deleted.
func (o Observed) childGone() string {
	for _, c := range o.Children {
		if c.Presence == Gone {
			return c.String() + " is gone"
		}
	}
	return ""
}

// recheck goes on only if the state of what is below is another one than the installation's.
func recheck(o Observed) Decision {
	if o.Own {
		return rest("it stays in phase " + string(o.Phase) + " until it is asked to reconcile or its spec changes")
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
			Why:  because(run.ReasonExportsGone, "it exports anew what has vanished: "+list(o.ExportsGone)),
		}
	case len(busy) == 0 && combined == o.Phase:
		return rest("nothing has changed")
	}
	return Decision{Next: lsv1alpha1.PhaseProgressing, Why: because(run.ReasonChangedBelow, "the state of what is below has changed")}
}

// standard is the usual way: wait for what is below, update it if need be, and take over its state.
func standard(o Observed) Decision {
	if strange := o.strangersGoing(); len(strange) > 0 {
		return Decision{
			Do:  []Effect{Convert{Flow: lsv1alpha1.FlowContinuous, Children: strange}},
			Why: because(run.ReasonUpdated, "what is below and goes changes its flow"),
		}
	}
	if busy := o.busy(); len(busy) > 0 {
		message := "waiting for " + listed(busy)
		if why := o.outdated(); why != "" {
			message += fmt.Sprintf(
				"; %s, which has no effect before (annotation %s=%s does not wait)",
				why,
				lsv1alpha1.OperationAnnotation,
				lsv1alpha1.OperationForceReconcile,
			)
		}
		return o.waitIn(lsv1alpha1.PhaseProgressing, because(lsv1alpha1.ReasonWaitingForSubObjects, message))
	}
	retry := o.Operation == lsv1alpha1.OperationReconcile &&
		(o.Phase == lsv1alpha1.PhaseFailed || o.Phase == lsv1alpha1.PhaseAborted || o.standstill())
	switch {
	case o.Phase == lsv1alpha1.PhasePendingDependencies || o.outdated() != "" || retry:
		return update(o)
	case o.standstill():
		return o.waitIn(lsv1alpha1.PhaseProgressing, because(run.ReasonStandstill, o.deadlock()))
	default:
		return complete(o)
	}
}

// update updates what is below once dependencies and imports allow it. With force, the state of dependencies does not
// count, and neither does that something below is busy.
func update(o Observed) Decision {
	if o.Phase != lsv1alpha1.PhasePendingDependencies {
		return Decision{
			Next: lsv1alpha1.PhasePendingDependencies,
			Why:  because(string(lsv1alpha1.PhasePendingDependencies), "an update is required: "+o.occasion()),
		}
	}
	if o.DependencyError != nil {
		return raise(o.DependencyError)
	}
	if waiting := unready(o.Predecessors); len(waiting) > 0 && o.Operation != lsv1alpha1.OperationForceReconcile {
		return o.waitIn(o.Phase, because(lsv1alpha1.ReasonWaitingForPredecessors, "waiting for "+list(waiting)))
	}
	if o.ImportsMissing != nil {
		return raise(o.ImportsMissing)
	}
	return Decision{
		Do:   []Effect{Prepare{}, TellOfUpdate{}},
		Next: lsv1alpha1.PhaseProgressing,
		Why:  because(run.ReasonUpdated, "what is below has been updated: "+o.occasion()),
		// What is below changes over from another flow: that this has begun is known before.
		SaveFirst: !o.Entered && len(o.below()) > 0,
	}
}

func (o Observed) occasion() string {
	if why := o.outdated(); why != "" {
		return why
	}
	return "the operation annotation asks for it"
}

func raise(err error) Decision {
	return Decision{
		Do: []Effect{Fail{Err: err}}, Wait: true, Why: because(lsv1alpha1.ReasonWaitingForImports, err.Error()),
	}
}

// unready says of all predecessors that have no valid exports at present what is the matter with them.
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
	case p.Continuous && p.Operation != "":
		return "is asked to " + string(p.Operation)
	case p.Continuous && !p.UpToDate:
		return "has not taken its new spec into account"
	case p.Phase != lsv1alpha1.PhaseSucceeded:
		return "is in phase " + phaseOf(p.Phase)
	default:
		return ""
	}
}

// afterUpdate answers the annotation once the update is stored.
func afterUpdate(o Observed) Decision {
	if o.forced() || o.Operation == lsv1alpha1.OperationReconcile {
		d := dropOperation("operation "+string(o.Operation)+" has led to an update", true)
		d.Wait = false
		return d
	}
	return standard(o)
}

// AskedByUpdate are the children that have to be told of an update that has just been made, and what they are asked for: their specs need
// not have changed. Force is for all. Else one at rest that has failed tries again, and a nested installation looks at its imports if they
// are other ones.
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

// retries reports whether an update has what has failed try again. A change of the flow is no reason to.
func (o Observed) retries() bool {
	return o.Entered && !o.FlowOnly || o.Operation == lsv1alpha1.OperationReconcile
}

func ask(operation lsv1alpha1.Operation, children []Child) Decision {
	return Decision{
		Do:  []Effect{Ask{Operation: operation, Children: children}},
		Why: because(run.ReasonOperation, "operation "+string(operation)+" is passed on"),
	}
}

// dropOperation removes the annotation; after the status is stored if that tells of what the annotation has led to.
func dropOperation(why string, stored bool) Decision {
	return Decision{Do: []Effect{DropOperation{}}, SaveFirst: stored, Wait: !stored, Why: because(run.ReasonOperation, why)}
}

// complete takes over the state of what is below. It does so from Progressing, so that an error on the way is told.
func complete(o Observed) Decision {
	combined := o.combined()
	switch {
	case o.Exported && o.Operation != "":
		return dropOperation("operation "+string(o.Operation)+" has been done", true)
	case o.Exported:
		return rest("everything is installed")
	case o.Phase != lsv1alpha1.PhaseProgressing:
		return Decision{Next: lsv1alpha1.PhaseProgressing, Why: because(run.ReasonChangedBelow, "the state of what is below is taken over")}
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

// abort stops what is below, and stays.
func abort(o Observed) Decision {
	if o.aborted() && !o.Changed && !o.FlowOnly {
		d := dropOperation("it is aborted", true)
		d.Wait = !o.strays() && len(o.misfits(lsv1alpha1.FlowContinuous)) == 0
		return d
	}
	d := Decision{Next: lsv1alpha1.PhaseAborted, Why: because(
		lsv1alpha1.ReasonAborted,
		fmt.Sprintf(
			"aborted by annotation %s=%s; a reconcile or a change of the spec goes on",
			lsv1alpha1.OperationAnnotation,
			lsv1alpha1.OperationAbort,
		),
	)}
	running := filter(o.below(), func(c Child) bool {
		return c.Presence == Present && !c.Deleting && c.Busy() && c.Operation != lsv1alpha1.OperationAbort
	})
	if o.strays() {
		// Otherwise what is below would not follow a change of the flow that comes next.
		d.Do = append(d.Do, EnterFlow{})
	}
	if len(running) > 0 {
		d.Do = append(d.Do, Ask{Operation: lsv1alpha1.OperationAbort, Children: running})
	}
	return d
}

// waitIn waits in a phase for something that an event tells about. For whom it waits may be told late, if there is nothing else to tell.
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
