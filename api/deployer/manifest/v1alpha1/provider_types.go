// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"espalier.dev/api/deployer"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
)

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
	Manifests []runtime.RawExtension `json:"manifests,omitempty"`

	// exports say what to export from objects in the target cluster.
	Exports *deployer.Exports `json:"exports,omitempty"`

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
)

// ProviderStatus says which objects were applied.
//
// +kubebuilder:object:root=true
type ProviderStatus struct {
	metav1.TypeMeta `json:",inline"`

	// managedResources are the objects.
	ManagedResources []landscaper.TypedObjectReference `json:"managedResources,omitempty"`
}
