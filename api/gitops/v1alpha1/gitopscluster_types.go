// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// GitopsCluster says how to reach a cluster. Pipelines refer to it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type GitopsCluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where the kubeconfig of the cluster is.
	// +optional
	Spec GitopsClusterSpec `json:"spec,omitzero"`

	// status says whether the cluster can be reached.
	// +optional
	Status GitopsClusterStatus `json:"status,omitzero"`
}

// GitopsClusterList is a list of GitopsClusters.
//
// +kubebuilder:object:root=true
type GitopsClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GitopsCluster `json:"items"`
}

// GitopsClusterSpec says where the kubeconfig of a cluster is.
type GitopsClusterSpec struct {
	// secretRef names a Secret in the same namespace with the kubeconfig.
	// +optional
	SecretRef *LocalObjectReference `json:"secretRef,omitempty"`

	// capiClusterRef names a Cluster of Cluster API in the same namespace, whose kubeconfig is used.
	// +optional
	CAPIClusterRef *LocalObjectReference `json:"capiClusterRef,omitempty"`
}

// LocalObjectReference names an object in the same namespace.
type LocalObjectReference struct {
	// name of the object.
	// +required
	Name string `json:"name"`
}

// GitopsClusterStatus says whether a cluster can be reached.
type GitopsClusterStatus struct {
	// conditions describe single aspects of the state. Ready says whether the cluster can be used.
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}
