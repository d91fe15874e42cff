// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/api/deployer"
	"espalier.dev/internal/deployer/objects/jsonpath"
)

// requirement is a parsed requirement.
type requirement struct {
	deployer.Requirement
	path   jsonpath.Path
	values []any
}

func compile(requirements []deployer.Requirement) ([]requirement, error) {
	var result []requirement
	for i, r := range requirements {
		path, err := jsonpath.Parse(r.JSONPath)
		if err != nil {
			return nil, fmt.Errorf("requirements[%d].jsonPath: %w", i, err)
		}
		compiled := requirement{Requirement: r, path: path}
		for j, value := range r.Values {
			var parsed any
			if err := value.Value.Decode(&parsed); err != nil {
				return nil, fmt.Errorf("requirements[%d].values[%d].value is not JSON", i, j)
			}
			compiled.values = append(compiled.values, parsed)
		}
		result = append(result, compiled)
	}
	return result, nil
}

// firstUnmet names the first requirement that an object does not meet; empty if it meets all. It shows no values, because
// they may be secret.
func firstUnmet(requirements []requirement, object *unstructured.Unstructured) string {
	for _, r := range requirements {
		if !r.isMet(object) {
			return fmt.Sprintf("%s does not meet the requirement %q", r.JSONPath, r.Operator)
		}
	}
	return ""
}

// isMet reports whether every value at the path meets the requirement. If there is none, only a requirement of absence can be met.
func (r requirement) isMet(object *unstructured.Unstructured) bool {
	_, exists := r.path.Find(object.Object)
	found := r.path.All(object.Object)
	switch r.Operator {
	case deployer.OperatorExists:
		return exists
	case deployer.OperatorDoesNotExist:
		return !exists
	case deployer.OperatorEquals, deployer.OperatorDoubleEquals, deployer.OperatorIn:
		return len(found) > 0 && !slices.ContainsFunc(found, r.lacksValue)
	case deployer.OperatorNotEquals, deployer.OperatorNotIn:
		return len(found) > 0 && !slices.ContainsFunc(found, r.listsValue)
	}
	return false
}

func (r requirement) lacksValue(found any) bool { return !r.listsValue(found) }

func (r requirement) listsValue(found any) bool {
	found = normal(found)
	return slices.ContainsFunc(r.values, func(value any) bool { return reflect.DeepEqual(normal(value), found) })
}

// normal converts numbers to one type, at any depth.
func normal(value any) any {
	text, err := json.Marshal(value)
	if err != nil {
		return value
	}
	var result any
	if err := json.Unmarshal(text, &result); err != nil {
		return value
	}
	return result
}
