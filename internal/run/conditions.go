// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/failure"
)

// conditions derives the standard conditions from the state after a step. Ready always exists; Reconciling and Stalled only
// while they are true, as kstatus expects. Conditions of other types do not change.
func conditions(status *lsv1alpha1.RunStatus, o Outcome, at metav1.Time) []lsv1alpha1.Condition {
	told := stamp(status, at)
	told.Status = lsv1alpha1.ConditionTrue
	told.Reason, told.Message = explain(status.Phase, o)
	ready, state := told, told
	ready.Type = lsv1alpha1.ConditionReady
	switch {
	case status.Phase == lsv1alpha1.PhaseSucceeded:
	case status.Phase.IsFinal():
		state.Type = lsv1alpha1.ConditionStalled
	default:
		state.Type = lsv1alpha1.ConditionReconciling
	}
	wanted := []lsv1alpha1.Condition{ready}
	if state.Type != "" {
		wanted[0].Status = lsv1alpha1.ConditionFalse
		wanted = append(wanted, state)
	}
	return replaceStandard(status.Conditions, wanted)
}

// explain returns the reason and the message of all standard conditions.
func explain(phase lsv1alpha1.Phase, o Outcome) (reason, message string) {
	if o.Err == nil {
		return cmp.Or(o.Why.Code, string(phase)), o.Why.Message
	}
	if wait, ok := failure.AsWait(o.Err); ok {
		return cmp.Or(wait.Reason, string(phase)), wait.Error()
	}
	return capitalised(failure.DetailsOf(o.Err).Reason), o.Err.Error()
}

// capitalised converts a reason to the form that Kubernetes conventions require. Established reasons of errors may differ from that.
func capitalised(reason string) string {
	if reason == "" {
		return reason
	}
	return strings.ToUpper(reason[:1]) + reason[1:]
}

// These are the reasons of the conditions of a root while no job runs, in addition to those of the last job's result.
const (
	// ReasonNotRequested means that no job was requested yet.
	ReasonNotRequested = "NoJobRequested"
	// ReasonRequested means that a requested job has not started.
	ReasonRequested = "Requested"
	// ReasonSuspended means that no new run starts because a user has suspended the root; ReasonSuspendInvalid means that the annotation for
	// it has no effect.
	ReasonSuspended      = "Suspended"
	ReasonSuspendInvalid = "SuspendInvalid"
)

// AwaitRequest makes the conditions of an object that never had a job report that.
func AwaitRequest(status *lsv1alpha1.RunStatus, message string, now time.Time) {
	awaitFirst(status, decision.Reason{Code: ReasonNotRequested, Message: message}, now)
}

// AwaitResumption makes the conditions of an object that never ran report that it is suspended.
func AwaitResumption(status *lsv1alpha1.RunStatus, message string, now time.Time) {
	awaitFirst(status, decision.Reason{Code: ReasonSuspended, Message: message}, now)
}

func awaitFirst(status *lsv1alpha1.RunStatus, why decision.Reason, now time.Time) {
	ready := stamp(status, metav1.NewTime(now))
	ready.Type, ready.Status, ready.Reason, ready.Message = lsv1alpha1.ConditionReady, lsv1alpha1.ConditionFalse, why.Code, why.Message
	status.Conditions = replaceStandard(status.Conditions, []lsv1alpha1.Condition{ready})
}

// Announced reports whether the conditions show no result of the last job that could be mistaken for that of the next one.
func Announced(status *lsv1alpha1.RunStatus) bool {
	return !slices.ContainsFunc(status.Conditions, func(c lsv1alpha1.Condition) bool {
		return c.Status == lsv1alpha1.ConditionTrue && (c.Type == lsv1alpha1.ConditionReady || c.Type == lsv1alpha1.ConditionStalled)
	})
}

// Announce removes the result of the last job from the conditions, because another job was requested. This is stored before the request is
// removed, so that a client that sees the object ready without a request sees the result of the requested job.
func Announce(status *lsv1alpha1.RunStatus, now time.Time) {
	AwaitBeginning(status, decision.Reason{Code: ReasonRequested, Message: "a job was requested"}, now)
}

// AwaitBeginning makes the conditions report why a job has not started, instead of the result of the previous job.
func AwaitBeginning(status *lsv1alpha1.RunStatus, why decision.Reason, now time.Time) {
	ready := stamp(status, metav1.NewTime(now))
	ready.Reason, ready.Message = why.Code, why.Message
	state := ready
	ready.Type, ready.Status = lsv1alpha1.ConditionReady, lsv1alpha1.ConditionUnknown
	state.Type, state.Status = lsv1alpha1.ConditionReconciling, lsv1alpha1.ConditionTrue
	status.Conditions = replaceStandard(status.Conditions, []lsv1alpha1.Condition{ready, state})
}

// Withdraw restores the result of the last job in the conditions if the request for another one was withdrawn before it was granted, or
// must wait because a user has suspended the object.
func Withdraw(status *lsv1alpha1.RunStatus, o Outcome) {
	announced := slices.ContainsFunc(status.Conditions, func(c lsv1alpha1.Condition) bool {
		return c.Type == lsv1alpha1.ConditionReady && c.Reason == ReasonRequested
	})
	if !announced || !status.Phase.IsFinal() || o.Err != nil || o.Why.Code == ReasonRequested {
		return
	}
	message := "the last job has finished, and the request for another one was withdrawn"
	if o.Why.Code == ReasonSuspended {
		message = "the last job has finished; the next one starts when the installation is resumed"
	}
	o.Why = decision.Reason{Code: string(status.Phase), Message: message}
	if e := status.LastError; e != nil {
		o.Why = decision.Reason{Code: e.Reason, Message: e.Message}
	}
	status.Conditions = conditions(status, o, metav1.NewTime(o.Now))
}

func stamp(status *lsv1alpha1.RunStatus, at metav1.Time) lsv1alpha1.Condition {
	return lsv1alpha1.Condition{ObservedGeneration: status.ObservedGeneration, LastTransitionTime: at, LastUpdateTime: at}
}

// replaceStandard replaces all standard conditions by the wanted ones. Times change only if the report changes, so that a
// pass that changes nothing writes nothing.
func replaceStandard(before, wanted []lsv1alpha1.Condition) []lsv1alpha1.Condition {
	after := slices.DeleteFunc(slices.Clone(before), func(c lsv1alpha1.Condition) bool { return standard(c.Type) })
	for _, c := range wanted {
		if i := slices.IndexFunc(before, func(b lsv1alpha1.Condition) bool { return b.Type == c.Type }); i >= 0 {
			keepTimes(&c, before[i])
		}
		after = append(after, c)
	}
	return after
}

func keepTimes(c *lsv1alpha1.Condition, before lsv1alpha1.Condition) {
	if c.Status != before.Status {
		return
	}
	c.LastTransitionTime = before.LastTransitionTime
	if c.Reason == before.Reason && c.Message == before.Message && c.ObservedGeneration == before.ObservedGeneration {
		c.LastUpdateTime = before.LastUpdateTime
	}
}

func standard(kind lsv1alpha1.ConditionType) bool {
	return kind == lsv1alpha1.ConditionReady || kind == lsv1alpha1.ConditionReconciling || kind == lsv1alpha1.ConditionStalled
}
