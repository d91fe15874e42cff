// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"slices"
	"strconv"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// importedNumber returns a function that reports whether there is a number at a path in the imports of an installation. It knows
// the DataObjects of the manifests only.
func (m *Manifests) importedNumber(inst *lsv1alpha1.Installation) func(path []string) bool {
	return func(path []string) bool {
		for _, data := range inst.Spec.Imports.Data {
			if data.Name != path[0] || data.DataRef == "" {
				continue
			}
			return slices.ContainsFunc(m.DataObjects, func(o *lsv1alpha1.DataObject) bool {
				var value any
				return o.Namespace == inst.Namespace && o.Name == data.DataRef && o.Data.Decode(&value) == nil && numberAt(value, path[1:])
			})
		}
		return false
	}
}

// numberAt reports whether there is a number at a path in a JSON value. A step into a list is an index in brackets; without a
// number between them, it may be any.
func numberAt(value any, path []string) bool {
	if len(path) == 0 {
		_, ok := value.(float64)
		return ok
	}
	switch v := value.(type) {
	case map[string]any:
		return numberAt(v[path[0]], path[1:])
	case []any:
		index, err := strconv.Atoi(strings.Trim(path[0], "[]"))
		if err != nil {
			return slices.ContainsFunc(v, func(item any) bool { return numberAt(item, path[1:]) })
		}
		return index >= 0 && index < len(v) && numberAt(v[index], path[1:])
	}
	return false
}
