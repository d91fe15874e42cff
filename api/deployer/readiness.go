// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import landscaper "espalier.dev/api/landscaper/v1alpha1"

// ReadinessChecks say when what was deployed is ready. By default the kinds that Kubernetes itself defines are checked.
type ReadinessChecks struct {
	// disableDefault turns off the checks of Kubernetes' own kinds.
	DisableDefault bool `json:"disableDefault,omitempty"`

	// custom checks, all of which must pass.
	Custom []CustomReadinessCheck `json:"custom,omitempty"`
}

// CustomReadinessCheck requires something of objects. They are chosen by resourceSelector, by labelSelector or by both;
// they need not belong to the deploy item.
type CustomReadinessCheck struct {
	// name of the check, for messages.
	Name string `json:"name"`

	// disabled turns the check off.
	Disabled bool `json:"disabled,omitempty"`

	// resourceSelector chooses objects by name.
	ResourceSelector []landscaper.TypedObjectReference `json:"resourceSelector,omitempty"`

	// labelSelector chooses objects by label.
	LabelSelector *LabelSelector `json:"labelSelector,omitempty"`

	// requirements that every selected object must meet.
	Requirements []Requirement `json:"requirements"`

	// targetName is the name of another Target, in the namespace of the deploy item, whose cluster contains the objects.
	TargetName *string `json:"targetName,omitempty"`
}

// LabelSelector chooses objects of one kind by label.
type LabelSelector struct {
	// apiVersion of the objects.
	APIVersion string `json:"apiVersion"`

	// kind of the objects.
	Kind string `json:"kind"`

	// matchLabels are the labels that the objects must have.
	MatchLabels map[string]string `json:"matchLabels"`
}

// Requirement compares a field of an object with values.
type Requirement struct {
	// jsonPath of the field, without braces, for example .status.phase.
	JSONPath string `json:"jsonPath"`

	// operator says how to compare.
	Operator RequirementOperator `json:"operator"`

	// values to compare with: exactly one for the equality operators, at least one for in and notin, none otherwise.
	Values []RequirementValue `json:"values,omitempty"`
}

// RequirementOperator says how to compare a field with values.
type RequirementOperator string

// Operators of requirements.
const (
	OperatorExists       RequirementOperator = "exists"
	OperatorDoesNotExist RequirementOperator = "!"
	OperatorEquals       RequirementOperator = "="
	OperatorDoubleEquals RequirementOperator = "=="
	OperatorNotEquals    RequirementOperator = "!="
	OperatorIn           RequirementOperator = "in"
	OperatorNotIn        RequirementOperator = "notin"
)

// RequirementValue is a value to compare with.
type RequirementValue struct {
	// value is any JSON.
	Value landscaper.AnyJSON `json:"value"`
}
