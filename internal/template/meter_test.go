// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"espalier.dev/internal/template"
)

func limitOf(err error) string {
	var limit *template.LimitError
	if errors.As(err, &limit) {
		return limit.Limit
	}
	return ""
}

func TestLimitsHaveDefaults(t *testing.T) {
	got := template.Limits{Steps: 5, Depth: -1}.WithDefaults()
	want := template.Limits{
		Source: template.DefaultSource, Steps: 5, Memory: template.DefaultMemory, Output: template.DefaultOutput,
		Depth: template.DefaultDepth, Nesting: template.DefaultNesting,
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestMeterStopsAtItsLimits(t *testing.T) {
	limits := template.Limits{Source: 10, Steps: 10, Memory: 100, Output: 10, Depth: 2, Nesting: 3}
	for name, c := range map[string]struct {
		allowed, refused func(*template.Meter) error
		limit            string
	}{
		"steps": {
			func(m *template.Meter) error { return m.Step(10) },
			func(m *template.Meter) error { return m.Step(11) }, "Steps",
		},
		"steps of a huge number": {
			func(m *template.Meter) error { return m.Step(0) },
			func(m *template.Meter) error { return errors.Join(m.Step(1), m.Step(math.MaxInt64)) }, "Steps",
		},
		"memory": {
			func(m *template.Meter) error { return m.Build(100) },
			func(m *template.Meter) error { return errors.Join(m.Build(60), m.Build(60)) }, "Memory",
		},
		"memory of a huge number": {
			func(m *template.Meter) error { return m.Build(1) },
			func(m *template.Meter) error { return errors.Join(m.Build(1), m.Build(math.MaxInt64)) }, "Memory",
		},
		"the cost of reading": {
			func(m *template.Meter) error { return m.Read(2560) },
			func(m *template.Meter) error { return m.Read(2560 + 256) }, "Steps",
		},
		"source":  {func(m *template.Meter) error { return m.Source(10) }, func(m *template.Meter) error { return m.Source(11) }, "Source"},
		"output":  {func(m *template.Meter) error { return m.Output(10) }, func(m *template.Meter) error { return m.Output(11) }, "Output"},
		"nesting": {func(m *template.Meter) error { return m.Nested(3) }, func(m *template.Meter) error { return m.Nested(4) }, "Nesting"},
		"depth": {
			func(m *template.Meter) error {
				for range 5 {
					if err := errors.Join(m.Enter(), m.Enter()); err != nil {
						return err
					}
					m.Leave()
					m.Leave()
				}
				return nil
			},
			func(m *template.Meter) error { return errors.Join(m.Enter(), m.Enter(), m.Enter()) }, "Depth",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := c.allowed(template.NewMeter(limits)); err != nil {
				t.Errorf("what is allowed fails: %v", err)
			}
			m := template.NewMeter(limits)
			if got := limitOf(c.refused(m)); got != c.limit {
				t.Errorf("the limit is %q, want %q", got, c.limit)
			}
			if got := limitOf(m.Reached()); got != c.limit {
				t.Errorf("the meter remembers %q, want %q", got, c.limit)
			}
		})
	}
}

func TestMeterKeepsFailing(t *testing.T) {
	m := template.NewMeter(template.Limits{Steps: 1})
	first := m.Step(2)
	for name, charge := range map[string]func() error{
		"a step": func() error { return m.Step(0) }, "a byte": func() error { return m.Build(0) }, "a call": m.Enter,
		"output": func() error { return m.Output(0) }, "structure": func() error { return m.Nested(0) },
	} {
		if err := charge(); err == nil || err != first {
			t.Errorf("after the limit %s yields %v, want the same error", name, err)
		}
	}
}

func TestMeasureCountsSharedPartsAsOftenAsTheyOccur(t *testing.T) {
	var shared any = "x"
	for range 100 {
		shared = []any{shared, shared}
	}
	if got := limitOf(template.NewMeter(template.Limits{}).Measure(shared)); got != "Memory" {
		t.Errorf("the limit is %q, want Memory", got)
	}
}

func TestMeasureRefusesCyclesAndDepth(t *testing.T) {
	cycle := map[string]any{}
	cycle["self"] = cycle
	deep := any(1)
	for range 1000 {
		deep = map[string]any{"a": []any{deep}}
	}
	typed := []map[string]any{{"a": []map[string]any{{}}}}
	typed[0]["a"].([]map[string]any)[0]["b"] = typed
	for name, value := range map[string]any{"a cycle of maps": cycle, "a deep value": deep, "a cycle of typed lists": typed} {
		if got := limitOf(template.NewMeter(template.Limits{}).Measure(value)); got != "Nesting" {
			t.Errorf("%s: the limit is %q, want Nesting", name, got)
		}
	}
}

func TestMeasureKnowsTheSizeOfStrings(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for name, value := range map[string]any{
		"a string": long, "a list": []any{long}, "a key": map[string]any{long: 1}, "a typed list": []string{long},
		"bytes": []byte(long), "a typed map": map[string]string{"a": long}, "a struct": struct{ A string }{long},
		"a pointer": &struct{ A any }{long}, "a typed string": template.Place{Path: long},
	} {
		m := template.NewMeter(template.Limits{})
		if err := m.Measure(value); err != nil {
			t.Fatal(err)
		}
		if _, memory := m.Used(); memory < 1000 || memory > 2000 {
			t.Errorf("%s of 1000 bytes was counted as %d", name, memory)
		}
	}
}

func TestShallowDoesNotLookInside(t *testing.T) {
	long := strings.Repeat("x", 1000)
	for name, c := range map[string]struct {
		value any
		want  int64
	}{
		"a string": {long, 1000}, "a list": {[]any{long, long}, 32}, "a map": {map[string]any{"a": long}, 48},
		"a typed list": {[]string{long}, 16}, "a typed map": {map[string]string{"a": long}, 48}, "nothing": {nil, 0}, "a number": {5, 0},
	} {
		if got := template.Shallow(c.value); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}

func TestRegexp(t *testing.T) {
	m := template.NewMeter(template.Limits{})
	expression, err := m.Regexp("a(b+)", "aabbb")
	if err != nil || expression.FindString("aabbb") != "abbb" {
		t.Fatalf("the expression does not match: %v", err)
	}
	for name, c := range map[string]struct{ pattern, text, want string }{
		"not valid":             {"a(", "", "the regular expression is not valid"},
		"too long":              {strings.Repeat("a", 2000), "", "the regular expression is longer than 1024 bytes"},
		"too large when parsed": {"((a{1,100}){1,100}){1,100}", "", "the regular expression is not valid"},
		"too much to do":        {"(a{1,30}b{0,30}){1,30}x", strings.Repeat("ab", 100_000), "limit reached: the template takes more than 2000000 steps; a loop or a recursion is endless or too large"},
	} {
		if _, err := template.NewMeter(template.Limits{}).Regexp(c.pattern, c.text); template.Explain(err) != c.want {
			t.Errorf("%s: got %q, want %q", name, template.Explain(err), c.want)
		}
	}
}

func TestFormat(t *testing.T) {
	for name, c := range map[string]struct {
		format string
		args   []any
		want   string
	}{
		"verbs":                       {"%s %d %v %q %t %5.2f|%-4s|%04d", []any{"a", int64(1), 2, "b", true, 1.5, "c", 7}, "a 1 2 \"b\" true  1.50|c   |0007"},
		"a percent sign":              {"100%%", nil, "100%"},
		"a large number as text":      {"%v %s", []any{1e6 + 0.5, 1e6 + 0.5}, "1000000.5 1000000.5"},
		"an index":                    {"%[2]s%[1]s%[2]s", []any{"a", "b"}, "bab"},
		"no verb at the end":          {"%5", nil, "%!(NOVERB)"},
		"too few arguments":           {"%s", nil, "%!s(MISSING)"},
		"a width from an argument":    {"%*d", []any{100000000, 1}, "! a format cannot take its width from an argument"},
		"a wide field":                {"%1000000d", []any{1}, "! a width in a format is greater than 1000"},
		"a huge width":                {"%99999999999999999999d", []any{1}, "! a width in a format is greater than 1000"},
		"a wide precision":            {"%.5000f", []any{1.5}, "! a width in a format is greater than 1000"},
		"an address":                  {"%p", []any{[]any{}}, "! a format cannot show how a value is kept in memory"},
		"how it is kept":              {"%#v", []any{1}, "! a format cannot show how a value is kept in memory"},
		"too many fields":             {strings.Repeat("%1000d", 100_000), nil, "! limit reached: the functions of the template build more than 67108864 bytes"},
		"the same argument too often": {strings.Repeat("%[1]s", 100_000), []any{strings.Repeat("x", 1000)}, "! limit reached: the functions of the template build more than 67108864 bytes"},
	} {
		got, err := template.NewMeter(template.Limits{}).Format(c.format, c.args)
		if err != nil {
			got = "! " + template.Explain(err)
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
