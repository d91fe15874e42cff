// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CriticalProblems lists defects that controllers ran into and survived, such as recovered panics.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=criticalproblems,singular=criticalproblems,shortName=cps,categories=espalier
type CriticalProblems struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec lists the problems.
	// +required
	Spec CriticalProblemsSpec `json:"spec"`

	// status is empty.
	// +optional
	Status CriticalProblemsStatus `json:"status,omitzero"`
}

// CriticalProblemsList is a list of CriticalProblems.
//
// +kubebuilder:object:root=true
type CriticalProblemsList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []CriticalProblems `json:"items"`
}

// CriticalProblemsSpec lists problems.
type CriticalProblemsSpec struct {
	// criticalProblem are the last problems, at most ten.
	// +optional
	CriticalProblems []CriticalProblem `json:"criticalProblem,omitempty"`
}

// MaxCriticalProblems is how many problems CriticalProblemsSpec holds.
const MaxCriticalProblems = 10

// CriticalProblem is a defect that a controller ran into.
type CriticalProblem struct {
	// podName is the pod in which it happened.
	// +optional
	PodName string `json:"podName,omitempty"`

	// creationTime is when it happened.
	// +optional
	CreationTime *metav1.Time `json:"creationTime,omitempty"`

	// description says what happened.
	// +optional
	Description string `json:"description,omitempty"`
}

// CriticalProblemsStatus is empty.
type CriticalProblemsStatus struct{}
