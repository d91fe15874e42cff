// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// These are the codes of reasons of the continuous flow, in addition to those of the API. The list is closed.
const (
	// ReasonIdle means that there is nothing to do.
	ReasonIdle = "Idle"
	// ReasonIgnored means that the annotation freezes the object.
	ReasonIgnored = "Ignored"
	// ReasonHeld means that the finalizer was added.
	ReasonHeld = "Held"
	// ReasonUpdated means that what is below has been updated.
	ReasonUpdated = "Updated"
	// ReasonChangedBelow means that the state of what is below has changed.
	ReasonChangedBelow = "ChangedBelow"
	// ReasonSubObjectFailed and ReasonSubObjectAborted mean that a phase follows from what is below.
	ReasonSubObjectFailed  = "SubObjectFailed"
	ReasonSubObjectAborted = "SubObjectAborted"
	// ReasonOperation means that an operation from the annotation is being processed.
	ReasonOperation = "Operation"
	// ReasonFlowChanged means that the object leaves the continuous flow.
	ReasonFlowChanged = "FlowChanged"
	// ReasonStandstill means that nothing below continues by itself, because of failures there.
	ReasonStandstill = "Standstill"
	// ReasonExportsGone means that exported objects have vanished.
	ReasonExportsGone = "ExportsGone"
	// ReasonDeleting means that what is below is being deleted.
	ReasonDeleting = "Deleting"
	// ReasonNotDeleted means that something below could not be deleted.
	ReasonNotDeleted = "SubObjectNotDeleted"
	// ReasonFlowChangeRefused means that spec.flow was changed at a time at which it must not change.
	ReasonFlowChangeRefused = "FlowChangeRefused"
)

// EndedByItself reports whether the object itself determined its completed phase in the continuous flow: it was aborted, or could not do
// its part. All other phases follow from what is below.
func EndedByItself(status *lsv1alpha1.RunStatus) bool {
	if status.Phase != lsv1alpha1.PhaseFailed && status.Phase != lsv1alpha1.PhaseAborted {
		return false
	}
	reason := ReadyReason(status)
	return reason != ReasonSubObjectFailed && reason != ReasonSubObjectAborted
}

// ReadyReason returns the reason of the condition Ready.
func ReadyReason(status *lsv1alpha1.RunStatus) string {
	i := slices.IndexFunc(status.Conditions, func(c lsv1alpha1.Condition) bool { return c.Type == lsv1alpha1.ConditionReady })
	if i < 0 {
		return ""
	}
	return status.Conditions[i].Reason
}

// FrozenMessage says that the annotation freezes an object, and its deletion if that was requested.
func FrozenMessage(deleting bool) string {
	message := "frozen by annotation " + lsv1alpha1.IgnoreAnnotation
	if deleting {
		message += "; the requested deletion starts once the annotation is removed"
	}
	return message
}

// Asked reports whether the continuous flow handles an operation.
func Asked(operation lsv1alpha1.Operation) bool {
	return operation == lsv1alpha1.OperationReconcile || operation == lsv1alpha1.OperationForceReconcile ||
		operation == lsv1alpha1.OperationAbort
}

// SettleContinuously is Settle for the continuous flow, in which phases, rather than jobs, start and end.
func SettleContinuously(status *lsv1alpha1.RunStatus, outcome Outcome) {
	before, at := status.Phase, metav1.NewTime(outcome.Now)
	Settle(status, outcome)
	switch {
	case status.Phase == before:
	case status.Phase.IsFinal():
		times(status).FinishedTime = &at
	case before == "" || before.IsFinal():
		status.TransitionTimes = &lsv1alpha1.TransitionTimes{TriggerTime: &at, InitTime: &at}
	}
}
