// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Execution is the set of deploy items that an installation consists of, with the order in which they are deployed.
// Installations create it; it has the name of its installation.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=exec,categories=espalier
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="ExportRef",type=string,JSONPath=`.status.exportRef.name`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Execution struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the set of deploy items.
	// +required
	Spec ExecutionSpec `json:"spec"`

	// status says how far the execution has come. It is written by controllers.
	// +optional
	Status ExecutionStatus `json:"status,omitzero"`
}

// ExecutionList is a list of Executions.
//
// +kubebuilder:object:root=true
type ExecutionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Execution `json:"items"`
}

// ExecutionSpec is a set of deploy items. They are given in one of two forms; use Items and SetItems.
type ExecutionSpec struct {
	// context is the name of the Context with the registries and credentials to use. If it is empty, it is "default".
	// +optional
	Context string `json:"context,omitempty"`

	// flow is the flow of the installation that owns the execution. Job (default): the execution starts when it
	// gets a job ID. Continuous: it follows its spec.
	// +optional
	Flow Flow `json:"flow,omitempty"`

	// deployItems are the deploy items.
	// +optional
	// +kubebuilder:validation:MaxItems=2000
	// +kubebuilder:validation:XValidation:rule="(oldSelf.hasValue() && oldSelf.value() == self) || [self.transformMapEntry(i, item, {item.name: true})].all(names, self.all(item, !has(item.dependsOn) || item.dependsOn.all(d, d in names)))",optionalOldSelf=true,message="names of deploy items must be unique, and dependsOn must name deploy items of the list: correct the names or add the missing item"
	DeployItems []DeployItemTemplate `json:"deployItems,omitempty"`

	// deployItemsCompressed are the deploy items as a JSON list, compressed with gzip, in base64. If it is set,
	// deployItems does not count. It keeps large lists below the size limit of objects. To read it:
	// kubectl get execution NAME -o jsonpath='{.spec.deployItemsCompressed}' | base64 -d | gunzip
	// +optional
	// +kubebuilder:validation:Format=byte
	DeployItemsCompressed string `json:"deployItemsCompressed,omitempty"`
}

// DeployItemTemplate describes a DeployItem that an execution creates.
type DeployItemTemplate struct {
	// name of the deploy item, unique within the execution.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`

	// type says which deployer is responsible, for example landscaper.gardener.cloud/helm.
	// +required
	// +kubebuilder:validation:MinLength=1
	Type DeployItemType `json:"type"`

	// target names the Target to deploy to. Some deployers need none.
	// +optional
	// +kubebuilder:validation:XValidation:rule=`self.name != "" && has(self.namespace) && self.namespace != ""`,message="target needs a name and a namespace: set both, or remove target"
	Target *ObjectReference `json:"target,omitempty"`

	// labels are put on the DeployItem, where the API server rejects invalid ones.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// config says what to deploy. Its apiVersion and kind belong to the deployer.
	// +required
	// +kubebuilder:validation:EmbeddedResource
	// +kubebuilder:pruning:PreserveUnknownFields
	Configuration *runtime.RawExtension `json:"config"`

	// dependsOn are names of deploy items that must have succeeded before this one starts. When they are deleted, the
	// order is reversed.
	// +optional
	// +kubebuilder:validation:MaxItems=500
	DependsOn []string `json:"dependsOn,omitempty"`

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

// OnDeleteConfig says what a deployer does when a deploy item is deleted.
type OnDeleteConfig struct {
	// skipUninstallIfClusterRemoved leaves out the uninstallation if the target cluster no longer exists. It works for
	// clusters that a TargetSync knows.
	// +optional
	SkipUninstallIfClusterRemoved bool `json:"skipUninstallIfClusterRemoved,omitempty"`
}

// ExecutionStatus says how far an execution has come.
type ExecutionStatus struct {
	RunStatus `json:",inline"`

	// exportRef names the DataObject with the exports of all deploy items.
	// +optional
	ExportReference *ObjectReference `json:"exportRef,omitempty"`

	// deployItemCache lists the deploy items. If it is not set, they must be looked up.
	// +optional
	DeployItemCache *DeployItemCache `json:"deployItemCache,omitempty"`

	// deployItemGenerations are the generations that the last update of each deploy item was based on. Continuous flow
	// only.
	// +optional
	// +listType=map
	// +listMapKey=name
	DeployItemGenerations []DeployItemGeneration `json:"deployItemGenerations,omitempty"`
}

// DeployItemCache lists deploy items.
type DeployItemCache struct {
	// activeDIs are the deploy items that the execution contains.
	// +optional
	ActiveDIs []NamePair `json:"activeDIs,omitempty"`

	// orphanedDIs are the names of deploy items that the execution no longer contains and that are being deleted.
	// +optional
	OrphanedDIs []string `json:"orphanedDIs,omitempty"`
}

// DeployItemGeneration records what the last update of a deploy item was based on. If either generation has moved since,
// the deploy item needs an update.
type DeployItemGeneration struct {
	// name of the deploy item in the execution's spec.
	// +required
	Name string `json:"name"`

	// executionGeneration is metadata.generation of the execution at the last update of the deploy item.
	// +optional
	ExecutionGeneration int64 `json:"executionGeneration,omitempty"`

	// deployItemGeneration is metadata.generation of the DeployItem after that update.
	// +optional
	DeployItemGeneration int64 `json:"deployItemGeneration,omitempty"`
}
