// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// TypeOf returns the type of an import or export of a blueprint, inferred from its other fields if it is not given. Empty means that it
// cannot be inferred.
func TypeOf(d *lsv1alpha1.FieldValueDefinition) lsv1alpha1.ImportType {
	switch {
	case d.Type != "":
		return d.Type
	case hasSchema(d) && d.TargetType == "":
		return lsv1alpha1.ImportTypeData
	case !hasSchema(d) && d.TargetType != "":
		return lsv1alpha1.ImportTypeTarget
	}
	return ""
}

func hasSchema(d *lsv1alpha1.FieldValueDefinition) bool { return d.Schema != nil && !d.Schema.IsNull() }

// TargetTypeOf returns the full type of the targets that a definition requires: a type without a slash belongs to the API's own group, for
// single targets, lists and maps alike. Empty accepts every type.
func TargetTypeOf(d *lsv1alpha1.FieldValueDefinition) string {
	if d.TargetType == "" || strings.Contains(d.TargetType, "/") {
		return d.TargetType
	}
	return lsv1alpha1.GroupName + "/" + d.TargetType
}
