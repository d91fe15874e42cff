// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	manifest "espalier.dev/api/deployer/manifest/v1alpha2"
)

// Strategy says how to change an object that exists.
type Strategy = manifest.UpdateStrategy

// differs reports whether an object that exists has to be written. A patch after the last deployment may have set fields
// that the manifest does not have: then the manifest is applied anew, and patched again in the end.
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

// next is what an object that exists is to become, by the strategies that compute it here.
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

// merged is the object with what it lacks. The marks are ours in any case: whoever manages an object deletes it.
func (a *attempt) merged(live *unstructured.Unstructured) *unstructured.Unstructured {
	result, _ := withMissing(live.DeepCopy().Object, a.desired.Object).(map[string]any)
	object := &unstructured.Unstructured{Object: result}
	a.Owner.Mark(object)
	return object
}

// withMissing adds to a value what it lacks. Nothing that is there is changed; a list counts as one value.
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

// overwritten puts the desired values over those that are there. A list that has all that is desired stays as it is.
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
