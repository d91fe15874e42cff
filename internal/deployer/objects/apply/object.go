// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/base64"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"espalier.dev/api/deployer"
	"espalier.dev/internal/deployer/objects/inventory"
)

// Object is an object to apply.
type Object struct {
	// Manifest is the object as the user wrote it.
	Manifest *unstructured.Unstructured
	// Path is the position of the manifest in the configuration, for messages.
	Path   string
	Policy deployer.ManifestPolicy

	AnnotateBeforeCreate map[string]string
	AnnotateBeforeDelete map[string]string
	PatchAfterDeployment *runtime.RawExtension
	PatchBeforeDelete    *runtime.RawExtension
}

// Key identifies the object.
func (o Object) Key() inventory.Key { return inventory.KeyOf(o.Manifest) }

// Entry returns the inventory entry of the object before it exists.
func (o Object) Entry() inventory.Entry {
	return inventory.Entry{
		Policy:               o.Policy,
		AnnotateBeforeDelete: o.AnnotateBeforeDelete,
		PatchBeforeDelete:    o.PatchBeforeDelete,
		Resource: deployer.ResourceReference{
			APIVersion: o.Manifest.GetAPIVersion(),
			Kind:       o.Manifest.GetKind(),
			Namespace:  o.Manifest.GetNamespace(),
			Name:       o.Manifest.GetName(),
		},
	}
}

// serverFields are metadata fields that only the API server writes. Manifests read from a cluster have them.
var serverFields = []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}

// Desired returns the object as it must be in the cluster, with the owner's marks.
func (o Object) Desired(owner inventory.Owner) *unstructured.Unstructured {
	result := storable(o.Manifest)
	owner.Mark(result)
	return result
}

// storable returns a manifest without fields that only the API server writes, and in the form in which the API server stores
// it.
func storable(manifest *unstructured.Unstructured) *unstructured.Unstructured {
	result := manifest.DeepCopy()
	for _, name := range serverFields {
		unstructured.RemoveNestedField(result.Object, "metadata", name)
	}
	delete(result.Object, "status")
	encodeStringData(result)
	return result
}

// encodeStringData converts stringData of a Secret like the API server, so that it can be compared.
func encodeStringData(object *unstructured.Unstructured) {
	if object.GetKind() != "Secret" || object.GetAPIVersion() != "v1" {
		return
	}
	plain, found, err := unstructured.NestedStringMap(object.Object, "stringData")
	if err != nil || !found {
		return
	}
	data, _, err := unstructured.NestedStringMap(object.Object, "data")
	if err != nil {
		return
	}
	if data == nil {
		data = map[string]string{}
	}
	for key, value := range plain {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	if unstructured.SetNestedStringMap(object.Object, data, "data") == nil {
		unstructured.RemoveNestedField(object.Object, "stringData")
	}
}
