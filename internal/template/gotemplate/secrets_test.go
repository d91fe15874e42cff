// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"espalier.dev/internal/template"
)

// secretBindings has the canary in every binding of executions: as a string, inside strings, and as the value of a key.
func secretBindings() map[string]any {
	all := map[string]any{}
	for _, name := range []string{
		"imports", "cd", "components", "blueprint", "blueprintDef", "componentDescriptorDef", "values", "state", "dataobjects",
		"targets", "deployitems",
	} {
		all[name] = map[string]any{
			"s":    canary,
			"t":    "x: " + canary + ": y",
			"list": []any{canary},
			"n":    map[string]any{"deep": canary},
			"json": `{"` + canary,
			"i":    70397.0,
		}
	}
	return all
}

// secretCases are templates that fail on a secret, one or more per kind of error. B is replaced with the binding.
var secretCases = []string{
	`{{ .B.s.x }}`, `{{ .B.s.x.y }}`, `{{ .B.missing }}`, `{{ .B.missing.x }}`, `{{ .B.list.x }}`, `{{ .B.i.x }}`,
	`{{ range .B.s }}{{ end }}`, `{{ range $a, $b := .B.s }}{{ end }}`, `{{ template .B.s }}`, `{{ template "x" .B.s }}`,
	`{{ fail .B.s }}`, `{{ fail (print "bad: " .B.s) }}`, `{{ fail (printf "bad: %s" .B.s) }}`, `{{ fail (b64enc .B.s) }}`, `{{ if false }}{{ fail "known" }}{{ end }}{{ fail .B.s }}`,
	`{{ include .B.s . }}`, `{{ readFile .B.s }}`, `{{ readFile (print "../" .B.s) }}`, `{{ readDir .B.s }}`,
	`{{ index .B.list 5 }}`, `{{ index .B .B.s "x" }}`, `{{ index .B.s .B.s }}`, `{{ index .B.list .B.s }}`, `{{ index .B.n "deep" "x" }}`,
	`{{ eq .B.s 5 }}`, `{{ eq .B.list 5 }}`, `{{ lt .B.s 5 }}`, `{{ lt .B.n .B.n }}`,
	`{{ fromYaml .B.t }}`, `{{ fromYaml (print "*" .B.s) }}`, `{{ fromYaml (print "a: !!int " .B.s) }}`, `{{ fromJson .B.json }}`, `{{ fromJson .B.s }}`, `{{ mustFromJson .B.json }}`,
	`{{ mustToDate "2006" .B.s }}`, `{{ env .B.s }}`, `{{ getHostByName .B.s }}`, `{{ genPrivateKey .B.s }}`, `{{ derivePassword 1 "long" .B.s .B.s .B.s }}`, `{{ derivePassword 1 .B.s .B.s .B.s .B.s }}`,
	`{{ semver .B.s }}`, `{{ semverCompare .B.s .B.s }}`, `{{ semverCompare "^1" .B.s }}`, `{{ regexMatch (print "(" .B.s) "a" }}`, `{{ mustRegexFind (print "(" .B.s) "a" }}`,
	`{{ regexReplaceAll (print .B.s "(") "a" "b" }}`, `{{ printf (print "%*d" .B.s) 1 }}`, `{{ printf (print .B.s "%5000d") 1 }}`,
	`{{ dict .B.s }}{{ .B.missing }}`, `{{ dig "s" "x" 1 .B }}`, `{{ dig .B.s "x" }}`, `{{ get .B.s "x" }}`, `{{ set .B.s "x" 1 }}`, `{{ set . .B.s . }}`, `{{ merge .B.s .B.s }}`, `{{ mergeOverwrite .B.n .B.s }}`,
	`{{ first .B.s }}`, `{{ last .B.n }}`, `{{ rest .B.s }}`, `{{ uniq .B.s }}`, `{{ has 1 .B.s }}`, `{{ chunk 0 .B.list }}`, `{{ slice .B.list 5 9 }}`, `{{ slice .B.s 1 }}`, `{{ concat .B.s }}`, `{{ append .B.s 1 }}`, `{{ without .B.s 1 }}`,
	`{{ substr 500 2 .B.s }}`, `{{ trunc .B.s "a" }}`, `{{ repeat .B.s "a" }}`, `{{ repeat -1 .B.s }}`, `{{ atoi .B.n }}`, `{{ b64enc .B.n }}`, `{{ upper .B.list }}`, `{{ until .B.s }}`, `{{ add .B.s 1 | until | fail }}`,
	`{{ mod .B.i 0 }}`, `{{ div .B.i 0 }}`, `{{ divf .B.i 0 }}`, `{{ round .B.s .B.s }}`, `{{ decryptAES .B.s .B.s }}`, `{{ urlParse (print ":" .B.s) }}`, `{{ urlJoin .B.s }}`, `{{ ternary 1 2 .B.s }}`,
	`{{ toRawJson (dict "a" .B.s) | fromYaml | fail }}`, `{{ duration .B.list | fail }}`, `{{ wrap .B.s "a" }}`, `{{ plural .B.s .B.s .B.s }}`, `{{ hasKey .B.s "a" }}`, `{{ pluck .B.s .B.s }}`, `{{ pick .B .B.list }}`,
	`{{ $x := .B.s }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}`, `{{ $x := list .B.s }}{{ range 100 }}{{ $x = list $x $x }}{{ end }}{{ $x }}`,
	`{{ range 1000000 }}{{ $.B.s }}{{ end }}`, `{{ .B.s | nosuch }}`, `{{ (.B.s) .B.s }}`, `{{ .B.s .B.s }}`, `{{ call .B.s }}`, `{{ leak .B.s }}`, `{{ panics .B.s }}`, `{{ wraps .B.s }}`, `{{ len .B.i }}`,
	`{{ define "x" }}{{ fail . }}{{ end }}{{ include "x" .B.s }}`, `{{ define "x" }}{{ .x.y }}{{ end }}{{ template "x" .B.s }}`, `{{ break }}`, `{{ html .B.missing }}{{ .B.missing }}`, `{{ eq .B.s }}`, `{{ and .B.s .B.s.x }}`, `{{ not .B.s .B.s }}`,
}

var leaking = map[string]any{
	"leak":   func(v any) (any, error) { return nil, fmt.Errorf("cannot digest %v", v) },
	"panics": func(v any) any { panic(v) },
	"wraps":  func(v any) (any, error) { return nil, errors.Join(fmt.Errorf("about %v", v), template.Problemf("no")) },
}

func TestNoSecretGetsIntoAnError(t *testing.T) {
	encoded := "Y2FuYXJ5LTdmM2E5Yw" // the canary in base64
	for name := range secretBindings() {
		for _, text := range secretCases {
			text = strings.ReplaceAll(text, ".B", "."+name)
			compiled, err := Compile(template.Source{
				Execution: "test",
				Text:      text,
			}, Options{Limits: tight, Functions: []string{"leak", "panics", "wraps"}})
			if err == nil {
				_, err = compiled.Render(Input{Bindings: secretBindings(), Functions: leaking, Files: files})
			}
			if err == nil {
				t.Errorf("%s does not fail", text)
				continue
			}
			for inner := err; inner != nil; inner = errors.Unwrap(inner) {
				shown := fmt.Sprintf("%v|%+v|%#v", inner, inner, inner.Error())
				if strings.Contains(shown, canary) || strings.Contains(shown, encoded) || strings.Contains(shown, "70397") {
					t.Errorf("%s: the error tells the secret: %s", text, shown)
				}
			}
		}
	}
}

// An error must be useful even though it shows no values.
func TestErrorsAreUseful(t *testing.T) {
	for _, text := range secretCases {
		text = strings.ReplaceAll(text, ".B", ".imports")
		compiled, err := Compile(template.Source{
			Execution: "test",
			Text:      text,
		}, Options{Limits: tight, Functions: []string{"leak", "panics", "wraps"}})
		if err == nil {
			_, err = compiled.Render(Input{Bindings: secretBindings(), Functions: leaking, Files: files})
		}
		var failed *template.Error
		if !errors.As(err, &failed) {
			t.Fatalf("%s: %v", text, err)
		}
		if failed.Place.Line != 1 || failed.Message == "" || failed.Message == "the template cannot be evaluated here" {
			t.Errorf("%s: the error says little: %+v %q", text, failed.Place, failed.Message)
		}
	}
}
