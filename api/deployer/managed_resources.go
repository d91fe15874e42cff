// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// ManifestPolicy says how far an object belongs to the deploy item.
type ManifestPolicy string

// Policies of manifests.
const (
	// PolicyManage creates, updates and deletes the object. It is the default.
	PolicyManage ManifestPolicy = "manage"
	// PolicyFallback does the same, but leaves alone an object that another client created.
	PolicyFallback ManifestPolicy = "fallback"
	// PolicyKeep creates and updates the object, but does not delete it.
	PolicyKeep ManifestPolicy = "keep"
	// PolicyImmutable creates and deletes the object, but does not update it.
	PolicyImmutable ManifestPolicy = "immutable"
	// PolicyIgnore does nothing with the object.
	PolicyIgnore ManifestPolicy = "ignore"
)

// Manifest is an object to deploy.
type Manifest struct {
	// policy says how far the object belongs to the deploy item. If it is empty, it is manage.
	Policy ManifestPolicy `json:"policy,omitempty"`

	// manifest is the object.
	Manifest *runtime.RawExtension `json:"manifest,omitempty"`

	// annotateBeforeCreate are annotations to put on the object when it is created.
	AnnotateBeforeCreate map[string]string `json:"annotateBeforeCreate,omitempty"`

	// annotateBeforeDelete are annotations to put on the object before it is deleted.
	AnnotateBeforeDelete map[string]string `json:"annotateBeforeDelete,omitempty"`

	// patchAfterDeployment is a merge patch for the object once everything is ready and exported.
	PatchAfterDeployment *runtime.RawExtension `json:"patchAfterDeployment,omitempty"`

	// patchBeforeDelete is a merge patch for the object before it is deleted.
	PatchBeforeDelete *runtime.RawExtension `json:"patchBeforeDelete,omitempty"`
}

// ManagedResource is an object that a deployer has created, with what it needs to know when it deletes it.
type ManagedResource struct {
	// annotateBeforeDelete as in the manifest.
	AnnotateBeforeDelete map[string]string `json:"annotateBeforeDelete,omitempty"`

	// patchBeforeDelete as in the manifest.
	PatchBeforeDelete *runtime.RawExtension `json:"patchBeforeDelete,omitempty"`

	// policy as in the manifest.
	Policy ManifestPolicy `json:"policy,omitempty"`

	// resource is the object.
	Resource ResourceReference `json:"resource"`

	// fieldsHash is a hash over the names of the fields, not their values, that the manifest had when it was last applied.
	// By it the deployer sees that a field has gone from the manifest.
	FieldsHash string `json:"fieldsHash,omitempty"`
}

// ResourceReference names an object in a target cluster.
type ResourceReference struct {
	// apiVersion of the object.
	APIVersion string `json:"apiVersion,omitempty"`

	// kind of the object.
	Kind string `json:"kind,omitempty"`

	// name of the object.
	Name string `json:"name,omitempty"`

	// namespace of the object, if its kind has one.
	Namespace string `json:"namespace,omitempty"`

	// uid of the object.
	UID types.UID `json:"uid,omitempty"`

	// resourceVersion of the object.
	ResourceVersion string `json:"resourceVersion,omitempty"`

	// fieldPath of a part of the object.
	FieldPath string `json:"fieldPath,omitempty"`
}
