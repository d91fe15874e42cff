// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"fmt"
	"strings"
	"testing"

	"espalier.dev/internal/template"
)

// Properties: the output never exceeds its limit, an error never contains a secret, and the same input gives the same output
// or the same error.
func FuzzRender(f *testing.F) {
	for text := range functionCases {
		f.Add(text)
	}
	for _, c := range hostile {
		if len(c.text) < 1000 {
			f.Add(c.text)
		}
	}
	for _, text := range secretCases {
		f.Add(strings.ReplaceAll(text, ".B", ".imports"))
	}
	limits := template.Limits{Source: 1 << 14, Steps: 50_000, Memory: 1 << 20, Output: 1 << 14, Depth: 20, Nesting: 50}
	f.Fuzz(func(t *testing.T, text string) {
		compiled, err := Compile(template.Source{Execution: "fuzz", Text: text}, Options{Limits: limits})
		if err != nil {
			return
		}
		input := Input{Bindings: secretBindings(), Files: files}
		output, err := compiled.Render(input)
		if len(output) > limits.Output {
			t.Errorf("the output has %d bytes", len(output))
		}
		if err != nil && strings.Contains(err.Error(), canary) && !strings.Contains(text, canary) {
			t.Errorf("the error tells a secret: %v", err)
		}
		again, againErr := compiled.Render(input)
		if again != output || fmt.Sprint(againErr) != fmt.Sprint(err) {
			t.Errorf("first %q and %v, then %q and %v", output, err, again, againErr)
		}
	})
}
