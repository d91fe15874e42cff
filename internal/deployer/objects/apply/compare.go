// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Satisfies tells whether everything that a manifest asks for is there. Whatever else is there is no difference: the
// API server fills in defaults, and controllers add fields of their own.
func Satisfies(live, desired *unstructured.Unstructured) bool {
	return contains(live.Object, desired.Object, "")
}

// contains compares values of JSON. The name of the field says how its strings are to be read.
func contains(live, desired any, field string) bool {
	if desired == nil || isNothing(desired) && isNothing(live) || live == nil && isZero(desired) {
		return true
	}
	switch desired := desired.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		return ok && containsFields(live, desired, field)
	case []any:
		live, ok := live.([]any)
		return ok && containsElements(live, desired, field)
	}
	return sameScalar(live, desired, field)
}

// isNothing tells whether a value is one that the API server does not store.
func isNothing(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return false
}

// isZero tells whether a scalar is one that the API server leaves out of the kinds it knows. An empty string is not among
// them, because it means something in labels and data.
func isZero(value any) bool { return value == false || value == int64(0) || value == float64(0) }

func containsFields(live, desired map[string]any, field string) bool {
	for name, value := range desired {
		within := name
		if quantityFields[field] {
			within = field // the keys below limits and the like are resources, which are quantities too
		}
		if !contains(live[name], value, within) {
			return false
		}
	}
	return true
}

// containsElements compares elements that have names by their names, and others by their position.
func containsElements(live, desired []any, field string) bool {
	if field == "finalizers" {
		return !slices.ContainsFunc(desired, func(wanted any) bool { return !slices.Contains(live, wanted) })
	}
	byName, named := elementsByName(live)
	wanted, allNamed := elementsByName(desired)
	if named && allNamed {
		for name, element := range wanted {
			if !contains(byName[name], element, field) {
				return false
			}
		}
		return true
	}
	if len(live) != len(desired) {
		return false
	}
	for i := range desired {
		if !contains(live[i], desired[i], field) {
			return false
		}
	}
	return true
}

// elementsByName returns the elements of a list by their field name, and whether all have one of their own.
func elementsByName(list []any) (map[string]any, bool) {
	result := map[string]any{}
	for _, element := range list {
		fields, _ := element.(map[string]any)
		name, _ := fields["name"].(string)
		if name == "" {
			return nil, false
		}
		result[name] = element
	}
	return result, len(result) == len(list)
}

// quantityFields hold quantities, of which the API server writes only one of many forms.
var quantityFields = map[string]bool{
	"limits": true, "requests": true, "capacity": true, "hard": true, "min": true, "max": true, "default": true,
	"defaultRequest": true, "sizeLimit": true, "divisor": true, "averageValue": true,
}

func sameScalar(live, desired any, field string) bool {
	if reflect.DeepEqual(live, desired) || sameNumber(live, desired) {
		return true
	}
	if !quantityFields[field] || live == nil || desired == nil {
		return false
	}
	a, err := resource.ParseQuantity(fmt.Sprint(live))
	if err != nil {
		return false
	}
	b, err := resource.ParseQuantity(fmt.Sprint(desired))
	return err == nil && a.Cmp(b) == 0
}

// sameNumber compares numbers that were decoded as different types.
func sameNumber(a, b any) bool {
	x, isX := number(a)
	y, isY := number(b)
	return isX && isY && x == y
}

func number(value any) (float64, bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}

// FieldsHash is a hash over the names of the fields of a manifest. The values are left out: they are compared with what
// is there, and a hash of a short secret could be guessed.
func FieldsHash(desired *unstructured.Unstructured) string {
	sum := sha256.New()
	hashFields(sum, desired.Object)
	return hex.EncodeToString(sum.Sum(nil))[:16]
}

func hashFields(sum hash.Hash, value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			fmt.Fprintf(sum, "{%q:", name)
			hashFields(sum, value[name])
		}
		fmt.Fprint(sum, "}")
	case []any:
		for _, element := range value {
			fields, _ := element.(map[string]any)
			name, _ := fields["name"].(string)
			fmt.Fprintf(sum, "[%q:", name)
			hashFields(sum, element)
		}
		fmt.Fprint(sum, "]")
	}
}
