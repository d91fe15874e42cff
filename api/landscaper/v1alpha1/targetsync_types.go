// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// TargetSync creates Targets for clusters whose credentials are kept in another cluster: one for each Secret with a
// kubeconfig, or one for each Gardener shoot. A namespace has at most one TargetSync.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=tgs,categories=espalier
// +kubebuilder:printcolumn:name="Source",type=string,JSONPath=`.spec.sourceNamespace`
// +kubebuilder:printcolumn:name="Updated",type=date,JSONPath=`.status.lastUpdateTime`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Errors",type=string,priority=1,JSONPath=`.status.lastErrors[*]`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type TargetSync struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says where the credentials are and which Targets to create.
	// +required
	Spec TargetSyncSpec `json:"spec"`

	// status says how the last synchronisation went.
	// +optional
	Status TargetSyncStatus `json:"status,omitzero"`
}

// TargetSyncList is a list of TargetSyncs.
//
// +kubebuilder:object:root=true
type TargetSyncList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TargetSync `json:"items"`
}

// TargetSyncSpec says where credentials are and which Targets to create. Set at most one of secretNameExpression and
// shootNameExpression.
type TargetSyncSpec struct {
	// sourceNamespace is the namespace in the other cluster that contains the Secrets or shoots.
	// +required
	SourceNamespace string `json:"sourceNamespace"`

	// secretRef names the Secret, in the namespace of the TargetSync, with a kubeconfig for the other cluster. If key is empty, it is
	// kubeconfig.
	// +required
	SecretRef LocalSecretReference `json:"secretRef"`

	// createTargetToSource also creates a Target for the other cluster itself.
	// +optional
	CreateTargetToSource bool `json:"createTargetToSource,omitempty"`

	// targetToSourceName is the name of that Target. If it is empty, it is sourceNamespace.
	// +optional
	TargetToSourceName string `json:"targetToSourceName,omitempty"`

	// secretNameExpression chooses the Secrets by name: a regular expression in RE2 syntax, or * for all. If it is
	// empty, no Secret is synchronised.
	// +optional
	SecretNameExpression string `json:"secretNameExpression,omitempty"`

	// shootNameExpression chooses the shoots by name: a regular expression in RE2 syntax, or * for all. The Targets get
	// short-lived credentials, which are renewed in time. If it is empty, no shoot is synchronised.
	// +optional
	ShootNameExpression string `json:"shootNameExpression,omitempty"`

	// tokenRotation renews the token in secretRef before it expires. The only user of the kubeconfig there has the name of the service
	// account in sourceNamespace that the token belongs to.
	// +optional
	TokenRotation *TokenRotation `json:"tokenRotation,omitempty"`
}

// TokenRotation renews a token before it expires.
type TokenRotation struct {
	// enabled turns the rotation on: every 60 days the token is replaced by a new one that is valid for 90.
	// +optional
	Enabled bool `json:"enabled,omitempty"`
}

// TargetSyncStatus says how a synchronisation went.
type TargetSyncStatus struct {
	// observedGeneration is the metadata.generation that the last synchronisation took into account.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration"`

	// lastUpdateTime is when a synchronisation last changed something: a Target, a Secret or this status.
	// +optional
	LastUpdateTime *metav1.Time `json:"lastUpdateTime,omitempty"`

	// lastErrors are what went wrong in the last synchronisation.
	// +optional
	LastErrors []string `json:"lastErrors,omitempty"`

	// lastTokenRotationTime is when the token was last replaced.
	// +optional
	LastTokenRotationTime *metav1.Time `json:"lastTokenRotationTime,omitempty"`

	// lastHandledReconcileAt is the value of the annotation reconcile.fluxcd.io/requestedAt that the last synchronisation has seen.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// conditions have the type Ready: whether all Targets are as the source wants them.
	// +optional
	Conditions []Condition `json:"conditions,omitempty"`
}
