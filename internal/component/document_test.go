// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"reflect"
	"strings"
	"testing"
)

func TestReadDocumentGivesPlainValues(t *testing.T) {
	cases := map[string]struct {
		text string
		want any
	}{
		"JSON object":                   {`{"a": [1, 2.5, true, null, "x"]}`, map[string]any{"a": []any{int64(1), 2.5, true, nil, "x"}}},
		"YAML object":                   {"a: [1, 2.5, true, null, x]", map[string]any{"a": []any{int64(1), 2.5, true, nil, "x"}}},
		"YAML that begins with a brace": {`{a: {b: c}}`, map[string]any{"a": map[string]any{"b": "c"}}},
		"whole numbers are integers": {
			`{"a": [1.0, 1e3, -0.0, 9223372036854775807]}`,
			map[string]any{"a": []any{int64(1), int64(1000), int64(0), int64(9223372036854775807)}},
		},
		"the same in YAML": {
			`a: [1.0, 1e3, -0.0, 9223372036854775807]`,
			map[string]any{"a": []any{int64(1), int64(1000), int64(0), int64(9223372036854775807)}},
		},
		"numbers beyond integers": {`{"a": 18446744073709551615}`, map[string]any{"a": 18446744073709551615.0}},
		"the same beyond in YAML": {`a: 18446744073709551615`, map[string]any{"a": 18446744073709551615.0}},
		"dates stay texts":        {"a: 2024-02-03T04:05:06Z", map[string]any{"a": "2024-02-03T04:05:06Z"}},
		"keys become texts":       {"1: a\ntrue: b", map[string]any{"1": "a", "true": "b"}},
		"surrogates in JSON":      {`{"a": "\ud83c\udf33"}`, map[string]any{"a": "\U0001F333"}},
		"a list":                  {"- 1", []any{int64(1)}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := readDocument([]byte(c.text), DefaultLimits)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %#v, want %#v", got, c.want)
			}
		})
	}
}

func TestReadDocumentRefuses(t *testing.T) {
	small := Limits{Bytes: 1000, Depth: 3, Values: 10}
	cases := map[string]struct{ text, want string }{
		"nothing":                  {" \n", "the document is empty"},
		"only a comment":           {"# nothing here", "the document is empty"},
		"broken JSON":              {`{"a": `, "yaml: line"},
		"a key twice in JSON":      {`{"a": 1, "a": 2}`, `duplicate field "a"`},
		"a key twice in YAML":      {"a: 1\nb: 2\na: 3", `line 3: duplicate key "a"`},
		"two documents":            {"a: 1\n---\nb: 1", "more than one document"},
		"garbage after a document": {"a: 1\n...\n]", "yaml:"},
		"an alias":                 {"a: &x [1]\nb: *x", "line 1: anchors and aliases"},
		"an anchor on a key":       {"&x a: 1", "line 1: the keys of an object"},
		"a merge":                  {"a: 1\n<<: {b: 2}", "line 2: the keys of an object"},
		"an object as a key":       {"? {a: b}\n: c", "the keys of an object"},
		"binary data":              {"a: !!binary aGk=", "tag !!binary"},
		"a tag of its own":         {"a: !secret x", "tag !secret"},
		"no number":                {"a: .nan", ".nan is not a number"},
		"no finite number":         {"a: -.inf", "-.inf is not a number"},
		"too large a number":       {`{"a": 1e999}`, "cannot unmarshal number 1e999"},
		"too many bytes":           {strings.Repeat(" ", 1001), "has 1001 bytes, at most 1000"},
		"too deep JSON":            {`{"a":[[{}]]}`, "deeper than 3"},
		"too deep YAML":            {`a: [[{}]]`, "deeper than 3"},
		"too many values in JSON":  {`{"a":[0,0,0,0,0,0,0,0,0,0,0]}`, "more than 10 values"},
		"too many values in YAML":  {"a: [0,0,0,0,0,0,0,0,0]", "more than 10 values"},
		"too many lines":           {strings.Repeat("#\n", 11), "more than 10 values"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			value, err := readDocument([]byte(c.text), small)
			if err == nil {
				t.Fatalf("got %#v, want an error", value)
			}
			wantError(t, err, c.want)
		})
	}
}

// Brackets and commas in strings are not structure.
func TestMeasureJSONSkipsTexts(t *testing.T) {
	if _, err := readDocument([]byte(`{"a": "[[[[[,,,,,,,,,,,\"{{{{{\\"}`), Limits{Bytes: 100, Depth: 1, Values: 3}); err != nil {
		t.Error(err)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	original := map[string]any{"list": []any{map[string]any{"a": "b"}}}
	copied := cloneObject(original)
	copied["list"].([]any)[0].(map[string]any)["a"] = "changed"
	if got := original["list"].([]any)[0].(map[string]any)["a"]; got != "b" {
		t.Errorf("the original became %v", got)
	}
}
