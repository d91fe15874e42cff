// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"strings"
	"testing"

	"espalier.dev/internal/template"
)

// Properties: the output never exceeds its limit, an error never contains a secret, and the same input gives the same output
// or the same error.
func FuzzEvaluate(f *testing.F) {
	for _, c := range languageExamples {
		f.Add(c.text)
	}
	for _, c := range hostile {
		if len(c.text) < 1000 {
			f.Add(c.text)
		}
	}
	for _, expression := range secretCases {
		f.Add("a: '(( " + strings.ReplaceAll(strings.ReplaceAll(expression, "B.", "imports."), "'", "''") + " ))'")
	}
	limits := template.Limits{Source: 1 << 14, Steps: 10_000, Memory: 1 << 19, Output: 1 << 14, Depth: 20, Nesting: 50}
	f.Fuzz(func(t *testing.T, text string) {
		compiled, err := Compile(template.Source{Execution: "fuzz", Text: text}, Options{Limits: limits})
		if err != nil {
			return
		}
		first := fuzzOnce(t, compiled, text)
		if again := fuzzOnce(t, compiled, text); again != first {
			t.Errorf("first %s, then %s", first, again)
		}
	})
}

// fuzzOnce evaluates a template and returns its result, or its error.
func fuzzOnce(t *testing.T, compiled *Template, text string) string {
	t.Helper()
	result, err := compiled.Evaluate(Input{
		Bindings: secretBindings(),
		Files:    files,
		State:    map[string]any{"a": "old", "b": map[string]any{"c": 1.0}},
	})
	if err == nil {
		if jsonLength(result.Value) > compiled.limits.Output && compiled.root != nil {
			t.Errorf("the output has %d bytes", jsonLength(result.Value))
		}
		return jsonText(result)
	}
	told := err.Error()
	if strings.Contains(told, "the template engine failed") {
		t.Errorf("the engine has a defect: %s", told)
	}
	if strings.Contains(told, canary) && !strings.Contains(text, canary) {
		t.Errorf("the error tells a secret: %s", told)
	}
	return told
}
