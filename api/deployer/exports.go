// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import landscaper "espalier.dev/api/landscaper/v1alpha1"

// Exports say what a deploy item exports.
type Exports struct {
	// exports are the single values.
	Exports []Export `json:"exports,omitempty"`
}

// Export reads one value from an object in the target cluster. The deployer waits until it exists.
type Export struct {
	// key under which the value is exported.
	Key string `json:"key"`

	// jsonPath of the value in the object that fromResource names, without braces. With fromObjectRef, of a reference to
	// another object.
	JSONPath string `json:"jsonPath"`

	// fromResource names the object.
	FromResource *landscaper.TypedObjectReference `json:"fromResource,omitempty"`

	// fromObjectRef reads the value from the object that the reference at jsonPath leads to.
	FromObjectReference *FromObjectReference `json:"fromObjectRef,omitempty"`

	// targetName is the name of another Target, in the namespace of the deploy item, whose cluster contains the object.
	TargetName *string `json:"targetName,omitempty"`
}

// FromObjectReference reads a value from an object to which another object refers.
type FromObjectReference struct {
	// apiVersion of the object that is referred to.
	APIVersion string `json:"apiVersion"`

	// kind of the object that is referred to.
	Kind string `json:"kind"`

	// jsonPath of the value in that object, without braces.
	JSONPath string `json:"jsonPath"`
}
