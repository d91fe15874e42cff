// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	manifest "espalier.dev/api/deployer/manifest/v1alpha2"
)

// Strategy determines how an existing object is changed.
type Strategy = manifest.UpdateStrategy

// differs reports whether an existing object must be written. A patch after the last deployment may have set fields that the
// manifest does not have: then the manifest is applied again, and patched again at the end.
func (a *attempt) differs(live *unstructured.Unstructured) bool {
	switch a.Strategy {
	case manifest.UpdateStrategyMerge:
		return !reflect.DeepEqual(a.merged(live).Object, live.Object)
	case manifest.UpdateStrategyMergeOverwrite:
		return !Satisfies(live, a.desired)
	}
	if !a.SameManifests && (a.entry.FieldsHash != FieldsHash(a.desired) || a.object.PatchAfterDeployment != nil) {
		return true
	}
	return !Satisfies(live, a.desired)
}

// next returns the new content of an existing object, for the strategies that compute it locally.
func (a *attempt) next(live *unstructured.Unstructured) *unstructured.Unstructured {
	switch a.Strategy {
	case manifest.UpdateStrategyMerge:
		return a.merged(live)
	case manifest.UpdateStrategyMergeOverwrite:
		result, _ := comparisonOf(a.desired).overwritten(live.Object, a.desired.Object, nil).(map[string]any)
		return &unstructured.Unstructured{Object: result}
	}
	return replacement(a.object, live, a.desired)
}

// merged returns the object with added missing fields. The marks are always ours: the manager of an object also deletes it.
func (a *attempt) merged(live *unstructured.Unstructured) *unstructured.Unstructured {
	result, _ := withMissing(live.DeepCopy().Object, a.desired.Object).(map[string]any)
	object := &unstructured.Unstructured{Object: result}
	a.Owner.Mark(object)
	return object
}

// withMissing adds missing fields to a value. Existing fields do not change; a list counts as one value.
func withMissing(live, desired any) any {
	if isNothing(live) && !isNothing(desired) {
		return desired
	}
	there, isMap := live.(map[string]any)
	wanted, both := desired.(map[string]any)
	if !isMap || !both {
		return live
	}
	result := make(map[string]any, len(there))
	for name, value := range there {
		result[name] = value
	}
	for name, value := range wanted {
		if merged := withMissing(there[name], value); merged != nil {
			result[name] = merged
		}
	}
	return result
}

// overwritten overwrites a value with the desired ones. A list that contains everything desired stays unchanged.
func (c comparison) overwritten(live, desired any, path []string) any {
	there, isMap := live.(map[string]any)
	wanted, both := desired.(map[string]any)
	if !isMap || !both {
		if c.contains(live, desired, path) {
			return live
		}
		return desired
	}
	result := make(map[string]any, len(there))
	for name, value := range there {
		result[name] = value
	}
	for name, value := range wanted {
		if value != nil {
			result[name] = c.overwritten(there[name], value, append(path[:len(path):len(path)], name))
		}
	}
	return result
}
