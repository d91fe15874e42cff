// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"espalier.dev/internal/schema"
)

func TestMayBeNumber(t *testing.T) {
	sources := schema.Sources{
		LocalTypes: map[string][]byte{
			"port":  []byte(`{"type": "integer"}`),
			"chain": []byte(`{"$ref": "local://port"}`),
			"tree":  []byte(`{"properties": {"left": {"$ref": "#"}, "size": {"$ref": "#/definitions/a~1b"}}, "definitions": {"a/b": {"type": "number"}}}`),
			"self":  []byte(`{"$ref": "local://self"}`),
			"wide":  []byte(`{"allOf": [{"$ref": "#"}, {"$ref": "#"}, {"$ref": "#"}]}`),
		},
		Files: fstest.MapFS{"d/port.json": {Data: []byte(`{"definitions": {"p": {"type": "integer"}}}`)}, "bad.json": {Data: []byte("{")}},
	}
	for text, paths := range map[string]map[string]bool{
		`{"type": "integer"}`:           {"": true, "x": false, "[0]": false},
		`{"type": "number"}`:            {"": true},
		`{"type": "string"}`:            {"": false},
		`{}`:                            {"": false, "x": false},
		`true`:                          {"": false},
		`{"type": ["integer", "null"]}`: {"": true},
		`{"type": ["string", "null"]}`:  {"": false},
		`{"anyOf": [{"type": "string"}, {"oneOf": [{"allOf": [{"type": "integer"}]}]}]}`:             {"": true},
		`{"if": {}, "then": {"type": "integer"}}`:                                                    {"": true},
		`{"else": {"type": "integer"}}`:                                                              {"": true},
		`{"not": {"type": "integer"}}`:                                                               {"": false},
		`{"properties": {"a": {"properties": {"n": {"type": "integer"}}}, "s": {"type": "string"}}}`: {"a n": true, "a": false, "s": false, "n": false},
		`{"properties": {"s": {}}, "additionalProperties": {"type": "integer"}}`:                     {"s": false, "n": true, "[0]": false},
		`{"patternProperties": {"^n": {"type": "integer"}}}`:                                         {"n": true},
		`{"items": {"type": "integer"}}`:                                                             {"[0]": true, "[-1]": true, "[]": true, "name": true, "": false},
		`{"items": [{"type": "string"}, {"type": "integer"}]}`:                                       {"[1]": true},
		`{"prefixItems": [{"type": "integer"}]}`:                                                     {"[0]": true},
		`{"additionalItems": {"type": "integer"}}`:                                                   {"[5]": true},
		`{"anyOf": [{"properties": {"n": {"type": "integer"}}}]}`:                                    {"n": true},
		`{"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}`:                                 {"": true},
		`{"$ref": "local://port"}`:                                                                   {"": true},
		`{"$ref": "local://chain"}`:                                                                  {"": true},
		`{"properties": {"p": {"$ref": "local://port"}}}`:                                            {"p": true},
		`{"$ref": "local://tree"}`:                                                                   {"left left size": true, "left right size": false},
		`{"$ref": "blueprint://d/port.json#/definitions/p"}`:                                         {"": true},
		`{"$ref": "blueprint://d/port.json"}`:                                                        {"": false},
		// What cannot be read, and what never ends.
		`{"$ref": "local://self"}`:               {"": false},
		`{"$ref": "local://wide"}`:               {"": false},
		`{"$ref": "#"}`:                          {"": false},
		`{"$ref": "local://nowhere"}`:            {"": false},
		`{"$ref": "local://a/b"}`:                {"": false},
		`{"$ref": "blueprint://bad.json"}`:       {"": false},
		`{"$ref": "cd://resources/x"}`:           {"": false},
		`{"$ref": "https://example.com/schema"}`: {"": false},
		`{"$ref": "#/nowhere"}`:                  {"": false},
		`{"$ref": 5, "allOf": 5, "items": 5}`:    {"": false, "[0]": false},
		`{`:                                      {"": false},
	} {
		for path, want := range paths {
			if got := sources.MayBeNumber([]byte(text), strings.Fields(path)); got != want {
				t.Errorf("%s: at %q: %t", text, path, got)
			}
		}
	}
	// Even after a long detour, a schema is found only within the limit.
	deep := `{"type": "integer"}`
	for range 30 {
		deep = fmt.Sprintf(`{"anyOf": [{}, %s]}`, deep)
	}
	if !sources.MayBeNumber([]byte(deep), nil) {
		t.Error("a number in nested schemas is not found")
	}
}
