// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"maps"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Value returns the Target in the form that mappings and templates see: the whole object, except for fields that change without a change
// of the Target (resourceVersion, managedFields), so that the same import renders to the same result.
func (t Target) Value() any {
	object := t.DeepCopy()
	object.APIVersion = lsv1alpha1.SchemeGroupVersion.String()
	object.Kind = string(KindTarget)
	object.ResourceVersion = ""
	object.ManagedFields = nil
	value, err := normal(object)
	if err != nil {
		// The configuration is not JSON, which the API server rejects.
		return nil
	}
	return value
}

// dataPrefix is the prefix of the labels and annotations by which this package marks objects.
const dataPrefix = "data." + lsv1alpha1.GroupName + "/"

// lastApplied is kubectl's record of an object; it is meaningless on a copy and repeats its content.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// ownMetadata returns the labels or annotations that belong to an object itself, and are copied with it. Nil means that there are none.
func ownMetadata(metadata map[string]string) map[string]string {
	own := maps.Clone(metadata)
	maps.DeleteFunc(own, func(key, _ string) bool { return strings.HasPrefix(key, dataPrefix) || key == lastApplied })
	if len(own) == 0 {
		return nil
	}
	return own
}
