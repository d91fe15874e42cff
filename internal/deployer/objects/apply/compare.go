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
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Satisfies reports whether an object has everything that a manifest requires. Additional content is not a difference: the API
// server fills in defaults, and controllers add fields.
func Satisfies(live, desired *unstructured.Unstructured) bool {
	return comparisonOf(desired).contains(live.Object, desired.Object, nil)
}

// Drifted reports whether an existing object lacks something of a manifest that another client applies.
func Drifted(live, manifest *unstructured.Unstructured) bool {
	return !Satisfies(live, storable(manifest))
}

// comparison compares JSON values. The path of a value, without the positions in lists, determines how it is interpreted.
type comparison struct {
	// quantities reports whether the API server normalises quantities, as it does for kinds with built-in types.
	quantities bool
}

func comparisonOf(desired *unstructured.Unstructured) comparison {
	return comparison{quantities: isBuiltIn(desired.GroupVersionKind().Group)}
}

func (c comparison) contains(live, desired any, path []string) bool {
	if desired == nil || isNothing(desired) && isNothing(live) || live == nil && isZero(desired) {
		return true
	}
	switch desired := desired.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		return ok && c.containsFields(live, desired, path)
	case []any:
		live, ok := live.([]any)
		return ok && c.containsElements(live, desired, path)
	}
	return c.sameScalar(live, desired, path)
}

func (c comparison) sameScalar(live, desired any, path []string) bool {
	if reflect.DeepEqual(live, desired) || sameNumber(live, desired) {
		return true
	}
	return c.quantities && isQuantity(path) && sameQuantity(live, desired)
}

// isNothing reports whether a value is one that the API server does not store.
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

// isZero reports whether the API server omits a scalar from kinds with built-in types. An empty string is not among
// them, because it has a meaning in labels and data.
func isZero(value any) bool { return value == false || value == int64(0) || value == float64(0) }

func (c comparison) containsFields(live, desired map[string]any, path []string) bool {
	for name, value := range desired {
		if !c.contains(live[name], value, append(path[:len(path):len(path)], name)) {
			return false
		}
	}
	return true
}

// containsElements compares named elements by name, and others by position.
func (c comparison) containsElements(live, desired []any, path []string) bool {
	if len(path) > 0 && path[len(path)-1] == "finalizers" {
		return !slices.ContainsFunc(desired, func(wanted any) bool { return !slices.Contains(live, wanted) })
	}
	byName, named := elementsByName(live)
	wanted, allNamed := elementsByName(desired)
	if named && allNamed {
		for name, element := range wanted {
			if !c.contains(byName[name], element, path) {
				return false
			}
		}
		return true
	}
	if len(live) != len(desired) {
		return false
	}
	for i := range desired {
		if !c.contains(live[i], desired[i], path) {
			return false
		}
	}
	return true
}

// elementsByName returns the elements of a list by their field name, and whether all have a unique one.
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

// quantityPaths are the suffixes of the paths at which the kinds of Kubernetes have quantities, which the API server normalises. A
// star matches the name of any resource.
var quantityPaths = [][]string{
	{"resources", "limits", "*"}, {"resources", "requests", "*"}, // containers, volume claims
	{"spec", "capacity", "*"}, {"spec", "hard", "*"}, {"spec", "overhead", "*"}, {"overhead", "podFixed", "*"},
	{"spec", "limits", "min", "*"}, {"spec", "limits", "max", "*"}, {"spec", "limits", "default", "*"},
	{"spec", "limits", "defaultRequest", "*"}, {"spec", "limits", "maxLimitRequestRatio", "*"},
	{"emptyDir", "sizeLimit"}, {"resourceFieldRef", "divisor"}, {"target", "averageValue"}, {"target", "value"},
}

func isQuantity(path []string) bool {
	return slices.ContainsFunc(quantityPaths, func(end []string) bool {
		return len(path) >= len(end) && slices.EqualFunc(path[len(path)-len(end):], end, func(name, pattern string) bool {
			return pattern == "*" || name == pattern
		})
	})
}

// isBuiltIn reports whether a group belongs to Kubernetes: groups of custom resources have a domain, and their objects are stored as
// sent.
func isBuiltIn(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io")
}

func sameQuantity(live, desired any) bool {
	if live == nil || desired == nil {
		return false
	}
	a, err := resource.ParseQuantity(fmt.Sprint(live))
	if err != nil {
		return false
	}
	b, err := resource.ParseQuantity(fmt.Sprint(desired))
	return err == nil && a.Cmp(b) == 0
}

// sameNumber compares numbers decoded as different types.
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

// FieldsHash returns a hash of the names of a manifest's fields. The values are omitted: they are compared with the live
// object, and a short secret can be guessed from its hash.
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
