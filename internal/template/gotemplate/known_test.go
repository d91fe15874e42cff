// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"strings"
	"testing"

	"espalier.dev/internal/template"
)

func TestMisspeltNames(t *testing.T) {
	input := Input{
		Bindings: map[string]any{
			"imports": map[string]any{"greeting": "hello", "nothing": nil, "config": map[string]any{"size": int64(3)}},
			"cd":      map[string]any{"component": map[string]any{"name": "x"}},
		},
		Known: map[string][]string{"": {"state", "values"}, "imports": {"optional"}, "cd": nil},
	}
	const wrong = "! there is no "
	for text, want := range map[string]string{
		`{{ .imports.greeting }}`:                                                    "hello",
		`{{ .imports.greting }}`:                                                     wrong + "greting in imports; there are config, greeting, nothing, optional",
		`{{ .imports.greting | quote }}`:                                             wrong + "greting in imports",
		`{{ default "x" .imports.greting }}`:                                         wrong + "greting in imports",
		`{{ if .imports.greting }}x{{ end }}`:                                        wrong + "greting in imports",
		`{{ with .imports.greting }}x{{ end }}`:                                      wrong + "greting in imports",
		`{{ range .imports.greting }}x{{ end }}`:                                     wrong + "greting in imports",
		`{{ $x := .imports.greting }}`:                                               wrong + "greting in imports",
		`{{ $i := .imports }}{{ $i.greting | toJson }}`:                              wrong + "greting in imports",
		`{{ range list 1 }}{{ $.imports.greting | quote }}{{ end }}`:                 wrong + "greting in imports",
		`{{ with .imports }}{{ .greting | quote }}{{ end }}`:                         wrong + "greting in imports",
		`{{ (.imports).greting | quote }}`:                                           wrong + "greting in imports",
		`{{ define "t" }}{{ .greting | quote }}{{ end }}{{ include "t" .imports }}`:  wrong + "greting in imports",
		`{{ .imprts.greeting }}`:                                                     wrong + "imprts among the bindings; there are cd, imports, state, values",
		`{{ .cd.compnent.name }}`:                                                    wrong + "compnent in cd; there are component",
		`{{ if .imports.optional }}x{{ else }}none{{ end }}`:                         "none",
		`{{ .imports.optional | default "d" }}`:                                      "d",
		`{{ if .imports.nothing }}x{{ else }}none{{ end }}`:                          "none",
		`{{ if .state }}x{{ else }}none{{ end }}`:                                    "none",
		`{{ hasKey .imports "greting" }}{{ hasKey .imports "optional" }}`:            "falsefalse",
		`{{ index .imports "greting" | quote }}`:                                     "",
		`{{ get .imports "greting" | quote }}`:                                       `""`,
		`{{ dig "greting" "x" "d" .imports }}`:                                       "d",
		`{{ .imports.config.size }}`:                                                 "3",
		`{{ if .imports.config.colour }}x{{ else }}none{{ end }}`:                    "none",
		`{{ if and .imports.optional .imports.optional.x }}x{{ else }}none{{ end }}`: "none",
		`{{ with .cd.component }}{{ .name }}{{ .nothing | default "-" }}{{ end }}`:   "x-",
		`{{ $c := deepCopy .imports }}{{ $c.greting | default "copies are free" }}`:  "copies are free",
		`{{ $d := dict "a" 1 }}{{ $d.b | default "own" }}`:                           "own",
		`{{ $_ := set .imports "greting" "now" }}{{ .imports.greting }}`:             "now",
		`{{ keys .imports | join "," }}`:                                             "config,greeting,nothing",
		`{{ .imports.greeting.x }}`:                                                  "! can't evaluate field x in type interface {}",
		`{{ .imports.nothing.x }}`:                                                   "! nil pointer evaluating interface {}.x",
		`{{ .imports.greeting 1 }}`:                                                  "! greeting is not a method but has arguments",
		`{{ 1 | .imports.greeting }}`:                                                "! greeting is not a method but has arguments",
	} {
		compiled, err := Compile(template.Source{Execution: "test", Text: text}, Options{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := compiled.Render(input)
		if err != nil {
			got = "! " + messageIn(t, err)
		}
		if got != want && !(strings.HasPrefix(want, wrong) && strings.HasPrefix(got, want)) {
			t.Errorf("%s\n got %q\nwant %q", text, got, want)
		}
		lenient := input
		lenient.Known = nil
		lenient.AllowNoValue = true
		if _, err := compiled.Render(lenient); err != nil && strings.HasPrefix(want, wrong) && !strings.Contains(text, "imprts") &&
			!strings.Contains(text, "compnent") {
			t.Errorf("%s: is an error without known names: %v", text, err)
		}
	}
}
