// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// MayBeNumber reports whether a schema declares a number for the part of a value at a path, whose steps are names of fields, and
// indexes in brackets. It follows references as far as they can be resolved; what it cannot read declares nothing.
func (s *Sources) MayBeNumber(text []byte, path []string) bool {
	n := &numbers{left: mostSchemas}
	return n.in(found{text, s.origin()}, "", path)
}

// mostSchemas is how many schemas a search looks at, and costOfDocument how many of them the reading of a document counts as.
const mostSchemas, costOfDocument = 1000, 20

// numbers is a search for numbers. A schema can contain itself, so it looks at a limited number of schemas.
type numbers struct{ left int }

// loaded is a decoded document and its location.
type loaded struct {
	root any
	at   origin
}

// in searches a part of a document.
func (n *numbers) in(f found, fragment string, path []string) bool {
	d := loaded{at: f.at}
	if n.left -= costOfDocument; n.left < 0 || json.Unmarshal(f.text, &d.root) != nil {
		return false
	}
	part, ok := lookUp(d.root, fragment)
	return ok && n.at(d, part, path)
}

// at searches a schema and those that apply to the same value.
func (n *numbers) at(d loaded, schema any, path []string) bool {
	s, ok := schema.(map[string]any)
	if n.left--; !ok || n.left < 0 {
		return false
	}
	if ref, ok := s["$ref"].(string); ok && n.behind(d, ref, path) {
		return true
	}
	if slices.ContainsFunc(alternatives(s), func(part any) bool { return n.at(d, part, path) }) {
		return true
	}
	if len(path) == 0 {
		return isNumber(s["type"])
	}
	return slices.ContainsFunc(inside(s, path[0]), func(part any) bool { return n.at(d, part, path[1:]) })
}

// behind searches the destination of a reference.
func (n *numbers) behind(d loaded, ref string, path []string) bool {
	if fragment, ok := strings.CutPrefix(ref, "#"); ok {
		part, ok := lookUp(d.root, fragment)
		return ok && n.at(d, part, path)
	}
	r, ok, err := ParseReference(ref)
	if !ok || err != nil {
		return false
	}
	f, err := d.at.read(r, DefaultLimits().DocumentBytes)
	return err == nil && n.in(f, r.Fragment, path)
}

// isNumber reports whether the types of a schema include that of numbers.
func isNumber(types any) bool {
	switch t := types.(type) {
	case string:
		return t == "integer" || t == "number"
	case []any:
		return slices.ContainsFunc(t, isNumber)
	}
	return false
}

// alternatives returns the schemas inside a schema that apply to the same value.
func alternatives(schema map[string]any) []any {
	parts := []any{schema["then"], schema["else"]}
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		parts = append(parts, several(schema[keyword])...)
	}
	return parts
}

// inside returns the schemas for a step into a value. The step into a list can also be the name of an item.
func inside(schema map[string]any, step string) []any {
	if properties, ok := schema["properties"].(map[string]any); ok && properties[step] != nil {
		return []any{properties[step]}
	}
	var parts []any
	if !strings.HasPrefix(step, "[") {
		parts = append(several(schema["patternProperties"]), schema["additionalProperties"])
	}
	if list, ok := schema["items"].([]any); ok {
		parts = append(parts, list...)
	}
	parts = append(parts, schema["items"], schema["additionalItems"])
	return append(parts, several(schema["prefixItems"])...)
}

// several returns the schemas of a list, or those of a map by name.
func several(value any) []any {
	switch v := value.(type) {
	case []any:
		return v
	case map[string]any:
		return slices.Collect(maps.Values(v))
	}
	return nil
}
