// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SyncObject is a lock by which several replicas of a controller agree which of them works on an object. It exists for
// clusters in which such controllers still run; the controllers of this project elect a leader instead.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=so,categories=espalier
// +kubebuilder:printcolumn:name="PodName",type=string,JSONPath=`.spec.podName`
// +kubebuilder:printcolumn:name="Kind",type=string,JSONPath=`.spec.kind`
// +kubebuilder:printcolumn:name="Name",type=string,JSONPath=`.spec.name`
type SyncObject struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says who works on what.
	// +required
	Spec SyncObjectSpec `json:"spec"`

	// status is empty.
	// +optional
	Status SyncObjectStatus `json:"status,omitzero"`
}

// SyncObjectList is a list of SyncObjects.
//
// +kubebuilder:object:root=true
type SyncObjectList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []SyncObject `json:"items"`
}

// SyncObjectSpec says who works on what.
type SyncObjectSpec struct {
	// podName is the pod that holds the lock.
	// +required
	PodName string `json:"podName"`

	// kind of the object that is locked.
	// +required
	Kind string `json:"kind"`

	// name of the object that is locked.
	// +required
	Name string `json:"name"`

	// prefix tells apart the controllers that lock objects of the same kind.
	// +required
	Prefix string `json:"prefix"`

	// lastUpdateTime is when the pod last confirmed that it holds the lock.
	// +required
	LastUpdateTime metav1.Time `json:"lastUpdateTime"`
}

// SyncObjectStatus is empty.
type SyncObjectStatus struct{}
