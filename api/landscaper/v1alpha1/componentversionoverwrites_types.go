// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ComponentVersionOverwrites replaces components, their versions or their repositories wherever installations refer to
// them. A Context puts it into effect.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=componentversionoverwrites,singular=componentversionoverwrite,shortName=compveroverwrite;cvo,categories=espalier
type ComponentVersionOverwrites struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// overwrites are applied in order. Each of repository, name and version is replaced at most once.
	// +optional
	Overwrites []ComponentVersionOverwrite `json:"overwrites,omitempty"`
}

// ComponentVersionOverwritesList is a list of ComponentVersionOverwrites.
//
// +kubebuilder:object:root=true
type ComponentVersionOverwritesList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ComponentVersionOverwrites `json:"items"`
}

// ComponentVersionOverwrite replaces one component by another.
type ComponentVersionOverwrite struct {
	// source says which references are replaced. What it leaves open matches everything.
	// +required
	Source ComponentVersionOverwriteReference `json:"source"`

	// substitution says what they are replaced by. What it leaves open stays as it is.
	// +required
	Substitution ComponentVersionOverwriteReference `json:"substitution"`
}

// ComponentVersionOverwriteReference describes references to components by any of their parts.
type ComponentVersionOverwriteReference struct {
	// repositoryContext says where the component is stored.
	// +optional
	RepositoryContext *AnyJSON `json:"repositoryContext,omitempty"`

	// componentName is the name of the component.
	// +optional
	ComponentName string `json:"componentName,omitempty"`

	// version of the component.
	// +optional
	Version string `json:"version,omitempty"`
}
