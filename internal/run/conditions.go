// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// conditions derives the standard conditions from the state that a step has led to. Ready is always there; Reconciling
// and Stalled only while they are true, as kstatus expects. Conditions of other types stay as they are.
func conditions(status *lsv1alpha1.RunStatus, o Outcome, at metav1.Time) []lsv1alpha1.Condition {
	told := lsv1alpha1.Condition{
		ObservedGeneration: status.ObservedGeneration, LastTransitionTime: at, LastUpdateTime: at, Status: lsv1alpha1.ConditionTrue,
	}
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
	return failure.DetailsOf(o.Err).Reason, o.Err.Error()
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
