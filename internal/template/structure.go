// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// maxStructureLines and maxStructureLevels bound the shown part of the input.
	maxStructureLines  = 40
	maxStructureLevels = 3
	// maxName bounds the shown part of a long name.
	maxName = 60
)

// Structure describes bindings by names and types. It contains no values, so that it can be shown to anyone who may know
// that the bindings exist.
func Structure(bindings map[string]any) string {
	d := description{}
	if len(bindings) == 0 {
		return "  (nothing)"
	}
	d.entries(bindings, 1)
	if d.left > 0 {
		d.lines = append(d.lines, fmt.Sprintf("  ... and %d more", d.left))
	}
	return strings.Join(d.lines, "\n")
}

type description struct {
	lines []string
	left  int
}

func (d *description) entries(entries map[string]any, level int) {
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		d.add(level, shorten(name, maxName), entries[name])
	}
}

func (d *description) add(level int, name string, value any) {
	if len(d.lines) >= maxStructureLines {
		d.left++
		return
	}
	d.lines = append(d.lines, strings.Repeat("  ", level)+name+": "+typeName(value))
	if level == maxStructureLevels {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		d.entries(v, level+1)
	case []any:
		if len(v) > 0 {
			d.add(level+1, "[0]", v[0])
		}
	}
}

// typeName names the type of a plain value and the size of a collection.
func typeName(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return fmt.Sprintf("map of %d", len(v))
	case []any:
		return fmt.Sprintf("list of %d", len(v))
	default:
		return TypeName(value)
	}
}

// TypeName returns the name of a plain value's type in users' terms.
func TypeName(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case int, int64:
		return "integer"
	case float64:
		return "number"
	case string:
		return "string"
	case map[string]any:
		return "map"
	case []any:
		return "list"
	default:
		return fmt.Sprintf("%T", value)
	}
}
