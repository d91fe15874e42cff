// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"encoding/json"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
)

// TypeWords describes the type of an import or export of a blueprint: the type of its schema, such as "integer" or "list of string", or the
// type of its target. It is empty if the definition says only that it is data or a target.
func TypeWords(d *lsv1alpha1.FieldValueDefinition) string {
	if target := dataflow.TargetTypeOf(d); target != "" {
		return target[strings.LastIndex(target, "/")+1:]
	}
	if d.Schema == nil {
		return ""
	}
	return schemaWords(d.Schema.Raw, 0)
}

// deepestList is the maximum depth of nested lists in a description.
const deepestList = 3

func schemaWords(raw []byte, depth int) string {
	var schema struct {
		Type  json.RawMessage   `json:"type"`
		Ref   string            `json:"$ref"`
		Enum  []json.RawMessage `json:"enum"`
		Items json.RawMessage   `json:"items"`
	}
	if json.Unmarshal(raw, &schema) != nil { // true and false are schemas, too, which do not specify a type.
		return ""
	}
	switch kind := typeOf(schema.Type); {
	case kind == "array" && depth < deepestList:
		if of := schemaWords(schema.Items, depth+1); of != "" {
			return "list of " + of
		}
		return "list"
	case kind != "":
		return kind
	case len(schema.Enum) > 0:
		return "choice"
	default:
		return schema.Ref[strings.LastIndex(schema.Ref, "/")+1:]
	}
}

// typeOf returns a type, or several of them as "string or null".
func typeOf(raw json.RawMessage) string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		return one
	}
	var several []string
	if json.Unmarshal(raw, &several) != nil {
		return ""
	}
	return strings.Join(several, " or ")
}
