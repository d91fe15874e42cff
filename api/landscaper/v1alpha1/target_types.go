// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Target is a place that deployers deploy to, and how to get there: in most cases a Kubernetes cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:shortName=tgt;tg,categories=espalier
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Context",type=string,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/context']`
// +kubebuilder:printcolumn:name="Key",type=string,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/key']`
// +kubebuilder:printcolumn:name="Idx",type=string,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/index']`
// +kubebuilder:printcolumn:name="TMKey",type=string,JSONPath=`.metadata.labels['data\.landscaper\.gardener\.cloud\/targetmapkey']`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Target struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what kind of place it is and how to get there. It contains at most one of config and secretRef.
	// +required
	Spec TargetSpec `json:"spec"`
}

// TargetList is a list of Targets.
//
// +kubebuilder:object:root=true
type TargetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Target `json:"items"`
}

// TargetType says what kind of place a Target is, and thereby what its configuration looks like.
type TargetType string

// TargetTypeKubernetesCluster is the type of Targets that are Kubernetes clusters. KubernetesClusterConfig describes its
// configuration.
const TargetTypeKubernetesCluster TargetType = GroupName + "/kubernetes-cluster"

// TargetSpec says what kind of place a Target is and how to get there.
//
// config may be any JSON, so it has no type that a rule could rely on; dyn lets the rule ask whether it is there.
//
// +kubebuilder:validation:XValidation:rule="!(has(dyn(self).config) && has(self.secretRef)) || (oldSelf.hasValue() && has(dyn(oldSelf.value()).config) && has(oldSelf.value().secretRef))",optionalOldSelf=true,message="config and secretRef must not be set together: keep the one that holds the access data"
type TargetSpec struct {
	// type says what kind of place it is, for example landscaper.gardener.cloud/kubernetes-cluster.
	// +required
	Type TargetType `json:"type"`

	// config says how to get there; its form depends on the type. It must not be set together with secretRef.
	// +optional
	Configuration *AnyJSON `json:"config,omitempty"`

	// secretRef names a Secret in the same namespace that contains what would otherwise be in config. It must not be set
	// together with config.
	// +optional
	SecretRef *LocalSecretReference `json:"secretRef,omitempty"`
}
