// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/template"
)

func TestErrorNamesThePlace(t *testing.T) {
	text := strings.Join(
		[]string{
			"one",
			"two",
			"three",
			"four",
			"five",
			"six",
			"seven",
			"eight {{ .x }}",
			"nine",
			"ten",
			"eleven",
			"twelve",
			"thirteen",
			"fourteen",
		},
		"\n",
	)
	source := template.Source{Engine: "GoTemplate", Execution: "deploy", File: "deploy.yaml", Text: text}
	place := template.Place{Line: 8, Column: 10, Path: "a[0].b", Expression: "{{ .x }}"}
	err := template.NewError(source, place, "there is no value", nil).WithInput(map[string]any{"imports": map[string]any{
		"a": "canary",
		"b": []any{"canary"},
	}})
	want := `GoTemplate "deploy" (file deploy.yaml, line 8, column 10, at a[0].b): there is no value
expression: {{ .x }}
template:
     3 | three
     4 | four
     5 | five
     6 | six
     7 | seven
>    8 | eight {{ .x }}
       |          ^
     9 | nine
    10 | ten
    11 | eleven
    12 | twelve
    13 | thirteen
input (types only):
  imports: map of 2
    a: string
    b: list of 1
      [0]: string`
	if err.Error() != want {
		t.Errorf("got:\n%s\nwant:\n%s", err, want)
	}
}

func TestErrorIsTerminal(t *testing.T) {
	limit := template.NewMeter(template.Limits{Steps: 1}).Step(2)
	for name, c := range map[string]struct {
		err    *template.Error
		reason string
	}{
		"a template that cannot be compiled": {template.NewError(template.Source{}, template.Place{}, "x", nil), template.ReasonInvalid},
		"a template that cannot be rendered": {template.NewError(template.Source{}, template.Place{}, "x", nil).WithInput(nil), template.ReasonFailed},
		"a limit":                            {template.NewError(template.Source{}, template.Place{}, "", fmt.Errorf("rendering: %w", limit)).WithInput(nil), template.ReasonLimit},
	} {
		err := fmt.Errorf("installation x: %w", c.err.Terminal())
		want := failure.Details{Operation: template.Operation, Reason: c.reason, Codes: []string{"ERR_CONFIGURATION_PROBLEM"}}
		if diff := cmp.Diff(want, failure.DetailsOf(err)); diff != "" || failure.KindOf(err) != failure.Terminal {
			t.Errorf("%s is %v (-want +got):\n%s", name, failure.KindOf(err), diff)
		}
		var found *template.Error
		if !errors.As(err, &found) || found != c.err {
			t.Errorf("%s cannot be taken out of the error", name)
		}
	}
}

func TestErrorHidesItsCause(t *testing.T) {
	for name, c := range map[string]struct {
		cause error
		want  string
	}{
		"any error":               {errors.New("canary"), "the template cannot be evaluated here"},
		"a problem":               {template.Problemf("there is nothing"), "there is nothing"},
		"a problem in an error":   {fmt.Errorf("canary: %w", template.Problemf("there is nothing")), "there is nothing"},
		"a limit":                 {template.NewMeter(template.Limits{Depth: 1}).Nested(1000), "limit reached: the structure nests deeper than 200 levels"},
		"an error in a problem":   {errors.Join(errors.New("canary"), template.Problemf("there is nothing")), "there is nothing"},
		"nothing that is helpful": {nil, "the template cannot be evaluated here"},
	} {
		err := template.NewError(template.Source{Engine: "Spiff", Execution: "x"}, template.Place{}, "", c.cause).Terminal()
		if want := "Spiff \"x\": " + c.want; err.Error() != want {
			t.Errorf("%s: got %q, want %q", name, err, want)
		}
		for inner := err; inner != nil; inner = errors.Unwrap(inner) {
			if strings.Contains(fmt.Sprintf("%v %+v %s", inner, inner, inner), "canary") {
				t.Errorf("%s: the cause can be seen in %T", name, inner)
			}
		}
	}
}

func TestExcerpt(t *testing.T) {
	long := strings.Repeat("x", 300) + "HERE" + strings.Repeat("y", 300)
	for name, c := range map[string]struct {
		text  string
		place template.Place
		want  []string
	}{
		"the first line":         {"a\nb", template.Place{Line: 1, Column: 1}, []string{">    1 | a", "       | ^", "     2 | b"}},
		"a line without column":  {"a\nb", template.Place{Line: 2}, []string{"     1 | a", ">    2 | b"}},
		"tabs":                   {"\ta b", template.Place{Line: 1, Column: 4}, []string{">    1 | \ta b", "       | \t  ^"}},
		"other characters":       {"äö x", template.Place{Line: 1, Column: 6}, []string{">    1 | äö x", "       |    ^"}},
		"control characters":     {"a\x1b[31mb\r", template.Place{Line: 1, Column: 1}, []string{">    1 | a?[31mb", "       | ^"}},
		"no such line":           {"a", template.Place{Line: 5}, nil},
		"no line":                {"a", template.Place{}, nil},
		"the end of a long line": {strings.Repeat("x", 200), template.Place{Line: 1, Column: 200}, []string{">    1 | " + strings.Repeat("x", 120), "       | " + strings.Repeat(" ", 119) + "^"}},
		"in the middle of a long line": {long, template.Place{Line: 1, Column: 301}, []string{
			">    1 | " + strings.Repeat("x", 59) + "HERE" + strings.Repeat("y", 57), "       | " + strings.Repeat(" ", 59) + "^",
		}},
	} {
		got := template.NewError(template.Source{Text: c.text}, c.place, "x", nil).Excerpt
		if want := strings.Join(c.want, "\n"); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestLongExpressionsAreCut(t *testing.T) {
	place := template.Place{Expression: "begin " + strings.Repeat("ä\n", 500) + " end"}
	text := template.NewError(template.Source{}, place, "x", nil).Error()
	if len(text) > 400 || strings.Count(text, "\n") != 1 {
		t.Errorf("%d bytes with %d line breaks: %q", len(text), strings.Count(text, "\n"), text)
	}
	if !strings.Contains(text, "begin ä ä") || !strings.HasSuffix(text, " end") {
		t.Errorf("got %q, want the beginning and the end", text)
	}
}

func TestStructure(t *testing.T) {
	if got := template.Structure(nil); got != "  (nothing)" {
		t.Errorf("no bindings: %q", got)
	}
	got := template.Structure(map[string]any{
		"state": nil, "imports": map[string]any{
			"b":                        "canary",
			"a":                        int64(1),
			"c":                        1.5,
			"d":                        true,
			"e":                        map[string]any{"f": map[string]any{"g": map[string]any{"too deep": 1}}},
			"h":                        []any{},
			"i":                        []any{map[string]any{"j": "canary"}},
			strings.Repeat("long", 50): nil,
		},
	})
	want := `  imports: map of 8
    a: integer
    b: string
    c: number
    d: boolean
    e: map of 1
      f: map of 1
    h: list of 0
    i: list of 1
      [0]: map of 1
    longlonglonglonglonglonglonglonglonglong ... longlonglonglonglong: null
  state: null`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	many := map[string]any{}
	for i := range 1000 {
		many[fmt.Sprintf("import-%04d", i)] = i
	}
	lines := strings.Split(template.Structure(many), "\n")
	if len(lines) != 41 || lines[40] != "  ... and 960 more" {
		t.Errorf("a thousand bindings take %d lines and end with %q", len(lines), lines[len(lines)-1])
	}
}

func TestRefusal(t *testing.T) {
	for name, c := range map[string]struct {
		problem *template.Problem
		want    string
	}{
		"text of the template": {template.Refusal("the size\nis wrong\x1b", true), "the size is wrong?"},
		"a long text":          {template.Refusal("begin "+strings.Repeat("x", 2000)+" end", true), "begin " + strings.Repeat("x", 327) + " ... " + strings.Repeat("x", 162) + " end"},
		"values":               {template.Refusal("canary", false), "the template rejects its input; the message may contain values and is withheld, see the expression"},
	} {
		if got := c.problem.Error(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
