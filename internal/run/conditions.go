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

// conditions derives the standard conditions from the state that a step has led to. Ready is always there; Reconciling
// and Stalled only while they are true, as kstatus expects. Conditions of other types stay as they are.
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

// explain returns the reason and the message that all standard conditions carry.
func explain(phase lsv1alpha1.Phase, o Outcome) (reason, message string) {
	if o.Err == nil {
		return cmp.Or(o.Why.Code, string(phase)), o.Why.Message
	}
	if wait, ok := failure.AsWait(o.Err); ok {
		return cmp.Or(wait.Reason, string(phase)), wait.Error()
	}
	return capitalised(failure.DetailsOf(o.Err).Reason), o.Err.Error()
}

// capitalised gives a reason the form that the conventions of Kubernetes ask for. Those of errors that users know from before may have
// another one.
func capitalised(reason string) string {
	if reason == "" {
		return reason
	}
	return strings.ToUpper(reason[:1]) + reason[1:]
}

// Reasons of the conditions of a root while no job runs, beside those of the end of the last one.
const (
	// ReasonNotRequested says that nobody has asked for a job yet.
	ReasonNotRequested = "NoJobRequested"
	// ReasonRequested says that a job was asked for and has not begun.
	ReasonRequested = "Requested"
)

// AwaitRequest has the conditions of an object that never had a job say so.
func AwaitRequest(status *lsv1alpha1.RunStatus, message string, now time.Time) {
	ready := stamp(status, metav1.NewTime(now))
	ready.Type, ready.Status, ready.Reason, ready.Message = lsv1alpha1.ConditionReady, lsv1alpha1.ConditionFalse, ReasonNotRequested, message
	status.Conditions = replaceStandard(status.Conditions, []lsv1alpha1.Condition{ready})
}

// Announced reports whether the conditions say nothing of the end of the last job that could be taken for the end of the
// next one.
func Announced(status *lsv1alpha1.RunStatus) bool {
	return !slices.ContainsFunc(status.Conditions, func(c lsv1alpha1.Condition) bool {
		return c.Status == lsv1alpha1.ConditionTrue && (c.Type == lsv1alpha1.ConditionReady || c.Type == lsv1alpha1.ConditionStalled)
	})
}

// Announce takes back what the conditions say of the end of the last job: another one was asked for. This is stored
// before the request is removed, so that whoever sees that a request is gone and the object ready sees the end of the
// job that was asked for.
func Announce(status *lsv1alpha1.RunStatus, now time.Time) {
	AwaitBeginning(status, decision.Reason{Code: ReasonRequested, Message: "a job was requested"}, now)
}

// AwaitBeginning has the conditions say why a job has not begun, instead of how the job before has ended.
func AwaitBeginning(status *lsv1alpha1.RunStatus, why decision.Reason, now time.Time) {
	ready := stamp(status, metav1.NewTime(now))
	ready.Reason, ready.Message = why.Code, why.Message
	state := ready
	ready.Type, ready.Status = lsv1alpha1.ConditionReady, lsv1alpha1.ConditionUnknown
	state.Type, state.Status = lsv1alpha1.ConditionReconciling, lsv1alpha1.ConditionTrue
	status.Conditions = replaceStandard(status.Conditions, []lsv1alpha1.Condition{ready, state})
}

// withdraw restores what the conditions say of the end of the last job if the request for another one was taken back
// before it was granted.
func withdraw(status *lsv1alpha1.RunStatus, o Outcome) {
	announced := slices.ContainsFunc(status.Conditions, func(c lsv1alpha1.Condition) bool {
		return c.Type == lsv1alpha1.ConditionReady && c.Reason == ReasonRequested
	})
	if !announced || !status.Phase.IsFinal() || o.Err != nil || o.Why.Code == ReasonRequested {
		return
	}
	o.Why = decision.Reason{
		Code:    string(status.Phase),
		Message: "the last job has come to its end, and the request for another one was taken back",
	}
	if e := status.LastError; e != nil {
		o.Why = decision.Reason{Code: e.Reason, Message: e.Message}
	}
	status.Conditions = conditions(status, o, metav1.NewTime(o.Now))
}

func stamp(status *lsv1alpha1.RunStatus, at metav1.Time) lsv1alpha1.Condition {
	return lsv1alpha1.Condition{ObservedGeneration: status.ObservedGeneration, LastTransitionTime: at, LastUpdateTime: at}
}

// replaceStandard puts the wanted conditions in the place of all standard ones. Times move only when there is
// something new to tell, so that a pass that changes nothing writes nothing.
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
