// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// RunStatus is what the status of Installations, Executions and DeployItems have in common: where the current run
// stands.
type RunStatus struct {
	// observedGeneration is the metadata.generation that the last run took into account. If it is behind, the spec has
	// been changed since.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration"`

	// observedSpec is a hash of the spec at observedGeneration, without its flow. It
	// distinguishes a change of only the flow from other changes. Installations and Executions have it.
	// +optional
	ObservedSpec string `json:"observedSpec,omitempty"`

	// phase is where the current or last run stands.
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// phaseTransitionTime is when phase last changed.
	// +optional
	PhaseTransitionTime *metav1.Time `json:"phaseTransitionTime,omitempty"`

	// conditions describe single aspects of the state. Ready, Reconciling and Stalled summarise it.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`

	// lastError is the last error of the current or last run, or what it waits for.
	// +optional
	LastError *Error `json:"lastError,omitempty"`

	// jobID identifies the current or last job. A job walks through the whole tree of a root installation: the root
	// generates the ID and every object passes it on to the objects below it. To start a single Execution or
	// DeployItem by hand, write a new ID here.
	// +optional
	JobID string `json:"jobID,omitempty"`

	// jobIDFinished identifies the last job that the object has finished. The object is at work as long as it differs
	// from jobID.
	// +optional
	JobIDFinished string `json:"jobIDFinished,omitempty"`

	// jobIDRequested identifies the last job that was started by an operation annotation. It keeps one request from
	// starting two jobs.
	// +optional
	JobIDRequested string `json:"jobIDRequested,omitempty"`

	// lastHandledReconcileAt is the value of the annotation reconcile.fluxcd.io/requestedAt that was answered last, by
	// requesting a reconcile.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// transitionTimes are the times at which the current or last job reached its stages.
	// +optional
	TransitionTimes *TransitionTimes `json:"transitionTimes,omitempty"`
}

// IsFinished reports whether the object has no job to do. It is the only test for that.
func (s *RunStatus) IsFinished() bool {
	return s.JobID == s.JobIDFinished
}

// TransitionTimes are the times at which a job reached its stages in one object.
type TransitionTimes struct {
	// triggerTime is when the object got the job's ID.
	// +optional
	TriggerTime *metav1.Time `json:"triggerTime,omitempty"`

	// initTime is when work on it started.
	// +optional
	InitTime *metav1.Time `json:"initTime,omitempty"`

	// waitTime is when its own work was done and it started to wait for the objects below it, or for readiness.
	// +optional
	WaitTime *metav1.Time `json:"waitTime,omitempty"`

	// finishedTime is when it finished the job.
	// +optional
	FinishedTime *metav1.Time `json:"finishedTime,omitempty"`
}
