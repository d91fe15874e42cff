// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/fstest"

	"espalier.dev/internal/template"
)

// canary is a value that must not leak.
const canary = "canary-7f3a9c"

var files = fstest.MapFS{
	"VERSION":       {Data: []byte("1.2.3")},
	"config.yaml":   {Data: []byte("name: (( imports.name ))\nplain: 5\n")},
	"template.yaml": {Data: []byte("value: (( x + 1 ))\n")},
	"broken.yaml":   {Data: []byte("a: b: c")},
	"wrong.yaml":    {Data: []byte("a: (( [ ))")},
	"several.yaml":  {Data: []byte("name: (( imports.name ))\n---\nx: 1\n---\n")},
	"d/a.txt":       {Data: []byte("a")},
	"d/b.txt":       {Data: []byte("b")},
	"d/e/f.txt":     {Data: []byte("f")},
}

// hostileFiles has a file that reads itself.
var hostileFiles = fstest.MapFS{
	"VERSION":   {Data: []byte("1.2.3")},
	"self.yaml": {Data: []byte("a: (( read(\"self.yaml\") ))")},
}

// bindings are the bindings of the tests.
func bindings() map[string]any {
	return map[string]any{
		"imports": map[string]any{
			"name": "alice", "count": int64(3), "million": int64(1e6), "ratio": 0.5, "enabled": true, "nothing": nil,
			"list": []any{"a", "b", "c"}, "numbers": []any{int64(3), int64(1), int64(2)},
			"map":   map[string]any{"b": int64(2), "a": int64(1), "nested": map[string]any{"deep": "value"}},
			"items": []any{map[string]any{"name": "one", "v": int64(1)}, map[string]any{"name": "two", "v": int64(2)}},
			"code":  "(( imports.name ))",
		},
	}
}

// evaluate compiles and evaluates a template. It returns the JSON form of the result, or the message of the error after an
// exclamation mark.
func evaluate(t testing.TB, text string) string {
	t.Helper()
	return evaluateWith(t, text, Input{Bindings: bindings(), Files: files})
}

func evaluateWith(t testing.TB, text string, input Input) string {
	t.Helper()
	compiled, err := Compile(template.Source{Execution: "test", Text: text}, Options{})
	if err != nil {
		return "! " + messageIn(t, err)
	}
	result, err := compiled.Evaluate(input)
	if err != nil {
		return "! " + messageIn(t, err)
	}
	return toJSON(t, result.Value)
}

func toJSON(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// asJSON returns the JSON form of a YAML text.
func asJSON(t testing.TB, text string) string {
	t.Helper()
	value, err := template.DecodeYAML(text, template.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return toJSON(t, value)
}

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

// jsonText is toJSON without a test.
func jsonText(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
