// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/api/deployer"
)

// ManagedDeployItemLabel is put on the objects that the deployer creates: the name of the deploy item. The helm deployer
// uses it as well when it applies what a chart renders.
const ManagedDeployItemLabel = GroupName + "/deployitem"

// ProviderConfiguration says which objects to apply.
//
// +kubebuilder:object:root=true
type ProviderConfiguration struct {
	metav1.TypeMeta `json:",inline"`

	// updateStrategy says how to change objects that exist. If it is empty, it is update.
	UpdateStrategy UpdateStrategy `json:"updateStrategy,omitempty"`

	// readinessChecks say when the objects are ready.
	ReadinessChecks deployer.ReadinessChecks `json:"readinessChecks,omitzero"`

	// manifests are the objects.
	Manifests []deployer.Manifest `json:"manifests,omitempty"`

	// exports say what to export from objects in the target cluster.
	Exports *deployer.Exports `json:"exports,omitempty"`

	// continuousReconcile applies the objects again at certain times.
	ContinuousReconcile *deployer.ContinuousReconcile `json:"continuousReconcile,omitempty"`

	// deletionGroups are the order in which objects are deleted with the deploy item.
	DeletionGroups []deployer.DeletionGroup `json:"deletionGroups,omitempty"`

	// deletionGroupsDuringUpdate are the order in which objects are deleted that an update no longer contains.
	DeletionGroupsDuringUpdate []deployer.DeletionGroup `json:"deletionGroupsDuringUpdate,omitempty"`
}

// UpdateStrategy says how to change objects that exist.
type UpdateStrategy string

// Update strategies.
const (
	// UpdateStrategyUpdate replaces the object. It is the default.
	UpdateStrategyUpdate UpdateStrategy = "update"
	// UpdateStrategyPatch sends the difference between the existing object and the manifest.
	UpdateStrategyPatch UpdateStrategy = "patch"
	// UpdateStrategyMerge adds to the existing object what it lacks.
	UpdateStrategyMerge UpdateStrategy = "merge"
	// UpdateStrategyMergeOverwrite adds to the existing object, and the manifest wins where both have a value.
	UpdateStrategyMergeOverwrite UpdateStrategy = "mergeOverwrite"
	// UpdateStrategyServerSideApply lets the API server merge: it knows which fields the deployer has set, and which
	// others have. Where both set a field, the manifest wins.
	UpdateStrategyServerSideApply UpdateStrategy = "serverSideApply"
)

// ProviderStatus says which objects were applied.
//
// +kubebuilder:object:root=true
type ProviderStatus struct {
	metav1.TypeMeta `json:",inline"`

	// managedResources are the objects.
	ManagedResources []deployer.ManagedResource `json:"managedResources,omitempty"`
}
