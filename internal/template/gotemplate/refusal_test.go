// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import "testing"

const withheld = "function fail: the template rejects its input; the message may contain values and is withheld, see the expression"

// The author's own message is shown, as long as it cannot contain a value.
func TestMessagesOfTheAuthor(t *testing.T) {
	for text, want := range map[string]string{
		`{{ fail "the size is wrong" }}`:                                         "function fail: the size is wrong",
		`{{ "the size is wrong" | fail }}`:                                       "function fail: the size is wrong",
		`{{ fail (printf "%s must be less than %d" "size" 6) }}`:                 "function fail: size must be less than 6",
		`{{ list "a" "b" | join " or " | upper | fail }}`:                        "function fail: A OR B",
		`{{ if gt .imports.count 2 }}{{ fail "too many" }}{{ end }}`:             "function fail: too many",
		`{{ range .imports.list }}{{ fail "no lists" }}{{ end }}`:                "function fail: no lists",
		`{{ define "x" }}{{ fail "inside" }}{{ end }}{{ include "x" . }}`:        "function fail: inside",
		`{{ $x := fail "assigned" }}`:                                            "function fail: assigned",
		`{{ print (fail "in brackets") }}`:                                       "function fail: in brackets",
		`{{ fail .imports.name }}`:                                               withheld,
		`{{ .imports.name | fail }}`:                                             withheld,
		`{{ .imports.name | print "bad name: " | fail }}`:                        withheld,
		`{{ fail (printf "bad name: %s" .imports.name) }}`:                       withheld,
		`{{ fail (print "a" | print $.imports.name) }}`:                          withheld,
		`{{ $m := .imports.name }}{{ fail $m }}`:                                 withheld,
		`{{ with .imports.name }}{{ fail . }}{{ end }}`:                          withheld,
		`{{ fail "alice" }}{{ fail .imports.name }}`:                             "function fail: alice",
		`{{ if false }}{{ fail "alice" }}{{ end }}{{ fail .imports.name }}`:      withheld,
		`{{ fail (readFile "VERSION") }}`:                                        withheld,
		`{{ define "x" }}{{ .imports.name }}{{ end }}{{ fail (include "x" .) }}`: withheld,
		`{{ fail (own "x") }}`:                                                   withheld,
		`{{ fail (index (dict "a" .imports.name) "a") }}`:                        withheld,
	} {
		input := Input{Bindings: bindings(), Files: files, Functions: map[string]any{"own": func(s string) string { return s }}}
		if got := renderCompiled(t, compile(t, text, "own"), input); got != "! "+want {
			t.Errorf("%.200s\n got %q\nwant %q", text, got, "! "+want)
		}
	}
	own := compile(t, `{{ fail "x" }}`, "fail")
	if got := renderCompiled(t, own, Input{Functions: map[string]any{"fail": func(s string) string { return "own " + s }}}); got != "own x" {
		t.Errorf("a function of the caller that replaces fail: %q", got)
	}
}
