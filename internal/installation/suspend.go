// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// Suspending a root keeps new runs of its tree from starting, in either flow: jobs, updates, and the repair of objects that other clients
// have changed. Requests made meanwhile stay pending. A run in progress continues to its end; an interrupt, an abort and a deletion are
// executed as usual.

// Suspension tells whether the annotations of an installation permit new runs.
type Suspension struct {
	// On means that no run starts.
	On bool
	// Why is who suspended it and why, as far as known, in the words of the annotation.
	Why string
	// Fault is why the annotation has no effect; empty if it has one, or is missing.
	Fault string
}

const (
	suspended    = "true"
	notSuspended = "false"
	// maxSuspendValue limits how many characters of an invalid value are shown.
	maxSuspendValue = 40
)

// SuspensionOf reads the annotations of an installation. Those of a nested one have no effect.
func SuspensionOf(inst metav1.Object) Suspension {
	value, found := inst.GetAnnotations()[lsv1alpha1.SuspendAnnotation]
	switch {
	case !found || value == notSuspended:
		return Suspension{}
	case value != suspended:
		return Suspension{Fault: fmt.Sprintf(
			"annotation %s=%s has no effect: set it to %q or %q",
			lsv1alpha1.SuspendAnnotation, cmp.Or(run.OneLine(value, maxSuspendValue), `""`), suspended, notSuspended,
		)}
	case !IsRoot(inst):
		return Suspension{Fault: fmt.Sprintf(
			"annotation %s has no effect on a nested installation: suspend the root of the tree", lsv1alpha1.SuspendAnnotation,
		)}
	}
	return Suspension{On: true, Why: inst.GetAnnotations()[lsv1alpha1.SuspendReasonAnnotation]}
}

// String describes the suspension: by whom and why.
func (s Suspension) String() string { return run.Suspended(s.Why) }

// HeldBack reports whether a root rests because it is suspended. A granted job counts as started: it may have started, in a pass whose
// status write was rejected because of the suspension. A request that was executed in this pass and must only be removed counts as started
// too.
func (o Observed) HeldBack() bool {
	switch {
	case !o.Suspension.On || o.Deleting:
		return false
	case o.Continuous:
		return o.rests() && !o.Updated
	default:
		return o.Root && !o.Job.Running() && o.Job.Open(o.Request) != run.OpenByAdoption
	}
}

// rests reports whether no update is in progress, and every pending request is one that a suspension holds back.
func (o Observed) rests() bool {
	answered := o.Exported && o.Operation == lsv1alpha1.OperationReconcile
	return (o.Operation == "" || o.wantsUpdate()) && !answered && (o.Phase == "" || o.Phase.IsCompleted()) && o.Unrecorded == ""
}

// Frozen reports whether the annotation ignore freezes the installation.
func (o Observed) Frozen() bool { return o.Ignored && o.Phase.IsCompleted() && o.Unrecorded == "" }

// keepsStill is HeldBack in the continuous flow, where the finalizer comes before everything else, unless nothing was done yet.
func (o Observed) keepsStill() bool { return o.HeldBack() && (o.Finalizer || o.Phase == "") }

// wantsUpdate reports whether the annotation requests work, rather than an abort.
func (o Observed) wantsUpdate() bool {
	return o.forced() || o.Operation == lsv1alpha1.OperationReconcile
}

// updatesLater reports whether there are changes since the update in progress started: they require another one, which a suspension holds
// back.
func (o Observed) updatesLater() bool {
	news := o.Changed || len(o.ImportsChanged) > 0 || o.importsGone() || o.Unrecorded != ""
	began := o.Unrecorded != "" && o.Unrecorded == o.UpdateVersion()
	return o.Suspension.On && !o.Deleting && o.Phase != lsv1alpha1.PhasePendingDependencies && o.Entered && news && !began
}

// cannotExport reports whether the update in progress must not end: its exports are computed from the spec and the imports, which have
// changed since it started. What has failed below is reported nevertheless.
func (o Observed) cannotExport(combined lsv1alpha1.Phase) bool {
	return o.updatesLater() && combined != lsv1alpha1.PhaseFailed && combined != lsv1alpha1.PhaseAborted
}

// awaitResumption delays an update that cannot export until a user resumes the installation, which permits the next update.
func (o Observed) awaitResumption() Decision {
	why := cmp.Or(o.outdated(), "an earlier update is incomplete")
	if gone := o.childGone(); gone != "" && gone != why {
		why += ", and " + gone
	}
	return wait(run.ReasonSuspended, fmt.Sprintf("the update waits before its exports: %s; %s", why, o.Suspension.advice(o.Name)))
}

// forcesLater reports whether force is requested during an update that is the last one for now.
func (o Observed) forcesLater() bool {
	return o.Suspension.On && !o.Deleting && o.Phase != lsv1alpha1.PhasePendingDependencies && o.forced()
}

// keepStill waits until a user resumes the installation.
func keepStill(o Observed) Decision { return stay(run.ReasonSuspended, o.Suspension.advice(o.Name)) }

// advice describes the suspension and how to end it.
func (s Suspension) advice(name string) string {
	return fmt.Sprintf("%s; new runs start after espalier resume %s", s, name)
}

// noteSuspension records in the status that the installation is suspended, or why the annotation has no effect, and removes the record
// later. For an installation that never ran, the condition Ready shows it too.
func noteSuspension(inst *lsv1alpha1.Installation, d Decision, now time.Time) {
	status, s := &inst.Status, SuspensionOf(inst)
	at := metav1.NewTime(now)
	c := lsv1alpha1.Condition{
		Type: lsv1alpha1.ConditionSuspended, LastTransitionTime: at, LastUpdateTime: at, ObservedGeneration: status.ObservedGeneration,
	}
	switch {
	case s.On:
		c.Status, c.Reason, c.Message = lsv1alpha1.ConditionTrue, run.ReasonSuspended, s.advice(inst.Name)
	case s.Fault != "":
		c.Status, c.Reason, c.Message = lsv1alpha1.ConditionFalse, run.ReasonSuspendInvalid, s.Fault
	default:
		is := func(b lsv1alpha1.Condition) bool { return b.Type == c.Type }
		if slices.ContainsFunc(status.Conditions, is) {
			status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions), is)
		}
		return
	}
	set(status, c)
	if d.Why.Code == run.ReasonSuspended && status.Phase == "" {
		run.AwaitResumption(&status.RunStatus, d.Why.Message, now)
	}
}
