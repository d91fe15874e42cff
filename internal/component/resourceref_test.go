// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseURI(t *testing.T) {
	cases := map[string]URI{
		"cd://resources/y":                                             {Resource: "y"},
		"cd://resources/y/":                                            {Resource: "y"},
		"cd://resources/y#/definitions/a":                              {Resource: "y", Fragment: "/definitions/a"},
		"cd://componentReferences/x":                                   {References: []string{"x"}},
		"cd://componentReferences/x/resources/y":                       {References: []string{"x"}, Resource: "y"},
		"cd://componentReferences/x/componentReferences/z/resources/y": {References: []string{"x", "z"}, Resource: "y"},
		"cd://resources/a%2Fb":                                         {Resource: "a/b"},
		"cd://componentReferences/a%2Fb/resources/c%23d":               {References: []string{"a/b"}, Resource: "c#d"},
		"cd://resources/a+b":                                           {Resource: "a+b"},
		"cd://resources/y#a%20b%23":                                    {Resource: "y", Fragment: "a b#"},
		"cd://resources/resources":                                     {Resource: "resources"},
		"cd://resources/y#resources/z":                                 {Resource: "y", Fragment: "resources/z"},
	}
	for text, want := range cases {
		got, err := ParseURI(text)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, %v", text, got, err)
		}
		if again, err := ParseURI(got.String()); err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("%s: written as %s, which is %+v, %v", text, got, again, err)
		}
	}
}

func TestParseURIRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "must begin with cd://",
		"cd:/resources/y":                        "must begin with cd://",
		"CD://resources/y":                       "must begin with cd://",
		"cd://":                                  "pairs of",
		"cd://resources":                         "pairs of",
		"cd:///resources/y":                      "pairs of",
		"cd://resources//":                       "a name is missing after resources",
		"cd://resources/y/resources":             "pairs of",
		"cd://resources/y/resources/z":           `nothing can follow the resource "y"`,
		"cd://resources/y/componentReferences/z": `nothing can follow the resource "y"`,
		"cd://componentReferences//resources/y":  "a name is missing after componentReferences",
		"cd://sources/y":                         `"sources" is unknown`,
		"cd://resources/y?a=b":                   "question mark",
		"cd://resources/%zz":                     "invalid URL escape",
		"cd://resources/y#%zz":                   "after #",
		"cd://resources/" + strings.Repeat("a", 2083): "may have 2083 bytes",
	} {
		got, err := ParseURI(text)
		if err == nil {
			t.Errorf("%s: got %+v", text, got)
			continue
		}
		wantError(t, err, want)
	}
}

func TestParseResourceReference(t *testing.T) {
	cases := map[string]struct {
		text string
		want ResourceReference
	}{
		"a URI": {"cd://componentReferences/x/resources/y", ResourceReference{Path: []Identity{{"name": "x"}}, Resource: Identity{"name": "y"}}},
		"YAML": {
			"\n    resource:\n      name: y\n    referencePath:\n      - name: x\n    ",
			ResourceReference{Path: []Identity{{"name": "x"}}, Resource: Identity{"name": "y"}},
		},
		"JSON": {`{"resource":{"name":"y","version":"1"}}`, ResourceReference{Resource: Identity{"name": "y", "version": "1"}}},
		"flat": {`{"resource":{"name":"y","os":"linux"}}`, ResourceReference{Resource: Identity{"name": "y", "os": "linux"}}},
		"extra identity": {
			`{"resource":{"name":"y","extraIdentity":{"os":"linux"}},"referencePath":[{"name":"x","extraIdentity":{"a":"b"}}]}`,
			ResourceReference{Path: []Identity{{
				"name": "x",
				"a":    "b",
			}}, Resource: Identity{"name": "y", "os": "linux"}},
		},
	}
	for name, c := range cases {
		if got, err := ParseResourceReference(c.text); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestParseResourceReferenceRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "the document is empty",
		"echo":                                  "must be a URI that begins with cd:// or an object with the field resource, is a text",
		"cd://componentReferences/x":            "it leads to a component",
		"cd://x":                                "pairs of",
		"{}":                                    "resource.name: is required",
		`{"resource": {"version": "1"}}`:        "resource.name: is required",
		`{"resource": {"name": 5}}`:             "resource.name: must be a text",
		`{"resource": "y"}`:                     "resource: must be an object",
		`{"resource": {"name": "y", "os": []}}`: "resource.os: must be a text",
		`{"resource": {"name": "y"}, "referencePath": [{}]}`:               "referencePath[0].name: is required",
		`{"resource": {"name": "y"}, "referencePath": "x"}`:                "referencePath: must be a list",
		`{"resource": {"name": "y"}, "referencePath": [[[[[[[[[]]]]]]]]]}`: "nested deeper",
	} {
		_, err := ParseResourceReference(text)
		wantError(t, err, want)
	}
}
