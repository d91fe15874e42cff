// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeployItem is something that a deployer brings to a target, for example a Helm chart to a cluster. Executions create
// deploy items; one can also be created by hand and started by writing status.jobID.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=di,categories=espalier
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="ExportRef",type=string,JSONPath=`.status.exportRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type DeployItem struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec says what to deploy, and where.
	// +required
	Spec DeployItemSpec `json:"spec"`

	// status says how far the deploy item has come. It is written by the deployer, and by the controllers that start,
	// interrupt or time out the deploy item.
	// +optional
	Status DeployItemStatus `json:"status,omitzero"`
}

// DeployItemList is a list of DeployItems.
//
// +kubebuilder:object:root=true
type DeployItemList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []DeployItem `json:"items"`
}

// DeployItemType says which deployer is responsible for a deploy item.
type DeployItemType string

// Types of the deployers in this project.
const (
	DeployItemTypeManifest  DeployItemType = GroupName + "/kubernetes-manifest"
	DeployItemTypeHelm      DeployItemType = GroupName + "/helm"
	DeployItemTypeContainer DeployItemType = GroupName + "/container"
	DeployItemTypeMock      DeployItemType = GroupName + "/mock"
)

// DeployItemSpec says what to deploy, and where.
type DeployItemSpec struct {
	// type says which deployer is responsible, for example landscaper.gardener.cloud/helm. It cannot be changed, because
	// another deployer would not know what this one has deployed.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="type cannot be changed, because another deployer would not know what this one has deployed: delete the deploy item and create a new one"
	Type DeployItemType `json:"type"`

	// target names the Target to deploy to. Some deployers need none.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`self.name != "" && has(self.namespace) && self.namespace != ""`,message="target needs a name and a namespace: set both, or remove target"
	Target *ObjectReference `json:"target,omitempty"`

	// context is the name of the Context with the registries and credentials to use. If it is empty, it is "default".
	// +optional
	Context string `json:"context,omitempty"`

	// flow is the flow of the installation that the deploy item belongs to. Job (default): the deployer starts when
	// the deploy item gets a job ID. Continuous: it follows the spec.
	// +optional
	Flow Flow `json:"flow,omitempty"`

	// config says what to deploy. Its apiVersion and kind belong to the deployer.
	// +optional
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Configuration *runtime.RawExtension `json:"config,omitempty"`

	// timeout is how long the deployer may take; then the deploy item fails. If it is not set, it is 10m; none is no
	// limit.
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`

	// updateOnChangeOnly skips the deploy item in a job if it succeeded before and its spec has not changed.
	// +optional
	UpdateOnChangeOnly bool `json:"updateOnChangeOnly,omitempty"`

	// onDelete says what to do on deletion.
	// +optional
	OnDelete *OnDeleteConfig `json:"onDelete,omitempty"`
}

// DeployItemStatus says how far a deploy item has come.
type DeployItemStatus struct {
	RunStatus `json:",inline"`

	// firstError is the first error of the current or last job. It often explains more than the last one.
	// +optional
	FirstError *Error `json:"firstError,omitempty"`

	// lastErrors are the last errors of the current or last job, at most five, oldest first.
	// +optional
	LastErrors []Error `json:"lastErrors,omitempty"`

	// lastReconcileTime is when the deployer picked up the current or last job.
	// +optional
	LastReconcileTime *metav1.Time `json:"lastReconcileTime,omitempty"`

	// deployer is the deployer that picked it up.
	// +optional
	Deployer DeployerInformation `json:"deployer,omitzero"`

	// providerStatus is what the deployer records, for example the objects it has created. Its apiVersion and kind
	// belong to the deployer.
	// +optional
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	ProviderStatus *runtime.RawExtension `json:"providerStatus,omitempty"`

	// exportRef names the Secret with the exports of the deploy item.
	// +optional
	ExportReference *ObjectReference `json:"exportRef,omitempty"`

	// jobIDGenerationTime is when the deploy item got its current job ID. The pick-up timeout counts from here.
	// +optional
	JobIDGenerationTime *metav1.Time `json:"jobIDGenerationTime,omitempty"`

	// deployItemPhase has no effect. It is accepted because older objects contain it.
	// +optional
	DeployerPhase *string `json:"deployItemPhase,omitempty"`
}

// MaxLastErrors is how many errors DeployItemStatus.LastErrors holds.
const MaxLastErrors = 5

// DeployerInformation identifies the deployer that works on a deploy item.
type DeployerInformation struct {
	// identity distinguishes deployers of the same kind.
	// +required
	Identity string `json:"identity"`

	// name of the deployer.
	// +required
	Name string `json:"name"`

	// version of the deployer.
	// +required
	Version string `json:"version"`
}
