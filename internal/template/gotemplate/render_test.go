// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/template"
)

func TestRender(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                           {"", ""},
		"text":                              {"a: 1\n", "a: 1\n"},
		"values":                            {"{{ .imports.name }} {{ .imports.enabled }} {{ .imports.ratio }}", "alice true 0.5"},
		"numbers without exponents":         {"{{ .imports.million }} {{ mul .imports.million .imports.million }}", "1000000 1000000000000"},
		"numbers in lists and maps":         {"{{ .imports.numbers }} {{ .imports.map }}", "[3 1 2] map[a:1 b:2 nested:map[deep:value]]"},
		"a map in the order of its keys":    {"{{ range $k, $v := .imports.map }}{{ $k }},{{ end }}", "a,b,nested,"},
		"conditions":                        {"{{ if .imports.missing }}a{{ else if .imports.enabled }}b{{ else }}c{{ end }}", "b"},
		"with":                              {"{{ with .imports.map.nested }}{{ .deep }}{{ else }}none{{ end }}", "value"},
		"with else with":                    {"{{ with .imports.missing }}a{{ else with .imports.name }}{{ . }}{{ end }}", "alice"},
		"loops with break and continue":     {"{{ range $i, $e := .imports.list }}{{ if eq $i 0 }}{{ continue }}{{ end }}{{ $e }}{{ break }}{{ end }}", "b"},
		"an empty loop":                     {"{{ range .imports.missing }}a{{ else }}b{{ end }}", "b"},
		"a loop over an integer":            {"{{ range 3 }}{{ . }}{{ end }}", "012"},
		"variables":                         {"{{ $x := 1 }}{{ range until 3 }}{{ $x = add $x . }}{{ end }}{{ $x }}", "4"},
		"blocks":                            {`{{ block "b" .imports }}{{ .name }}{{ end }}`, "alice"},
		"templates in templates":            {`{{ define "a" }}[{{ template "b" . }}]{{ end }}{{ define "b" }}{{ . }}{{ end }}{{ template "a" "x" }}`, "[x]"},
		"a template that calls itself":      {`{{ define "a" }}{{ . }}{{ if lt . 3 }}{{ template "a" (add1 .) }}{{ end }}{{ end }}{{ template "a" 0 }}`, "0123"},
		"white space":                       {"a {{- 1 -}} b {{/* nothing */ -}} c", "a1b c"},
		"pipelines":                         {`{{ .imports.list | join "," | upper | printf "%s!" }}`, "A,B,C!"},
		"an empty string":                   {`{{ "" }}`, ""},
		"a value that is missing":           {"a: {{ .imports.missing }}", `! there is no value here: the output would contain "<no value>"`},
		"a value that is null":              {"a: {{ .imports.nothing }}", `! there is no value here: the output would contain "<no value>"`},
		"a binding that is missing":         {"a: {{ .values.x }}", "! nil pointer evaluating interface {}.x"},
		"a missing value in an include":     {`{{ define "a" }}{{ .missing }}{{ end }}{{ include "a" .imports | quote }}`, `! there is no value here: the output would contain "<no value>"`},
		"a missing value with a default":    {`{{ .imports.missing | default "x" }}`, "x"},
		"a missing value that is not used":  {`{{ $x := .imports.missing }}{{ if not $x }}fine{{ end }}`, "fine"},
		"a text that says it is missing":    {"a: <no value>", `! there is no value here: the output would contain "<no value>"`},
		"a value that was put together":     {`{{ print "<no" " value>" }}`, `! there is no value here: the output would contain "<no value>"`},
		"an unknown function":               {"{{ nosuch 1 }}", `! function "nosuch" is not defined`},
		"a function of the instrumentation": {"{{ espalier__step -5 }}", `! function "espalier__step" is not defined`},
		"an unknown variable":               {"{{ $x }}", `! the template has a syntax error: undefined variable "$x"`},
		"a body without an end":             {"{{ if true }}", "! the template has a syntax error: unexpected EOF"},
		"an end without a body":             {"{{ end }}", "! the template has a syntax error: unexpected {{end}}"},
		"an action without an end":          {"{{ .imports", "! the template has a syntax error: unclosed action"},
		"two templates of the same name":    {`{{ define "a" }}1{{ end }}{{ define "a" }}2{{ end }}`, `! the template has a syntax error: template: multiple definition of template "a"`},
		"a redefinition of the template":    {`{{ define "blueprint" }}x{{ end }}y`, `! the template has a syntax error: template: multiple definition of template "blueprint"`},
	} {
		if got := render(t, c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestNoValueCanBeAllowed(t *testing.T) {
	compiled := compile(t, "a: {{ .imports.missing }}\nb: {{ .imports.nothing }}")
	got, err := compiled.Render(Input{Bindings: bindings(), AllowNoValue: true})
	if want := "a: <no value>\nb: <no value>"; err != nil || got != want {
		t.Errorf("got %q and %v, want %q", got, err, want)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	text := "deployItems:\n- name: {{ .imports.name }}\n  config:\n    size: {{ .imports.size }}\n"
	compiled, err := Compile(template.Source{Execution: "test", File: "deploy.yaml", Text: text}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = compiled.Render(Input{Bindings: map[string]any{"imports": map[string]any{"name": canary}}})
	want := `GoTemplate "test" (file deploy.yaml, line 4, column 14): there is no value here: the output would contain "<no value>"
expression: {{ .imports.size }}
template:
     1 | deployItems:
     2 | - name: {{ .imports.name }}
     3 |   config:
>    4 |     size: {{ .imports.size }}
       |              ^
input (types only):
  imports: map of 1
    name: string`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}

func TestPlacesOfErrors(t *testing.T) {
	for name, c := range map[string]struct {
		text         string
		line, column int
		expression   string
	}{
		"a field of nothing":       {"\n{{ .imports.missing.x }}", 2, 12, "{{ .imports.missing.x }}"},
		"a function in a pipeline": {"a\nb {{ .imports.name | atoi | fail }}", 2, 29, "{{ .imports.name | atoi | fail }}"},
		"in a define":              {"{{ define \"x\" }}\n  {{ .a.b }}\n{{ end }}\n{{ template \"x\" .imports }}", 2, 8, "{{ .a.b }}"},
		"in an include":            {"{{ define \"x\" }}\n  {{ .missing }}\n{{ end }}\n{{ include \"x\" .imports }}", 2, 6, "{{ .missing }}"},
		"in an include in an include": {
			"{{ define \"y\" }}{{ index . 5 }}{{ end }}\n{{ define \"x\" }}{{ include \"y\" . }}{{ end }}\n{{ include \"x\" .imports.list }}", 1, 20, "{{ index . 5 }}",
		},
		"in a condition": {"{{ if eq .imports.name 5 }}x{{ end }}", 1, 7, "{{ if eq .imports.name 5 }}"},
	} {
		_, err := compile(t, c.text).Render(Input{Bindings: bindings()})
		var failed *template.Error
		if !errors.As(err, &failed) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := failed.Place
		if got.Line != c.line || got.Column != c.column || got.Expression != c.expression {
			t.Errorf("%s: got %d:%d %q, want %d:%d %q", name, got.Line, got.Column, got.Expression, c.line, c.column, c.expression)
		}
	}
}

func TestCompileErrorsSayWhere(t *testing.T) {
	for text, want := range map[string]string{
		"a\n{{ if }}\n{{ end }}": "line 2): the template has a syntax error: missing value for if",
		"a\nb {{ nosuch . }}":    `line 2, column 6): function "nosuch" is not defined`,
	} {
		_, err := Compile(template.Source{Execution: "x", File: "f.yaml", Text: text}, Options{})
		if err == nil || !strings.HasPrefix(err.Error(), `GoTemplate "x" (file f.yaml, `+want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestFunctionsOfTheCaller(t *testing.T) {
	functions := map[string]any{
		"getResource": func(name string) (map[string]any, error) {
			if name == "" {
				return nil, template.Problemf("a resource needs a name")
			}
			return map[string]any{"name": name, "size": 1e6, "tags": []string{"a"}}, nil
		},
		"leak":    func(v any) (string, error) { return "", errors.New("cannot digest " + v.(string)) },
		"panics":  func(v any) string { panic(v) },
		"upper":   func(s string) string { return "own " + s },
		"sum":     func(numbers ...int) int { return len(numbers) },
		"nothing": func() any { return nil },
	}
	names := []string{"getResource", "leak", "panics", "upper", "sum", "nothing", "absent"}
	for text, want := range map[string]string{
		`{{ (getResource "image").size }} {{ (getResource "image").tags }}`: "1000000 [a]",
		`{{ getResource "" }}`:                                "! function getResource: a resource needs a name",
		`{{ leak "` + canary + `" }}`:                         "! function leak: it does not accept these arguments (string)",
		`{{ panics "` + canary + `" }}`:                       "! function panics: it does not accept these arguments (string)",
		`{{ upper "a" }}`:                                     "own a",
		`{{ sum 1 2 3 }}`:                                     "3",
		`{{ nothing | default "x" }}`:                         "x",
		`{{ absent }}`:                                        "! function absent is not available here",
		`{{ getResource 5 }}`:                                 "! expected string; found 5",
		`{{ $r := getResource "a" }}{{ set $r "b" 1 | len }}`: "4",
	} {
		got := renderCompiled(t, compile(t, text, names...), Input{Bindings: bindings(), Functions: functions})
		if got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
	bad := compile(t, "{{ absent }}", "absent")
	if got := renderCompiled(t, bad, Input{Functions: map[string]any{"absent": 5}}); got != "! function absent cannot be called from a template" {
		t.Errorf("a function that is none: %q", got)
	}
}

func TestBindingsAreNotChanged(t *testing.T) {
	input := bindings()
	got := renderCompiled(
		t,
		compile(
			t,
			`{{ $_ := set .imports "name" "changed" }}{{ $_ := set .imports.map.nested "deep" 1 }}{{ $_ := unset .imports "list" }}{{ .imports.name }}`,
		),
		Input{Bindings: input},
	)
	if got != "changed" {
		t.Errorf("got %q", got)
	}
	if diff := cmp.Diff(bindings(), input); diff != "" {
		t.Errorf("the bindings have changed (-want +got):\n%s", diff)
	}
}

func TestRenderYAML(t *testing.T) {
	compiled := compile(t, "a: {{ .imports.million }}\nb:\n{{ toYaml .imports.map | indent 2 }}\n")
	got, err := compiled.RenderYAML(Input{Bindings: bindings()})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": int64(1000000), "b": map[string]any{"a": int64(1), "b": int64(2), "nested": map[string]any{"deep": "value"}}}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	_, err = compile(
		t,
		"a: {{ .imports.name }}: {{ .imports.name }}",
	).RenderYAML(Input{Bindings: map[string]any{"imports": map[string]any{"name": canary}}})
	if got := messageIn(t, err); got != "the output of the template is not usable: the text is not valid YAML: mapping values are not allowed in this context" {
		t.Errorf("got %q", got)
	}
	if strings.Contains(err.Error(), canary) {
		t.Errorf("the error contains a value: %v", err)
	}
}

func TestFunctionsAreListed(t *testing.T) {
	got := compile(t, `{{ define "x" }}{{ quote . }}{{ end }}{{ if and true (not false) }}{{ own (upper "a") }}{{ end }}`, "own").Functions()
	if diff := cmp.Diff([]string{"and", "not", "own", "quote", "upper"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRenderingIsDeterministicAndConcurrent(t *testing.T) {
	compiled := compile(
		t,
		`{{ define "x" }}{{ range $k, $v := . }}{{ $k }}{{ toJson $v }}{{ end }}{{ end }}{{ include "x" .imports.map }}{{ keys .imports }}{{ values .imports.map }}{{ toYaml .imports }}{{ print .imports }}`,
	)
	want, err := compiled.Render(Input{Bindings: bindings()})
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan string)
	for range 8 {
		go func() {
			for range 20 {
				output, err := compiled.Render(Input{Bindings: bindings()})
				if err != nil {
					output = err.Error()
				}
				results <- output
			}
		}()
	}
	for range 8 * 20 {
		if got := <-results; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
