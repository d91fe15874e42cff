// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package documents

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSplit(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		want    []string
		problem string
	}{
		"nothing":                          {text: ""},
		"comments only":                    {text: "# Source: x\n---\n# nothing\n"},
		"one":                              {text: "{apiVersion: v1, kind: A, metadata: {name: x}}", want: []string{"A/x"}},
		"several":                          {text: "apiVersion: v1\nkind: A\nmetadata: {name: x}\n---\napiVersion: v1\nkind: B\nmetadata: {name: z}\n", want: []string{"A/x", "B/z"}},
		"a text is no object":              {text: "hello world\n---\n{apiVersion: v1, kind: A, metadata: {name: x}}", want: []string{"A/x"}},
		"a map without a kind is none":     {text: "{a: b}"},
		"a list":                           {text: "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: A, metadata: {name: x}}]}", want: []string{"A/x"}},
		"a typed list":                     {text: "{apiVersion: v1, kind: AList, items: [{metadata: {name: x}}, {metadata: {name: z}}]}", want: []string{"A/x", "A/z"}},
		"an empty list":                    {text: "{apiVersion: v1, kind: AList, items: []}"},
		"a kind that only sounds like one": {text: "{apiVersion: v1, kind: AllowList, metadata: {name: x}}", want: []string{"AllowList/x"}},
		"a list of something else":         {text: "{apiVersion: v1, kind: AList, items: [7]}", problem: "document 1: AList: .items[0] is not an object"},
		"no YAML":                          {text: "a: b\n---\n{", problem: "document 2: not YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			objects, err := Split(c.text)
			if c.problem != "" {
				if err == nil || !strings.Contains(err.Error(), c.problem) {
					t.Fatalf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, object := range objects {
				got = append(got, object.GetKind()+"/"+object.GetName())
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Integers stay integers: comparisons with the API server's answers depend on it.
func TestWholeNumbersStayWhole(t *testing.T) {
	objects, err := Split("{apiVersion: v1, kind: A, spec: {replicas: 3}}")
	if err != nil {
		t.Fatal(err)
	}
	spec := objects[0].Object["spec"].(map[string]any)
	if diff := cmp.Diff(map[string]any{"replicas": int64(3)}, spec); diff != "" {
		t.Error(diff)
	}
}
