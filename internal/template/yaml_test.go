// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"espalier.dev/internal/template"
)

func TestDecodeYAML(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want any
	}{
		"scalars":                            {"[1, -2, 0x10, 0o17, 1_000, 1.5, 1e3, true, null, ~, text, '1', \"2\"]", []any{int64(1), int64(-2), int64(16), int64(15), int64(1000), 1.5, 1000.0, true, nil, nil, "text", "1", "2"}},
		"words that are booleans":            {"[yes, No, on, OFF, y, n, 'yes', \"on\"]", []any{true, false, true, false, true, false, "yes", "on"}},
		"dates are strings":                  {"2001-12-14", "2001-12-14"},
		"large numbers":                      {"[1000000, 9223372036854775807, 9223372036854775808]", []any{int64(1000000), int64(9223372036854775807), 9223372036854775808.0}},
		"keys are strings":                   {"{1: a, true: b, on: c, 1.5: d}", map[string]any{"1": "a", "true": "b", "on": "c", "1.5": "d"}},
		"blocks":                             {"a: |\n  x\n  y\nb: >-\n  x\n  y\n", map[string]any{"a": "x\ny\n", "b": "x y"}},
		"nothing":                            {"", nil},
		"only a comment":                     {"# nothing\n", nil},
		"a document with a start and an end": {"---\na: 1\n---\n", map[string]any{"a": int64(1)}},
		"aliases":                            {"a: &x {b: 1}\nc: *x\n", map[string]any{"a": map[string]any{"b": int64(1)}, "c": map[string]any{"b": int64(1)}}},
		"a merge key": {"a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3\n", map[string]any{"a": map[string]any{
			"b": int64(1),
			"c": int64(2),
		}, "d": map[string]any{"b": int64(1), "c": int64(3)}}},
		"several merge keys": {"d:\n  <<: [{a: 1}, {a: 2, b: 3}]\n", map[string]any{"d": map[string]any{
			"a": int64(1),
			"b": int64(3),
		}}},
		"an entry called <<":         {"<<: (( merge ))\na: 1\n", map[string]any{"<<": "(( merge ))", "a": int64(1)}},
		"binary data":                {"!!binary aGVsbG8=", "hello"},
		"the last of two equal keys": {"{a: 1, a: 2}", map[string]any{"a": int64(2)}},
	} {
		got, err := template.DecodeYAML(c.text, template.Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The values must match those of the same text in a manifest. The exceptions are keys such as on, which a manifest turns
// into "true".
func TestDecodeYAMLAgreesWithManifests(t *testing.T) {
	for _, text := range []string{
		"a: [1, 2.5, yes, no, 'x', 0777, 0b11, 1e3, ~]\nb: {c: 2020-01-01, d: 12:30:45, e: '012', f: 1_0}\n",
		"a: &x\n  b: [1, {c: *y}]\n",
		"a: &y 5\nb: *y\nc: &z {d: e}\nf: {<<: *z, g: h}\n",
		"- |\n  text\n\n  more\n- >+\n  folded\n  text\n\n- \"esc\\u0041\\n\"\n",
		"a: .5\nb: +1\nc: -.5\nd: 0x1F\ne: Null\nf: TRUE\ng: False\n",
	} {
		var want any
		wantErr := yaml.Unmarshal([]byte(text), &want)
		got, err := template.DecodeYAML(text, template.Limits{})
		if (err != nil) != (wantErr != nil) {
			t.Errorf("%q: the error is %v, want %v", text, err, wantErr)
			continue
		}
		if diff := cmp.Diff(plain(t, want), plain(t, got)); diff != "" && wantErr == nil {
			t.Errorf("%q (-manifest +got):\n%s", text, diff)
		}
	}
}

// plain converts floats without a fraction to integers, which look the same once written.
func plain(t *testing.T, value any) any {
	t.Helper()
	converted, err := template.Plain(value, template.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return converted
}

func TestDecodeYAMLRefuses(t *testing.T) {
	laughs := "a0: &a0 x\n"
	for i := 1; i < 40; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [*a%d, *a%d, *a%d]\n", i, i, i-1, i-1, i-1)
	}
	for name, c := range map[string]struct{ text, want string }{
		"a colon too many":            {"a: b: canary", "the text is not valid YAML: mapping values are not allowed in this context"},
		"a wrong indentation":         {"a:\n  b: 1\n c: canary\n", "the text is not valid YAML, line 2: did not find expected key"},
		"a tab":                       {"a:\n\tb: canary\n", "the text is not valid YAML, line 2: found character that cannot start any token"},
		"an open bracket":             {"a: [canary\n", "the text is not valid YAML, line 1: did not find expected ',' or ']'"},
		"an unknown anchor":           {"a: *canary\n", "the text is not valid YAML"},
		"two documents":               {"a: 1\n---\nb: canary\n", "there is more than one YAML document in the text (line 3)"},
		"a key that is a list":        {"? [canary]\n: 1\n", "the text is not valid YAML, line 1: a key must be a scalar"},
		"a merge of a list":           {"<<: [[canary]]\n", "the text is not valid YAML, line 1: only mappings can be merged"},
		"a number out of range":       {"a: .inf\n", "line 1 of the YAML text has a number that JSON does not support"},
		"no number":                   {"a: .nan\n", "line 1 of the YAML text has a number that JSON does not support"},
		"a tag that does not fit":     {"a: !!int canary\n", "the text is not valid YAML, line 1: the scalar does not fit its tag"},
		"bad binary data":             {"a: !!binary '*canary*'\n", "the text is not valid YAML, line 1: the scalar does not fit its tag"},
		"binary data that is no text": {"a: !!binary afk=", "line 1 of the YAML text has binary data, which JSON does not support"},
		"a control character":         {"a: \x01canary\n", "the text is not valid YAML: control characters are not allowed"},
		"a billion laughs":            {laughs, "limit reached: the functions of the template build more than 67108864 bytes"},
		"a value inside itself":       {"a: &x [canary, *x]\n", "limit reached: the structure nests deeper than 200 levels"},
		"deep brackets":               {strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "limit reached: the structure nests deeper than 200 levels"},
		"deeper brackets":             {strings.Repeat("[", 50000), "the text is not valid YAML"},
	} {
		_, err := template.DecodeYAML(c.text, template.Limits{})
		if got := template.Explain(err); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestDecodeYAMLReportsPlaces(t *testing.T) {
	var got []string
	_, err := template.NewMeter(template.Limits{}).
		DecodeYAMLPlaces("a:\n  b: [x, 1, \"y\"]\nc:\n- d: |\n    z\n", func(value, path string, line, column int) {
			got = append(got, fmt.Sprintf("%s %q %d:%d", path, value, line, column))
		})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`a.b[0] "x" 2:7`, `a.b[2] "y" 2:13`, `c[0].d "z\n" 4:6`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestEncodeYAML(t *testing.T) {
	value := map[string]any{"b": []any{int64(1000000), "yes", nil}, "a": map[string]any{"c": 1.5}}
	text, err := template.NewMeter(template.Limits{}).EncodeYAML(value)
	if err != nil {
		t.Fatal(err)
	}
	if want := "a:\n  c: 1.5\nb:\n- 1000000\n- \"yes\"\n- null\n"; text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	decoded, err := template.DecodeYAML(text, template.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(value), decoded); diff != "" {
		t.Errorf("decoded again (-want +got):\n%s", diff)
	}
}

// Property: everything that can be decoded can be encoded, and decoding that again gives the same. The only exceptions are
// keys longer than a thousand bytes, which cannot be written.
func FuzzYAML(f *testing.F) {
	for _, text := range []string{
		"a: 1", "- yes\n- 'yes'", "a: &x [1]\nb: *x", "<<: {a: 1}", "a: |\n  x\n", "? a\n: b", "{a: 1.5e3, b: ~}", "--- 2001-01-01", "a: !!binary aGk=", "0x_: 1",
	} {
		f.Add(text)
	}
	limits := template.Limits{Steps: 100_000, Memory: 1 << 20}
	f.Fuzz(func(t *testing.T, text string) {
		value, err := template.DecodeYAML(text, limits)
		if err != nil {
			if template.Explain(err) == "" {
				t.Fatalf("the error cannot be shown: %v", err)
			}
			return
		}
		encoded, err := template.NewMeter(template.Limits{}).EncodeYAML(value)
		if err != nil {
			if len(text) > 1000 && template.Explain(err) == "the value has no YAML form" {
				return
			}
			t.Fatalf("%q was decoded but cannot be encoded: %v", text, err)
		}
		again, err := template.DecodeYAML(encoded, template.Limits{})
		if err != nil {
			t.Fatalf("%q was encoded as %q, which cannot be decoded: %v", text, encoded, err)
		}
		if diff := cmp.Diff(plain(t, value), plain(t, again)); diff != "" && strings.ToValidUTF8(text, "") == text {
			t.Errorf("%q, encoded as %q (-want +got):\n%s", text, encoded, diff)
		}
	})
}
