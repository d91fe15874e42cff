// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDocumentsOfAFile(t *testing.T) {
	tests := map[string]struct {
		text string
		want []string
	}{
		"nothing":                {"", nil},
		"comments only":          {"# nothing\n---\n# here\n", nil},
		"one":                    {"a: 1\n", []string{`{"a":1}`}},
		"several":                {"---\na: 1\n--- # second\nb: 2\n---\n", []string{`{"a":1}`, `{"b":2}`}},
		"with carriage returns":  {"a: 1\r\n---\r\nb: 2\r\n", []string{`{"a":1}`, `{"b":2}`}},
		"three dashes in a text": {"a: |\n  ---\n  b\n", []string{`{"a":"---\nb\n"}`}},
		"JSON":                   {` {"a":1} {"b":2}`, []string{`{"a":1}`, `{"b":2}`}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			documents, err := splitDocuments("file", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range documents {
				got = append(got, string(d.json))
			}
			if difference := cmp.Diff(test.want, got); difference != "" {
				t.Error(difference)
			}
		})
	}
}

// Errors about the YAML of a Secret never contain its values.
func TestYAMLErrorsHideValues(t *testing.T) {
	for _, text := range []string{
		"a: hunter2\n b: c", "? {p: hunter2}\n: x", "a: [hunter2", "a: 'hunter2", "a: \"hunter2\\q\"", "a: *hunter2", "a: !!int hunter2", "a: 1\na: hunter2", "\thunter2",
	} {
		_, err := splitDocuments("file", []byte(text))
		if err == nil {
			continue
		}
		if strings.Contains(err.Error(), "hunter2") || !strings.HasPrefix(err.Error(), "file, document 1: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestGivenExports(t *testing.T) {
	tests := map[string]string{
		"a: {exports: {x: 1}, deployItems: {y: 1}}": "a: set exactly one of deployItems and exports",
		"a: {}":                   "a: set exactly one of deployItems and exports",
		"a: {outputs: {x: 1}}":    `unknown field "a.outputs"`,
		"a: [1]":                  "file: ",
		"a: {exports: {x: [}":     "it is not valid YAML",
		"a: {exports: hunter2}\n": "is of type string",
	}
	for text, want := range tests {
		if _, err := parseExports("file", []byte(text)); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
