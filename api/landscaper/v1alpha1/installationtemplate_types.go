// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// InstallationTemplate describes a nested installation in a blueprint. It is a file format.
//
// +kubebuilder:object:root=true
type InstallationTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// name of the nested installation, unique within the blueprint.
	Name string `json:"name"`

	// blueprint of the nested installation.
	Blueprint InstallationTemplateBlueprint `json:"blueprint"`

	// imports say where the imports of the nested installation come from: imports of the parent, or exports of other
	// nested installations.
	Imports InstallationImports `json:"imports,omitzero"`

	// importDataMappings restructure the imported data, as in an Installation.
	ImportDataMappings map[string]AnyJSON `json:"importDataMappings,omitempty"`

	// exports say where the exports of the nested installation go.
	Exports InstallationExports `json:"exports,omitzero"`

	// exportDataMappings restructure the exported data, as in an Installation.
	ExportDataMappings map[string]AnyJSON `json:"exportDataMappings,omitempty"`

	// optimization is passed on to the nested installation.
	Optimization *Optimization `json:"optimization,omitempty"`
}

// InstallationTemplateBlueprint names or contains the blueprint of a nested installation. Exactly one field is set.
type InstallationTemplateBlueprint struct {
	// ref is a path through the component, for example cd://componentReferences/db/resources/blueprint.
	Ref string `json:"ref,omitempty"`

	// filesystem is the blueprint's directory, as in an Installation.
	Filesystem *AnyJSON `json:"filesystem,omitempty"`
}
