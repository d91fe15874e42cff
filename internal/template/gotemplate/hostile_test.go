// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"strings"
	"testing"

	"espalier.dev/internal/template"
)

// hostile are templates that would consume all time or memory, or crash the process, with the limit that stops each; either
// is for templates that may reach one or the other.
const either = "Steps or Memory"

var hostile = map[string]struct{ text, limit string }{
	"a loop without a body":       {`{{ range 1000000000 }}{{ end }}`, "Steps"},
	"a loop that only calculates": {`{{ $x := 0 }}{{ range 1000000000 }}{{ $x = add $x 1 }}{{ end }}`, "Steps"},
	"loops in loops":              {`{{ range 1000 }}{{ range 1000 }}{{ range 1000 }}{{ end }}{{ end }}{{ end }}`, "Steps"},
	"a loop over a list, again and again": {
		`{{ $l := until 1000 }}{{ range $l }}{{ range $l }}{{ range $l }}{{ end }}{{ end }}{{ end }}`,
		either,
	},
	"a long body in a loop": {`{{ range 1000000000 }}` + strings.Repeat(`{{ $x := 1 }}`, 10000) + `{{ end }}`, "Steps"},
	"a long condition in a loop": {
		`{{ range 1000000000 }}{{ if or ` + strings.Repeat("false ", 10000) + `}}{{ end }}{{ end }}`,
		"Steps",
	},
	"output without end":           {`{{ range 1000000000 }}` + strings.Repeat("x", 10000) + `{{ end }}`, "Output"},
	"one large output":             {`{{ repeat 5000000 "x" }}`, "Output"},
	"a template that calls itself": {`{{ define "x" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`, "Depth"},
	"an include that calls itself": {`{{ define "x" }}{{ include "x" . }}{{ end }}{{ include "x" . }}`, "Depth"},
	"templates that call each other": {
		`{{ define "x" }}{{ include "y" . }}{{ end }}{{ define "y" }}{{ template "x" . }}{{ end }}{{ template "x" . }}`,
		"Depth",
	},
	"a template that calls itself twice": {
		`{{ define "x" }}{{ if lt . 50 }}{{ template "x" (add1 .) }}{{ template "x" (add1 .) }}{{ end }}{{ end }}{{ template "x" 0 }}`,
		"Steps",
	},
	"a string that doubles":            {`{{ $x := "ab" }}{{ range 100 }}{{ $x = print $x $x }}{{ end }}`, either},
	"a string that doubles by printf":  {`{{ $x := "ab" }}{{ range 100 }}{{ $x = printf "%s%s" $x $x }}{{ end }}`, either},
	"a string that doubles by replace": {`{{ $x := "ab" }}{{ range 100 }}{{ $x = replace "a" $x $x }}{{ end }}`, either},
	"a string that doubles by join":    {`{{ $x := "ab" }}{{ range 100 }}{{ $x = join $x (list $x $x) }}{{ end }}`, either},
	"a string that grows by quoting":   {`{{ $x := "\"" }}{{ range 100 }}{{ $x = quote $x }}{{ end }}`, either},
	"a string that grows by encoding":  {`{{ $x := "ab" }}{{ range 1000 }}{{ $x = b64enc $x }}{{ end }}`, either},
	"a string that grows by escaping":  {`{{ $x := "\\" }}{{ range 100 }}{{ $x = js $x }}{{ end }}`, either},
	"a string that grows by indentation": {
		`{{ $x := "\n\n\n\n" }}{{ range 100 }}{{ $x = indent 100 $x | replace " " "\n" }}{{ end }}`,
		either,
	},
	"repeat":                           {`{{ $x := repeat 500000000 "abc" }}`, "Memory"},
	"repeat of a product out of range": {`{{ $x := repeat 9223372036854775807 "abc" }}`, "Memory"},
	"repeat of nothing":                {`{{ range 1000000000 }}{{ $x := repeat 9223372036854775807 "" }}{{ end }}`, "Steps"},
	"indent":                           {`{{ $x := indent 2000000000 "a\nb" }}`, "Memory"},
	"replace":                          {`{{ $x := repeat 100000 "a" }}{{ $y := replace "a" $x $x }}`, either},
	"replace of nothing":               {`{{ $x := repeat 100000 "a" }}{{ $y := replace "" $x $x }}`, either},
	"wrap":                             {`{{ $x := wrapWith 1 (repeat 10000 "x") (repeat 100000 "a") }}`, either},
	"until":                            {`{{ $x := until 1000000000 }}`, "Memory"},
	"until the other way":              {`{{ $x := until -9223372036854775808 }}`, "Memory"},
	"untilStep over the whole range":   {`{{ $x := untilStep -9223372036854775808 9223372036854775807 1 }}`, "Memory"},
	"seq":                              {`{{ $x := seq 1 1000000000 }}`, "Memory"},
	"printf with wide fields": {
		`{{ $x := printf "` + strings.Repeat(
			"%999d",
			1000,
		) + `" }}{{ range 1000 }}{{ $x = printf "` + strings.Repeat(
			"%999d",
			1000,
		) + `" }}{{ end }}`,
		either,
	},
	"printf of the same argument": {
		`{{ $x := repeat 100000 "a" }}{{ $y := printf "` + strings.Repeat("%[1]s", 1000) + `" $x }}`,
		either,
	},
	"split into bytes":        {`{{ $x := repeat 2000000 "a" }}{{ $y := split "" $x }}`, either},
	"concat of the same list": {`{{ $l := until 1000 }}{{ range 100 }}{{ $l = concat $l $l $l $l }}{{ end }}`, either},
	"append in a loop":        {`{{ $l := list }}{{ range 1000000 }}{{ $l = append $l 1 }}{{ end }}`, either},
	"set in a loop": {
		`{{ $d := dict }}{{ range $i, $x := until 300000 }}{{ $_ := set $d (print $i) $i }}{{ end }}`,
		either,
	},
	"a list that contains itself twice": {`{{ $x := list 1 }}{{ range 100 }}{{ $x = list $x $x }}{{ end }}{{ $x }}`, either},
	"the same as JSON":                  {`{{ $x := list 1 }}{{ range 100 }}{{ $x = list $x $x }}{{ end }}{{ toJson $x }}`, either},
	"the same as YAML":                  {`{{ $x := list 1 }}{{ range 100 }}{{ $x = dict "a" $x "b" $x }}{{ end }}{{ toYaml $x }}`, either},
	"the same compared": {
		`{{ $x := list 1 }}{{ range 100 }}{{ $x = list $x $x }}{{ end }}{{ deepEqual $x (list $x) }}`,
		either,
	},
	"the same copied":      {`{{ $x := list 1 }}{{ range 100 }}{{ $x = list $x $x }}{{ end }}{{ $y := deepCopy $x }}`, either},
	"the same searched":    {`{{ $x := list 1 }}{{ range 100 }}{{ $x = list $x $x }}{{ end }}{{ has $x (list $x) }}`, either},
	"the same printed":     {`{{ $x := list 1 }}{{ range 100 }}{{ $x = list $x $x }}{{ end }}{{ print $x }}`, either},
	"the same as a key":    {`{{ $x := list 1 }}{{ range 100 }}{{ $x = list $x $x }}{{ end }}{{ dict $x 1 }}`, either},
	"the same as a string": {`{{ $x := list 1 }}{{ range 100 }}{{ $x = list $x $x }}{{ end }}{{ $y := toString $x }}`, either},
	"the same merged": {
		`{{ $x := dict "a" 1 }}{{ range 100 }}{{ $x = dict "a" $x "b" $x }}{{ end }}{{ $y := merge (dict) $x }}`,
		either,
	},
	"the same looked into by set": {
		`{{ $x := list 1 }}{{ range 100 }}{{ $x = list $x $x }}{{ end }}{{ $y := set (dict) "a" $x }}`,
		either,
	},
	"a deep list":         {`{{ $x := list 1 }}{{ range 1000 }}{{ $x = list $x }}{{ end }}{{ $x }}`, "Nesting"},
	"a deep list as JSON": {`{{ $x := list 1 }}{{ range 1000 }}{{ $x = list $x }}{{ end }}{{ toJson $x }}`, "Nesting"},
	"a deep map merged": {
		`{{ $x := dict }}{{ range 1000 }}{{ $x = dict "a" $x }}{{ end }}{{ $y := merge $x $x }}`,
		"Nesting",
	},
	"deep JSON": {`{{ fromJson (print (repeat 5000 "[") (repeat 5000 "]")) }}`, "Nesting"},
	"deep YAML": {`{{ fromYaml (print (repeat 5000 "[") (repeat 5000 "]")) }}`, "Nesting"},
	"a billion laughs": {
		`{{ $y := "a0: &a0 x\n" }}{{ range $i, $_ := until 40 }}{{ $y = printf "%sa%d: &a%d [*a%d, *a%d, *a%d]\n" $y (add1 $i) (add1 $i) $i $i $i }}{{ end }}{{ fromYaml $y }}`,
		either,
	},
	"YAML again and again":            {`{{ range 1000000 }}{{ $x := fromYaml "a: [1, 2]" }}{{ end }}`, either},
	"JSON again and again":            {`{{ range 1000000 }}{{ $x := toJson $.imports | fromJson }}{{ end }}`, either},
	"a large pattern on a large text": {`{{ $x := repeat 1000000 "ab" }}{{ regexMatch "(a{1,30}b{0,30}){1,30}x" $x }}`, either},
	"a pattern again and again": {
		`{{ $x := repeat 10000 "ab" }}{{ range 1000000 }}{{ $y := regexMatch "(a|b)*c" $x }}{{ end }}`,
		either,
	},
	"a replacement that multiplies": {
		`{{ $x := repeat 100000 "a" }}{{ $y := regexReplaceAll "(.*)" $x "` + strings.Repeat("$1", 5000) + `" }}`,
		either,
	},
	"a replacement of everything": {`{{ $x := repeat 100000 "a" }}{{ $y := regexReplaceAllLiteral "" $x $x }}`, either},
	"many groups": {
		`{{ $x := repeat 100000 "a" }}{{ $y := regexReplaceAll "` + strings.Repeat("()", 200) + `" $x "b" }}`,
		either,
	},
	"uniq of a large list":   {`{{ $x := uniq (until 100000) }}`, either},
	"without of large lists": {`{{ $x := until 10000 }}{{ range 1000 }}{{ $y := without $x $x }}{{ end }}`, either},
	"a comparison of large strings": {
		`{{ $x := repeat 1000000 "ab" }}{{ $y := repeat 1000000 "ab" }}{{ range 1000000 }}{{ $z := eq $x $y }}{{ end }}`,
		"Steps",
	},
	"a large key": {
		`{{ $x := repeat 1000000 "ab" }}{{ range 1000000 }}{{ $z := index $.imports $x }}{{ end }}`,
		either,
	},
	"a large string changed":       {`{{ $x := repeat 1000000 "ab" }}{{ range 1000000 }}{{ $z := upper $x }}{{ end }}`, either},
	"a large string searched":      {`{{ $x := repeat 1000000 "ab" }}{{ range 1000000 }}{{ $z := contains "c" $x }}{{ end }}`, either},
	"a large string hashed":        {`{{ $x := repeat 1000000 "ab" }}{{ range 1000000 }}{{ $z := sha512sum $x }}{{ end }}`, either},
	"versions again and again":     {`{{ range 1000000 }}{{ $z := semverCompare ">=1.2.3-0 <2 || ~3" "1.2.4" }}{{ end }}`, either},
	"decimals again and again":     {`{{ range 1000000 }}{{ $z := mulf 1.23456789 1.23456789 }}{{ end }}`, either},
	"files again and again":        {`{{ range 1000000 }}{{ $z := readFile "VERSION" }}{{ end }}`, either},
	"folders again and again":      {`{{ range 1000000 }}{{ $z := readDir "config" }}{{ end }}`, either},
	"bodies in bodies":             {strings.Repeat(`{{ if true }}`, 50000), "Nesting"},
	"bodies in bodies with an end": {strings.Repeat(`{{ if true }}`, 1000) + strings.Repeat(`{{ end }}`, 1000), "Nesting"},
	"a long chain of conditions":   {`{{ if false }}` + strings.Repeat(`{{ else if false }}`, 20000) + `{{ end }}`, "Nesting"},
	"brackets in brackets":         {`{{ ` + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000) + ` }}`, "Nesting"},
	"a template that is too long":  {strings.Repeat("x", 2<<20), "Source"},
}

// tight are limits that make the tests fast. Templates that exceed them exceed the defaults as well, only later.
var tight = template.Limits{Steps: 100_000, Memory: 8 << 20}

func TestHostileTemplatesEnd(t *testing.T) {
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			compiled, err := Compile(template.Source{Execution: "test", Text: c.text}, Options{Limits: tight})
			if err == nil {
				_, err = compiled.Render(Input{Bindings: bindings(), Files: files})
			}
			if got := limitIn(err); got == "" || !strings.Contains(c.limit, got) {
				t.Errorf("it ended at the limit %q, want %q: %v", got, c.limit, err)
			}
		})
	}
}

func TestTheDefaultsStopHostileTemplates(t *testing.T) {
	for _, name := range []string{"a loop that only calculates", "a string that doubles", "the same as YAML", "a template that calls itself", "output without end"} {
		_, err := compile(t, hostile[name].text).Render(Input{Bindings: bindings()})
		if limitIn(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No template can continue after it has reached a limit.
func TestLimitsCannotBeCaught(t *testing.T) {
	limits := template.Limits{Steps: 1000}
	compiled, err := Compile(
		template.Source{Text: `{{ $x := list 1 }}{{ range 12 }}{{ $x = list $x $x }}{{ end }}{{ $y := toJson $x | default "caught" }}{{ $y }}`},
		Options{Limits: limits},
	)
	if err != nil {
		t.Fatal(err)
	}
	if output, err := compiled.Render(Input{}); limitIn(err) != "Steps" {
		t.Errorf("got %q and %v", output, err)
	}
}

func TestLimitsAreThoseOfTheCaller(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		limits template.Limits
		limit  string
	}{
		"steps":   {`{{ range 100 }}{{ end }}`, template.Limits{Steps: 100}, "Steps"},
		"memory":  {`{{ $x := repeat 100 "x" }}`, template.Limits{Memory: 50}, "Memory"},
		"output":  {`0123456789`, template.Limits{Output: 9}, "Output"},
		"depth":   {`{{ define "x" }}{{ end }}{{ template "x" }}`, template.Limits{Depth: 1}, "Depth"},
		"nesting": {`{{ list (list (list 1)) }}`, template.Limits{Nesting: 2}, "Nesting"},
		"source":  {`0123456789`, template.Limits{Source: 9}, "Source"},
	} {
		compiled, err := Compile(template.Source{Text: c.text}, Options{Limits: c.limits})
		if err == nil {
			_, err = compiled.Render(Input{})
		}
		if got := limitIn(err); got != c.limit {
			t.Errorf("%s: it ended at the limit %q, want %q: %v", name, got, c.limit, err)
		}
		if compiled, err = Compile(template.Source{Text: c.text}, Options{}); err == nil {
			_, err = compiled.Render(Input{})
		}
		if err != nil {
			t.Errorf("%s: it fails with the default limits as well: %v", name, err)
		}
	}
}

// Realistic templates stay within the limits: those with 90,000 texts, or 30,000 maps.
func TestLimitsLeaveRoom(t *testing.T) {
	const many, maps = 90_000, 30_000
	items, entries := make([]any, many), make([]any, maps)
	for i := range items {
		items[i] = "item"
	}
	for i := range entries {
		entries[i] = map[string]any{"name": "item", "value": int64(i)}
	}
	imports := map[string]any{"items": items, "maps": entries}
	for text, want := range map[string]int{
		"a:\n{{ toYaml .imports.items | indent 2 }}":                      many,
		"a: [{{ range .imports.items }}{{ printf \"%s-\" . }},{{ end }}]": many,

		"a:\n{{ range .imports.maps }}- {name: {{ .name | quote }}, value: {{ .value }}}\n{{ end }}":      maps,
		"a:\n{{ range $i, $x := .imports.maps }}- {{ dict \"i\" $i \"v\" $x.value | toJson }}\n{{ end }}": maps,
	} {
		value, err := compile(t, text).RenderYAML(Input{Bindings: map[string]any{"imports": imports}})
		if err != nil {
			t.Errorf("%s: %v", text, messageIn(t, err))
			continue
		}
		if got := len(value.(map[string]any)["a"].([]any)); got != want {
			t.Errorf("%s: got %d items, want %d", text, got, want)
		}
	}
}
