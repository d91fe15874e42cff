// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ReferenceGrant lets objects of other namespaces refer to objects of the namespace that it is in. It has the shape of the ReferenceGrant
// of the Gateway API. Without a grant, a reference into another namespace does not hold: nothing there is read, watched or changed on its
// account. Grants add up; each pair of one entry of from and one entry of to is permitted.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=espalier
// +kubebuilder:printcolumn:name="From Kind",type=string,JSONPath=`.spec.from[*].kind`
// +kubebuilder:printcolumn:name="From Namespace",type=string,JSONPath=`.spec.from[*].namespace`
// +kubebuilder:printcolumn:name="To Kind",type=string,JSONPath=`.spec.to[*].kind`
// +kubebuilder:printcolumn:name="To Name",type=string,JSONPath=`.spec.to[*].name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ReferenceGrant struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says who may refer to what.
	// +required
	Spec ReferenceGrantSpec `json:"spec"`
}

// ReferenceGrantList is a list of ReferenceGrants.
//
// +kubebuilder:object:root=true
type ReferenceGrantList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ReferenceGrant `json:"items"`
}

// ReferenceGrantSpec says who may refer to what.
type ReferenceGrantSpec struct {
	// from lists who may refer: objects of a kind in another namespace. Each entry counts by itself.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	From []ReferenceGrantFrom `json:"from"`

	// to lists what they may refer to: objects of a kind in the namespace of the grant. Each entry counts by itself.
	// +required
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	To []ReferenceGrantTo `json:"to"`
}

// ReferenceGrantFrom are objects of a kind in a namespace, which may refer.
type ReferenceGrantFrom struct {
	// group of the kind that refers: pipelines.weave.works for Pipelines.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`

	// kind that refers: Pipeline.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`
	Kind string `json:"kind"`

	// namespace of the objects that refer. There is no way to name all namespaces.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace"`
}

// ReferenceGrantTo are objects of a kind in the namespace of the grant, which may be referred to.
type ReferenceGrantTo struct {
	// group of the kind that is referred to, for example helm.toolkit.fluxcd.io. It is empty for kinds of the core of Kubernetes.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`

	// kind that is referred to: that of the application, for example HelmRelease, Kustomization or Installation, or Target or
	// GitopsCluster if it is a cluster that is referred to.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`
	Kind string `json:"kind"`

	// name of the object that is referred to. If it is empty, all objects of the kind in the namespace may be referred to.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}
