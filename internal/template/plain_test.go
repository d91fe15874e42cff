// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/template"
)

func TestPlain(t *testing.T) {
	type named string
	for name, c := range map[string]struct{ value, want any }{
		"what is plain already":          {map[string]any{"a": []any{nil, true, "x", int64(1), 1.5}}, map[string]any{"a": []any{nil, true, "x", int64(1), 1.5}}},
		"a float without a fraction":     {1e6, int64(1_000_000)},
		"a negative one":                 {-5.0, int64(-5)},
		"the largest integers":           {[]any{float64(1 << 62), -float64(1 << 63)}, []any{int64(1 << 62), -float64(1 << 63)}},
		"a float beyond all integers":    {1e30, 1e30},
		"numbers of JSON":                {[]any{json.Number("12"), json.Number("1.5"), json.Number("1e3"), json.Number("9007199254740993")}, []any{int64(12), 1.5, int64(1000), int64(9007199254740993)}},
		"an integer beyond all others":   {json.Number("123456789012345678901234567890"), 123456789012345678901234567890.0},
		"typed numbers":                  {[]any{1, int8(2), uint16(3), uint64(math.MaxUint64), float32(4), float32(0.5)}, []any{int64(1), int64(2), int64(3), float64(math.MaxUint64), int64(4), 0.5}},
		"typed lists and maps":           {map[string]any{"a": []string{"x"}, "b": map[string]int{"y": 1}}, map[string]any{"a": []any{"x"}, "b": map[string]any{"y": int64(1)}}},
		"typed strings":                  {named("x"), "x"},
		"structures":                     {struct{ A int }{5}, map[string]any{"A": int64(5)}},
		"a nil map":                      {map[string]any(nil), map[string]any{}},
		"an empty list that stays empty": {[]any{}, []any{}},
	} {
		got, err := template.Plain(c.value, template.Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestPlainSharesNothing(t *testing.T) {
	original := map[string]any{"a": map[string]any{"b": []any{"c"}}}
	copied, err := template.PlainMap(original, template.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	copied["a"].(map[string]any)["b"].([]any)[0] = "changed"
	copied["a"].(map[string]any)["d"] = "added"
	if diff := cmp.Diff(map[string]any{"a": map[string]any{"b": []any{"c"}}}, original); diff != "" {
		t.Errorf("the original has changed (-want +got):\n%s", diff)
	}
}

func TestPlainRefuses(t *testing.T) {
	cycle := map[string]any{}
	cycle["self"] = []any{cycle}
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"functions": {map[string]any{"a": func() {}}, "a value of type func() has no JSON form"},
		"channels":  {make(chan int), "a value of type chan int has no JSON form"},
		"cycles":    {cycle, "limit reached: the structure nests deeper than 200 levels"},
	} {
		if _, err := template.Plain(c.value, template.Limits{}); template.Explain(err) != c.want {
			t.Errorf("%s: got %q, want %q", name, template.Explain(err), c.want)
		}
	}
}

func TestIntegersSurviveTheRoundTrip(t *testing.T) {
	text := `{"a":1000000,"b":9007199254740993,"c":1.5,"d":-1,"e":1e3}`
	decoded, err := template.DecodeJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(decoded)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"a":1000000,"b":9007199254740993,"c":1.5,"d":-1,"e":1000}`; string(encoded) != want {
		t.Errorf("got %s, want %s", encoded, want)
	}
}

func TestDecodedFloatsStayFloats(t *testing.T) {
	for text, want := range map[string]any{"2": int64(2), "2.0": 2.0, "[1e3]": []any{1000.0}, "-0.5": -0.5} {
		got, err := template.DecodeJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestDecodeJSONRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{"secret":`:    "the text is not valid JSON",
		`1 2`:           "there is more than one JSON value in the text",
		`[1e999]`:       "a number is out of range",
		`{"a":[1e999]}`: "a number is out of range",
	} {
		if _, err := template.DecodeJSON([]byte(text)); template.Explain(err) != want {
			t.Errorf("%s: got %q, want %q", text, template.Explain(err), want)
		}
	}
}

func TestFormatFloat(t *testing.T) {
	for f, want := range map[float64]string{
		0:         "0",
		1e6:       "1000000",
		1234567.5: "1234567.5",
		-0.25:     "-0.25",
		1e20:      "100000000000000000000",
		1e21:      "1e+21",
		1e-7:      "1e-07",
		0.000001:  "0.000001",
	} {
		if got := template.FormatFloat(f); got != want {
			t.Errorf("%g is written as %s, want %s", f, got, want)
		}
	}
}
