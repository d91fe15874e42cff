// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"errors"
	"testing"
	"testing/fstest"

	"espalier.dev/internal/template"
)

// canary is a value that must not leak.
const canary = "canary-7f3a9c"

// bindings are the bindings of the tests.
func bindings() map[string]any {
	return map[string]any{
		"imports": map[string]any{
			"name": "alice", "count": 3.0, "million": 1e6, "ratio": 0.5, "enabled": true, "nothing": nil,
			"list": []any{"a", "b", "c"}, "numbers": []any{3.0, 1.0, 2.0},
			"map": map[string]any{"b": 2.0, "a": 1.0, "nested": map[string]any{"deep": "value"}},
		},
	}
}

var files = fstest.MapFS{
	"VERSION":         {Data: []byte("1.2.3")},
	"config/one.yaml": {Data: []byte("a: 1\nb: [x, y]\n")},
	"config/two.txt":  {Data: []byte("two")},
}

// compile compiles a template that must be valid.
func compile(t testing.TB, text string, functions ...string) *Template {
	t.Helper()
	compiled, err := Compile(template.Source{Execution: "test", Text: text}, Options{Functions: functions})
	if err != nil {
		t.Fatalf("%q cannot be compiled: %v", text, err)
	}
	return compiled
}

// render compiles and renders a template. It returns the message of an error after an exclamation mark.
func render(t testing.TB, text string) string {
	t.Helper()
	compiled, err := Compile(template.Source{Execution: "test", Text: text}, Options{})
	if err != nil {
		return "! " + messageIn(t, err)
	}
	return renderCompiled(t, compiled, Input{Bindings: bindings(), Files: files})
}

func renderCompiled(t testing.TB, compiled *Template, input Input) string {
	t.Helper()
	output, err := compiled.Render(input)
	if err != nil {
		return "! " + messageIn(t, err)
	}
	return output
}

// messageIn returns the message of a template.Error.
func messageIn(t testing.TB, err error) string {
	t.Helper()
	var failed *template.Error
	if !errors.As(err, &failed) {
		t.Fatalf("%v is not a template.Error", err)
	}
	return failed.Message
}

func limitIn(err error) string {
	var limit *template.LimitError
	if errors.As(err, &limit) {
		return limit.Limit
	}
	return ""
}
