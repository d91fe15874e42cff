// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Blueprint says how to install a component: what must be imported, which deploy items and nested installations that
// gives, and what is exported. It is the file blueprint.yaml in a blueprint's directory.
//
// +kubebuilder:object:root=true
type Blueprint struct {
	metav1.TypeMeta `json:",inline"`

	// annotations of the blueprint.
	Annotations map[string]string `json:"annotations,omitempty"`

	// jsonSchemaVersion is the draft of JSON Schema that schemas without $schema are written in. If it is empty, it is
	// DefaultJSONSchemaVersion.
	JSONSchemaVersion string `json:"jsonSchemaVersion,omitempty"`

	// localTypes are JSON schemas that others refer to as local://NAME.
	LocalTypes map[string]AnyJSON `json:"localTypes,omitempty"`

	// imports that an installation must provide.
	Imports []ImportDefinition `json:"imports,omitempty"`

	// importExecutions are templates that add to the imports, or reject them.
	ImportExecutions []TemplateExecutor `json:"importExecutions,omitempty"`

	// exports that the blueprint provides.
	Exports []ExportDefinition `json:"exports,omitempty"`

	// subinstallations are nested installations.
	Subinstallations []SubinstallationTemplate `json:"subinstallations,omitempty"`

	// subinstallationExecutions are templates that give further nested installations.
	SubinstallationExecutions []TemplateExecutor `json:"subinstallationExecutions,omitempty"`

	// deployExecutions are templates that give deploy items.
	DeployExecutions []TemplateExecutor `json:"deployExecutions,omitempty"`

	// exportExecutions are templates that give the exports.
	ExportExecutions []TemplateExecutor `json:"exportExecutions,omitempty"`
}

// DefaultJSONSchemaVersion is the draft of JSON Schema that is meant if a blueprint names none.
const DefaultJSONSchemaVersion = "https://json-schema.org/draft/2019-09/schema"

// ImportType says what a blueprint import or export is.
type ImportType string

// Types of blueprint imports. Exports are data or target.
const (
	ImportTypeData       ImportType = "data"
	ImportTypeTarget     ImportType = "target"
	ImportTypeTargetList ImportType = "targetList"
	ImportTypeTargetMap  ImportType = "targetMap"
)

// FieldValueDefinition is what imports and exports of a blueprint have in common.
type FieldValueDefinition struct {
	// name of the import or export.
	Name string `json:"name"`

	// type of the import or export. If it is empty, it is data with a schema, and target with a targetType.
	Type ImportType `json:"type,omitempty"`

	// schema is the JSON schema of data.
	Schema *AnyJSON `json:"schema,omitempty"`

	// targetType is the type of the Targets. Without a slash it is one of this API group.
	TargetType string `json:"targetType,omitempty"`
}

// ImportDefinition declares an import of a blueprint.
type ImportDefinition struct {
	FieldValueDefinition `json:",inline"`

	// required is whether an installation must provide the import (default: true).
	Required *bool `json:"required,omitempty"`

	// default is the value of an import that is data, is not required, and is not provided.
	Default *ImportDefault `json:"default,omitempty"`

	// imports that are needed only if this one, which is not required, is provided.
	ConditionalImports []ImportDefinition `json:"imports,omitempty"`
}

// IsRequired reports whether an installation must provide the import.
func (d *ImportDefinition) IsRequired() bool {
	return d.Required == nil || *d.Required
}

// ImportDefault is the value of an import that is not provided.
type ImportDefault struct {
	// value of the import.
	Value AnyJSON `json:"value"`
}

// ExportDefinition declares an export of a blueprint.
type ExportDefinition struct {
	FieldValueDefinition `json:",inline"`
}

// TemplateType is the language of a template.
type TemplateType string

// Languages of templates.
const (
	TemplateTypeGo    TemplateType = "GoTemplate"
	TemplateTypeSpiff TemplateType = "Spiff"
)

// TemplateExecutor is a template in a blueprint. Either file or template is set.
type TemplateExecutor struct {
	// name of the template. The state that a template keeps is stored under it.
	Name string `json:"name,omitempty"`

	// type is the language of the template.
	Type TemplateType `json:"type,omitempty"`

	// file is the path of the template in the blueprint's directory.
	File string `json:"file,omitempty"`

	// template itself: text for GoTemplate, text or YAML for Spiff.
	Template *AnyJSON `json:"template,omitempty"`

	// allowMissingKeys lets a GoTemplate look up bindings and imports that do not exist, which yields nothing. Without it,
	// that is an error, because it is usually a misspelt name.
	AllowMissingKeys bool `json:"allowMissingKeys,omitempty"`
}

// SubinstallationTemplate is a nested installation in a blueprint: either a file or the fields of an
// InstallationTemplate.
type SubinstallationTemplate struct {
	// file is the path of an InstallationTemplate in the blueprint's directory.
	File string `json:"file,omitempty"`

	*InstallationTemplate `json:",inline"`
}
