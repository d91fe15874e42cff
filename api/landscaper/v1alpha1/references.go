// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

// ObjectReference names an object, possibly in another namespace.
type ObjectReference struct {
	// name of the object.
	// +required
	Name string `json:"name"`

	// namespace of the object. If it is empty, it is the namespace of the object that contains the reference.
	// +optional
	Namespace string `json:"namespace,omitempty"`
}

// TypedObjectReference names an object of any kind.
type TypedObjectReference struct {
	// apiVersion of the object, such as v1 or apps/v1.
	// +required
	APIVersion string `json:"apiVersion"`

	// kind of the object.
	// +required
	Kind string `json:"kind"`

	ObjectReference `json:",inline"`
}

// LocalObjectReference names an object in the same namespace.
//
// +structType=atomic
type LocalObjectReference struct {
	// name of the object.
	// +optional
	// +kubebuilder:default=""
	Name string `json:"name,omitempty"`
}

// LocalSecretReference names a Secret in the same namespace and one of its keys.
type LocalSecretReference struct {
	// name of the Secret.
	// +required
	Name string `json:"name"`

	// key within the Secret. If it is empty, all keys are used together.
	// +optional
	Key string `json:"key,omitempty"`
}

// LocalConfigMapReference names a ConfigMap in the same namespace and one of its keys.
type LocalConfigMapReference struct {
	// name of the ConfigMap.
	// +required
	Name string `json:"name"`

	// key within the ConfigMap. If it is empty, all keys are used together.
	// +optional
	Key string `json:"key,omitempty"`
}

// SecretReference names a Secret and one of its keys.
type SecretReference struct {
	ObjectReference `json:",inline"`

	// key within the Secret.
	// +optional
	Key string `json:"key,omitempty"`
}

// NamePair connects the name that a blueprint or execution gives to a nested object with the name of that object.
type NamePair struct {
	// specName is the name in the blueprint or execution.
	// +optional
	SpecName string `json:"specName,omitempty"`

	// objectName is the name of the object in the namespace.
	// +optional
	ObjectName string `json:"objectName,omitempty"`
}
