// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package marker_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/gitprovider/marker"
)

var prod = marker.Marker{Namespace: "default", Pipeline: "podinfo", Environment: "prod"}

const (
	ours   = `{"$promotion": "default:podinfo:prod"}`
	theirs = `{"$promotion": "default:podinfo:prod-eu"}`
)

// TestPIP23_OnlyTheMarkedScalarChanges has files before and after, in which M stands for the marker and O for that of another environment.
func TestPIP23_OnlyTheMarkedScalarChanges(t *testing.T) {
	for name, c := range map[string]struct{ revision, before, after string }{
		"plain":                            {"1.2.3", "a: 1.0.0 # M\nb: x\n", "a: 1.2.3 # M\nb: x\n"},
		"double-quoted":                    {"1.2.3", "a: \"1.0.0\"   # M\n", "a: \"1.2.3\"   # M\n"},
		"single-quoted":                    {"1.2.3", "a: '1.0.0'# no\n  # M\nb: 'it''s' # M\n", ""},
		"single-quoted with a quote":       {"1.2.3", "b: 'it''s' # M\n", "b: '1.2.3' # M\n"},
		"double-quoted with escapes":       {"1.2.3", `b: "a\"#\\" # M`, `b: "1.2.3" # M`},
		"a quote in the revision":          {`a"b\c'd`, "a: \"x\" # M\nb: 'x' # M\nc: x # M\n", "a: \"a\\\"b\\\\c'd\" # M\nb: 'a\"b\\c''d' # M\nc: \"a\\\"b\\\\c'd\" # M\n"},
		"comment above a key":              {"1.2.3", "# M\na: 1.0.0\nb: 1\n", "# M\na: 1.2.3\nb: 1\n"},
		"comment above a nested key":       {"1.2.3", "spec:\n  # M\n  # more\n  a: 1.0.0\n", "spec:\n  # M\n  # more\n  a: 1.2.3\n"},
		"comment above an item":            {"1.2.3", "l:\n# M\n- 1.0.0\n- 1.0.0\n", "l:\n# M\n- 1.2.3\n- 1.0.0\n"},
		"comment behind a dash":            {"1.2.3", "l:\n- # M\n  1.0.0\n- x\n", "l:\n- # M\n  1.2.3\n- x\n"},
		"tag in angle brackets":            {"1.2.3", "a: !<tag:yaml.org,2002:str> 1.0.0 # M\n", "a: !<tag:yaml.org,2002:str> 1.2.3 # M\n"},
		"comment within an item":           {"1.2.3", "l:\n- x: 1\n  # M\n  y: 1\n", "l:\n- x: 1\n  # M\n  y: 1.2.3\n"},
		"value on the next line":           {"1.2.3", "a: # M\n  1.0.0\nb: 1\n", "a: # M\n  1.2.3\nb: 1\n"},
		"no value yet":                     {"1.2.3", "a: # M\nb: 1\n", "a: 1.2.3 # M\nb: 1\n"},
		"no value but an anchor":           {"1.2.3", "a: &v # M\nb: *v\n", "a: &v 1.2.3 # M\nb: *v\n"},
		"null":                             {"1.2.3", "a: ~ # M\n", "a: 1.2.3 # M\n"},
		"anchor and tag":                   {"1.2.3", "a: &v !!str 1.0.0 # M\nb: *v\n", "a: &v !!str 1.2.3 # M\nb: *v\n"},
		"tag of somebody else":             {"1.2.3", "a: !semver 1.0.0 # M\n", ""},
		"tag on another line":              {"1.2.3", "a: !!str\n  1.0.0 # M\n", "a: !!str\n  1.2.3 # M\n"},
		"flow sequence":                    {"1.2.3", "a: [x, # no\n  y, # M\n  z]\n", "a: [x, # no\n  1.2.3, # M\n  z]\n"},
		"flow mapping":                     {"1.2.3", "a: {x: 1,\n  y: 1.0.0 # M\n  , z: 2}\n", "a: {x: 1,\n  y: 1.2.3 # M\n  , z: 2}\n"},
		"flow mapping, revision with flow": {"a,b", "a: {x: 1,\n  y: 1.0.0 # M\n}\n", "a: {x: 1,\n  y: \"a,b\" # M\n}\n"},
		"json":                             {"1.2.3", "{\"x\": 1,\n\t\"y\": \"1.0.0\" # M\n}\n", "{\"x\": 1,\n\t\"y\": \"1.2.3\" # M\n}\n"},
		"literal block":                    {"1.2.3", "a: | # M\n  one\n  # two\n\nb: 1\n", "a: 1.2.3 # M\n\nb: 1\n"},
		"folded block with indicators":     {"1.2.3", "# M\na: >+2\n   one\n   two\n\n\nb: 1\n", "# M\na: 1.2.3\n\n\nb: 1\n"},
		"block at the end of the file":     {"1.2.3", "# M\na: |-\n  one", "# M\na: 1.2.3\n"},
		"empty block":                      {"1.2.3", "a: | # M\nb: 1\n", "a: 1.2.3 # M\nb: 1\n"},
		"plain over several lines":         {"1.2.3", "# M\na: one\n  two\n\n  three # no\nb: 1\n", "# M\na: 1.2.3 # no\nb: 1\n"},
		"quoted over several lines":        {"1.2.3", "a: \"one\n  # two\n\n  three\" # M\nb: 1\n", "a: \"1.2.3\" # M\nb: 1\n"},
		"several documents":                {"1.2.3", "a: 1 # M\n---\n# x\na: 1 # M\n...\n---\na: 1 # O\n", "a: 1.2.3 # M\n---\n# x\na: 1.2.3 # M\n...\n---\na: 1 # O\n"},
		"a document that is a scalar":      {"1.2.3", "--- 1.0.0 # M\n", "--- 1.2.3 # M\n"},
		"carriage returns":                 {"1.2.3", "a: 1.0.0 # M\r\nb: |\r\n  x\r\n# M\r\nc: 1\r\n", "a: 1.2.3 # M\r\nb: |\r\n  x\r\n# M\r\nc: 1.2.3\r\n"},
		"byte order mark":                  {"1.2.3", "\ufeffa: 1.0.0 # M\n", "\ufeffa: 1.2.3 # M\n"},
		"tabs":                             {"1.2.3", "a:\t1.0.0\t#\tM\n", "a:\t1.2.3\t#\tM\n"},
		"characters of several bytes":      {"1.2.3", "größe: {ß: \"äöü😀\", 名: 1.0.0} \nb: [日本, 1.0.0, # M\n]\n", "größe: {ß: \"äöü😀\", 名: 1.0.0} \nb: [日本, 1.2.3, # M\n]\n"},
		"unusual line breaks":              {"1.2.3", "a: \"x\u2028y\"\nb: 1.0.0 # M\n", "a: \"x\u2028y\"\nb: 1.2.3 # M\n"},
		"no line break at the end":         {"1.2.3", "a: 1.0.0 # M", "a: 1.2.3 # M"},
		"already there":                    {"1.2.3", "a: 1.2.3 # M\nb: '1.2.3' # M\nc: |- # M\n  1.2.3\n", "a: 1.2.3 # M\nb: '1.2.3' # M\nc: |- # M\n  1.2.3\n"},
		"some already there":               {"1.2.3", "a: 1.2.3 # M\nb: '1.2.4' # M\n", "a: 1.2.3 # M\nb: '1.2.3' # M\n"},
		"a number needs quotes":            {"1.10", "a: 1.9 # M\n", "a: \"1.10\" # M\n"},
		"a number that is there unquoted":  {"1.10", "a: 1.10 # M\n", "a: \"1.10\" # M\n"},
		"a number that is there quoted":    {"1.10", "a: '1.10' # M\n", "a: '1.10' # M\n"},
		"a commit that looks like a float": {"12e4567", "a: abc # M\n", "a: \"12e4567\" # M\n"},
		"a word of YAML 1.1":               {"on", "a: abc # M\n", "a: \"on\" # M\n"},
		"a date":                           {"2026-01-02", "a: abc # M\n", "a: \"2026-01-02\" # M\n"},
		"a Flux revision":                  {"main@sha1:0f3c", "a: abc # M\n", "a: main@sha1:0f3c # M\n"},
		"other markers in the same file":   {"1.2.3", "a: 1 # O\n# O\nb:   1\nc: 1 # M\n", "a: 1 # O\n# O\nb:   1\nc: 1.2.3 # M\n"},
		"a marker with more in it":         {"1.2.3", "a: 1 # {\"x\": 1, \"$promotion\":\"default:podinfo:prod\"}\n", "a: 1.2.3 # {\"x\": 1, \"$promotion\":\"default:podinfo:prod\"}\n"},
		"a marker that only mentions it":   {"1.2.3", "a: 1 # {\"$promotion\": \"x:y:z\", \"was\": \"default:podinfo:prod\"}\nb: 1 # M\n", "a: 1 # {\"$promotion\": \"x:y:z\", \"was\": \"default:podinfo:prod\"}\nb: 1.2.3 # M\n"},
		"a marker in a string is none":     {"1.2.3", "a: |\n  x: 1 # M\nb: 'y # M'\nc: 1 # M\n", "a: |\n  x: 1 # M\nb: 'y # M'\nc: 1.2.3 # M\n"},
	} {
		t.Run(name, func(t *testing.T) {
			spell := strings.NewReplacer("M", ours, "O", theirs).Replace
			before, after := spell(c.before), spell(c.after)
			got, err := prod.Rewrite("a.yaml", []byte(before), c.revision)
			if c.after == "" {
				if err == nil {
					t.Fatalf("got %q, want an error", got.Content)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(after, string(got.Content)); diff != "" {
				t.Error(diff)
			}
			if got.Changed() != (before != after) {
				t.Errorf("Changed = %t", got.Changed())
			}
			again, err := prod.Rewrite("a.yaml", got.Content, c.revision)
			want := marker.Result{Content: got.Content, Places: got.Places}
			if diff := cmp.Diff(want, again); err != nil || diff != "" || got.Places == 0 {
				t.Errorf("the second time, with %d places before: %v\n%s", got.Places, err, diff)
			}
		})
	}
}

func TestPIP23_WhatCannotBeRewrittenIsNamedByFileAndLine(t *testing.T) {
	for name, c := range map[string]struct {
		content, says string
		line          int
	}{
		"not YAML":                   {"a: 1 # M\nb: [1, 2\nc: 3\n", "is not valid YAML", 2},
		"a template":                 {"a: 1 # M\n{{ if .x }}\nb: 1\n{{ end }}\n", "is not valid YAML", 2},
		"a mapping":                  {"x: 1\na: # M\n  b: 1\n", "mapping or a sequence", 2},
		"a mapping in brackets":      {"a: {b: 1} # M\n", "mapping or a sequence", 1},
		"an item that is a mapping":  {"# M\n- b: 1\n", "mapping or a sequence", 1},
		"an item behind a dash":      {"- # M\n  b: 1\n", "mapping or a sequence", 1},
		"a whole document":           {"--- # M\nb: 1\n", "mapping or a sequence", 1},
		"an alias":                   {"a: &x 1\nb: *x # M\n", "alias", 2},
		"nothing":                    {"a: 1\n# M\n", "the marker has no value", 2},
		"something indented less":    {"a:\n  b: 1\n  # M\nc: 1\n", "the marker has no value", 3},
		"something after a gap":      {"# M\n\na: 1\n", "the marker has no value", 1},
		"a broken marker":            {`a: 1 # {"$promotion": "default:podinfo:prod"` + "\n", "not JSON", 1},
		"a tag that wants a number":  {"a: !!int 1 # M\n", "cannot hold the revision", 1},
		"a value of an unusual kind": {"a: !semver 1.0.0 # M\n", "cannot hold the revision", 1},
	} {
		t.Run(name, func(t *testing.T) {
			content := []byte(strings.ReplaceAll(c.content, "M", ours))
			got, err := prod.Rewrite("apps/a.yaml", content, "1.2.3")
			var problem *marker.Problem
			if !errors.As(err, &problem) {
				t.Fatalf("got %q, %v; want a problem", got.Content, err)
			}
			if problem.File != "apps/a.yaml" || problem.Line != c.line || !strings.Contains(problem.Message, c.says) {
				t.Errorf("problem = %v, want line %d and %q", problem, c.line, c.says)
			}
			if string(got.Content) != string(content) {
				t.Errorf("content = %q", got.Content)
			}
		})
	}
}

func TestPIP23_FilesWithoutTheMarkerAreNotRead(t *testing.T) {
	for _, content := range []string{"", "a: [", "a: 1 # " + theirs + "\nb: [\n", "\"$promotion\": x\n", "\x00\xff"} {
		got, err := prod.Rewrite("a.yaml", []byte(content), "1.2.3")
		if diff := cmp.Diff(marker.Result{Content: []byte(content)}, got); err != nil || diff != "" {
			t.Errorf("%q: %v\n%s", content, err, diff)
		}
	}
	for file, want := range map[string]bool{"a.yaml": true, "x/b.yml": true, "a.json": false, "yaml": false, "a.yaml.tpl": false} {
		if marker.Applies(file) != want {
			t.Errorf("Applies(%s) = %t", file, !want)
		}
	}
}

func TestPIP23_RevisionsThatNoFileCanHoldAreRejected(t *testing.T) {
	for _, revision := range []string{"", "a\nb", "a\x00b", "a\u2028b", "\xff", strings.Repeat("a", 2000)} {
		if _, err := prod.Rewrite("a.yaml", []byte("a: 1 # "+ours), revision); err == nil {
			t.Errorf("%q was accepted", revision)
		}
	}
}

func TestTheMarkerPrintsAsItIsWritten(t *testing.T) {
	if prod.String() != ours {
		t.Errorf("marker = %s", prod)
	}
	odd := marker.Marker{Namespace: "a", Pipeline: "b", Environment: `<"é">`}
	got, err := odd.Rewrite("a.yaml", fmt.Appendf(nil, "a: 1 # %s\n", odd), "2.0.0")
	if err != nil || !got.Changed() {
		t.Errorf("%s: %+v, %v", odd, got, err)
	}
}
