// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package preview_test

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"espalier.dev/internal/masking"
	"espalier.dev/internal/preview"
)

// made is an object whose content is written as YAML.
func made(t *testing.T, name, content string) preview.Made {
	t.Helper()
	m := preview.Made{Kind: "DeployItem", Namespace: "a", Name: name, Title: name}
	if err := yaml.Unmarshal([]byte(content), &m.Content); err != nil {
		t.Fatal(err)
	}
	return m
}

// told formats changes as text.
func told(changes []preview.Change) string {
	var text strings.Builder
	for _, change := range changes {
		fmt.Fprintf(&text, "%s %s\n", change.What, change.Name)
		for _, line := range change.Lines {
			fmt.Fprintf(&text, "%s%s\n", line.Op, line.Text)
		}
	}
	return text.String()
}

func TestWhatAJobWouldChange(t *testing.T) {
	long := func(middle string) string {
		return "a: 1\nb: 2\nc: 3\nd: 4\ne: 5\nm: " + middle + "\nn0: 5\nn1: 6\nn2: 7\nn3: 8\no: 7\np: 8\nq: 9\nr: " + middle + "\n"
	}
	for name, test := range map[string]struct {
		before, after map[string]string
		want          string
	}{
		"nothing":    {map[string]string{"x": "a: 1"}, map[string]string{"x": "a: 1"}, ""},
		"a new one":  {nil, map[string]string{"x": "a: 1\nb: 2"}, "create x\n+a: 1\n+b: 2\n"},
		"one less":   {map[string]string{"x": "a: 1"}, nil, "delete x\n-a: 1\n"},
		"a change":   {map[string]string{"x": "a: 1\nb: 2\nc: 3"}, map[string]string{"x": "a: 1\nb: 5\nc: 3"}, "update x\n a: 1\n-b: 2\n+b: 5\n c: 3\n"},
		"a new line": {map[string]string{"x": "a: 1\nc: 3"}, map[string]string{"x": "a: 1\nb: 2\nc: 3"}, "update x\n a: 1\n+b: 2\n c: 3\n"},
		"far apart": {
			map[string]string{"x": long("old")}, map[string]string{"x": long("new")},
			"update x\n c: 3\n d: 4\n e: 5\n-m: old\n+m: new\n n0: 5\n n1: 6\n n2: 7\n ...\n o: 7\n p: 8\n q: 9\n-r: old\n+r: new\n",
		},
		"one of two": {
			map[string]string{"x": "a: 1", "y": "a: 1"}, map[string]string{"x": "a: 1", "y": "a: 2"}, "update y\n-a: 1\n+a: 2\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after []preview.Made
			for _, object := range []string{"x", "y"} {
				if content, exists := test.before[object]; exists {
					before = append(before, made(t, object, content))
				}
				if content, exists := test.after[object]; exists {
					after = append(after, made(t, object, content))
				}
			}
			if got := told(preview.Compare(before, after, &masking.Values{})); got != test.want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestSecretsAreMaskedInADiff(t *testing.T) {
	const old, fresh = "former-swordfish", "present-swordfish"
	secrets := &masking.Values{}
	secrets.AddText(fresh)
	for name, test := range map[string]struct{ before, after, want string }{
		"the same": {"p: " + fresh, "p: " + fresh, ""},
		"a former value": {
			"p: " + old + "\nq: 1", "p: " + fresh + "\nq: 1", "update x\n # Only values change that are not shown.\n",
		},
		"inside of a text": {"p: is " + old, "p: is " + fresh, "update x\n-p: <masked>\n+p: is <masked>\n"},
		"in a list":        {"p: [a, " + old + "]", "p: [a, " + fresh + "]", "update x\n # Only values change that are not shown.\n"},
		"in a longer list": {"p: [" + old + ", " + old + "]", "p: [" + fresh + "]", "update x\n p:\n - <masked>\n-- <masked>\n"},
		"where a map was":  {"p: {a: " + old + "}", "p: " + fresh, "update x\n-p:\n-  a: <masked>\n+p: <masked>\n"},
		"beside a change":  {"p: " + old + "\nr: 1", "p: " + fresh + "\nr: 2", "update x\n p: <masked>\n-r: 1\n+r: 2\n"},
		"in what is added": {"a: 1", "a: 1\np: " + fresh, "update x\n a: 1\n+p: <masked>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := told(preview.Compare([]preview.Made{made(t, "x", test.before)}, []preview.Made{made(t, "x", test.after)}, secrets))
			if got != test.want || strings.Contains(got, "swordfish") {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestLargeObjectsAreComparedToo(t *testing.T) {
	var before, after strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&before, "k%04d: old\n", i)
		fmt.Fprintf(&after, "k%04d: new\n", i)
	}
	got := preview.Compare([]preview.Made{made(t, "x", before.String())}, []preview.Made{made(t, "x", after.String())}, &masking.Values{})
	if len(got) != 1 || len(got[0].Lines) != 2001 || !strings.Contains(got[0].Lines[2000].Text, "more") {
		t.Errorf("%d objects", len(got))
	}
}
