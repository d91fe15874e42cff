// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gotemplate

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/sprig/v3"
)

// functionCases give an example for every function.
var functionCases = map[string]string{
	// Text.
	`{{ trim "  a  " }}|{{ trimAll "x" "xax" }}|{{ trimall "x" "xax" }}|{{ trimSuffix "b" "ab" }}|{{ trimPrefix "a" "ab" }}`:            `a|a|a|a|b`,
	`{{ upper "aB" }} {{ lower "aB" }} {{ title "ab cd" }} {{ untitle "Ab Cd" }} {{ swapcase "aB" }}`:                                   `AB ab Ab Cd ab cd Ab`,
	`{{ substr 1 3 "abcd" }} {{ trunc 2 "abcd" }} {{ trunc -2 "abcd" }}`:                                                                `bc ab cd`,
	`{{ abbrev 5 "abcdefgh" }} {{ abbrevboth 5 10 "1234 5678 9123" }}`:                                                                  `ab... ...5678...`,
	`{{ nospace "a b c" }} {{ initials "ab cd" }} {{ snakecase "FirstName" }} {{ camelcase "first_name" }} {{ kebabcase "FirstName" }}`: `abc ac first_name FirstName first-name`,
	`{{ plural "one" "many" 1 }} {{ plural "one" "many" 2 }}`:                                                                           `one many`,
	`{{ repeat 3 "ab" }}`:                                        `ababab`,
	`{{ "a\nb" | indent 2 }}|{{ "a\nb" | nindent 2 }}`:           "  a\n  b|\n  a\n  b",
	`{{ replace "a" "xy" "banana" }}`:                            `bxynxynxy`,
	`{{ wrap 5 "ab cd ef gh" }}|{{ wrapWith 5 "/" "abcdefgh" }}`: "ab cd\nef gh|abcde/fgh",
	`{{ quote "a\"b" 1 .imports.million }} {{ squote "a" 0.5 }} {{ cat "a" 1 "b" }} {{ toString 1.5 }}`:                `"a\"b" "1" "1000000" 'a' '0.5' a 1 b 1.5`,
	`{{ print "a" 1 2 "b" }}|{{ println "a" 1 }}|{{ printf "%s-%03d-%v" "a" 7 .imports.list }}`:                        "a1 2b|a 1\n|a-007-[a b c]",
	`{{ html "<a>" }} {{ js "it's" }} {{ urlquery "a b&c" }}`:                                                          `&lt;a&gt; it\'s a+b%26c`,
	`{{ contains "b" "abc" }} {{ hasPrefix "a" "abc" }} {{ hasSuffix "c" "abc" }} {{ hello }}`:                         `true true true Hello!`,
	`{{ split "-" "a-b" }} {{ (split "-" "a-b")._1 }} {{ splitn "-" 2 "a-b-c" }} {{ splitList "-" "a-b" }}`:            `map[_0:a _1:b] b map[_0:a _1:b-c] [a b]`,
	`{{ join "-" .imports.list }} {{ join "," (list 1 nil 2.5) }} {{ join "-" "x" }} {{ toStrings .imports.numbers }}`: `a-b-c 1,2.5 x [3 1 2]`,
	`{{ sortAlpha (list "b" "a") }}`: `[a b]`,

	// Encodings and hashes.
	`{{ b64enc "hello" }} {{ b64dec "aGVsbG8=" }} {{ b32enc "hi" }} {{ b32dec "NBUQ====" }}`:                `aGVsbG8= hello NBUQ==== hi`,
	`{{ sha1sum "a" }} {{ sha256sum "a" | trunc 8 }} {{ sha512sum "a" | trunc 8 }} {{ adler32sum "a" }}`:    `86f7e437faa5a7fce15d1ddcb9eaeaea377667b8 ca978112 1f40fc92 6422626`,
	`{{ toJson .imports.map }} {{ mustToJson "<" }} {{ toRawJson "<" }} {{ mustToRawJson "<" }}`:            `{"a":1,"b":2,"nested":{"deep":"value"}} "\u003c" "<" "<"`,
	`{{ toPrettyJson (dict "a" 1) }} {{ mustToPrettyJson (list) }}`:                                         "{\n  \"a\": 1\n} []",
	`{{ (fromJson "{\"a\": 1000000, \"b\": [1.5]}").a }} {{ index (mustFromJson "{\"b\": [1.5]}") "b" 0 }}`: `1000000 1.5`,
	`{{ toYaml .imports.map }}`: "a: 1\nb: 2\nnested:\n  deep: value",
	`{{ (fromYaml "a: 1000000\nb: yes").a }} {{ (fromYaml "b: yes").b }} {{ fromYaml "[1, x]" }}`: `1000000 true [1 x]`,
	`{{ decryptAES "secretkey" "VnhWj9vhQKzXDEpLOml9ldkLASCvWYdyxqFtZ193ySs=" }}`:                 `plaintext`,
	`{{ derivePassword 1 "long" "password" "user" "example.com" }}`:                               `ZedaFaxcZaso9*`,

	// Numbers.
	`{{ add 1 2 3 }} {{ add1 1 }} {{ sub 3 1 }} {{ div 7 2 }} {{ mod 7 2 }} {{ mul 2 3 4 }}`:                                  `6 2 2 3 1 24`,
	`{{ max 1 3 2 }} {{ min 3 1 2 }} {{ biggest 1 2 }} {{ ceil 1.2 }} {{ floor 1.8 }} {{ round 1.256 2 }}`:                    `3 1 2 2 1 1.26`,
	`{{ addf 1.5 2 }} {{ add1f 1.5 }} {{ subf 3 1.5 }} {{ divf 1 4 }} {{ mulf 1000 1000 }} {{ maxf 1 2.5 }} {{ minf 1 0.5 }}`: `3.5 2.5 1.5 0.25 1000000 2.5 0.5`,
	`{{ int "5" }} {{ int64 1.9 }} {{ float64 "1.5" }} {{ atoi "7" }} {{ toDecimal "0777" }}`:                                 `5 1 1.5 7 511`,
	`{{ until 3 }} {{ until -2 }} {{ untilStep 1 7 3 }} {{ untilStep 3 0 -1 }} {{ untilStep 1 5 0 }}`:                         `[0 1 2] [0 -1] [1 4] [3 2 1] []`,
	`{{ seq 3 }}|{{ seq 2 5 }}|{{ seq 0 2 6 }}|{{ seq -2 }}|{{ seq 5 3 }}|{{ seq }}|{{ seq 5 1 2 }}`:                          `1 2 3|2 3 4 5|0 2 4 6|1 0 -1 -2|5 4 3||`,
	`{{ duration "95" }} {{ durationRound "2h10m5s" }}`:                                                                       `1m35s 2h`,

	// Choices.
	`{{ default "x" "" }} {{ default "x" "y" }} {{ empty 0 }} {{ coalesce 0 "" "a" }} {{ ternary "yes" "no" true }}`: `x y true a yes`,
	`{{ all 1 "a" }} {{ all 1 "" }} {{ any 0 "a" }} {{ any 0 "" }}`:                                                  `true false true false`,
	`{{ eq 1 1 }} {{ eq .imports.count 3 }} {{ eq .imports.count 3.0 }} {{ eq "a" "b" "a" }} {{ eq true false }}`:    `true true true true false`,
	`{{ ne 1 2 }} {{ lt 1 2 }} {{ le 2 2 }} {{ gt "b" "a" }} {{ ge 1.5 2 }} {{ eq .imports.nothing nil }}`:           `true true true true false true`,
	`{{ and true 0 "x" }} {{ or 0 "" "x" }} {{ not 0 }} {{ len .imports.list }}`:                                     `0 x true 3`,

	// Types.
	`{{ typeOf 1 }} {{ typeIs "string" "a" }} {{ typeIsLike "int" 1 }} {{ kindOf .imports.map }} {{ kindIs "slice" .imports.list }}`: `int true true map true`,
	`{{ kindOf .imports.count }} {{ kindOf .imports.ratio }} {{ deepEqual (list 1) (list 1) }}`:                                      `int64 float64 true`,

	// Collections.
	`{{ list 1 "a" }} {{ tuple 1 2 }} {{ dict "a" 1 "b" }} {{ dict 1 2 }}`:                                                                                  `[1 a] [1 2] map[a:1 b:] map[1:2]`,
	`{{ get .imports.map "a" }} {{ get .imports.map "x" }}| {{ hasKey .imports.map "a" }} {{ dig "nested" "deep" "no" .imports.map }}`:                      `1 | true value`,
	`{{ $d := dict "a" 1 }}{{ $_ := set $d "b" 2 }}{{ $d }} {{ unset $d "a" }}`:                                                                             `map[a:1 b:2] map[b:2]`,
	`{{ keys .imports.map }} {{ keys (dict "z" 1) (dict "a" 1) }} {{ values (dict "b" 1 "a" 2) }}`:                                                          `[a b nested] [z a] [2 1]`,
	`{{ pick .imports.map "a" "x" }} {{ omit .imports.map "nested" "a" }} {{ pluck "a" .imports.map (dict "a" 5) }}`:                                        `map[a:1] map[b:2] [1 5]`,
	`{{ merge (dict "a" 1) (dict "a" 2 "b" 3) }} {{ mustMerge (dict "a" (dict "x" 1)) (dict "a" (dict "y" 2)) }}`:                                           `map[a:1 b:3] map[a:map[x:1 y:2]]`,
	`{{ mergeOverwrite (dict "a" 1) (dict "a" 2) }} {{ mustMergeOverwrite (dict "a" 1) (dict "b" 2) }}`:                                                     `map[a:2] map[a:1 b:2]`,
	`{{ deepCopy .imports.list }} {{ mustDeepCopy (dict "a" (list 1)) }}`:                                                                                   `[a b c] map[a:[1]]`,
	`{{ first .imports.list }} {{ mustFirst .imports.list }} {{ last .imports.list }} {{ mustLast .imports.list }}`:                                         `a a c c`,
	`{{ rest .imports.list }} {{ mustRest .imports.list }} {{ initial .imports.list }} {{ mustInitial .imports.list }}`:                                     `[b c] [b c] [a b] [a b]`,
	`{{ append .imports.list "d" }} {{ mustAppend (list) 1 }} {{ push (list 1) 2 }} {{ mustPush (list) 1 }}`:                                                `[a b c d] [1] [1 2] [1]`,
	`{{ prepend .imports.list "d" }} {{ mustPrepend (list 1) 2 }} {{ concat .imports.list (list 1) }}`:                                                      `[d a b c] [2 1] [a b c 1]`,
	`{{ reverse .imports.list }} {{ mustReverse (list 1 2) }} {{ compact (list 0 1 "" "a") }} {{ mustCompact (list 0) }}`:                                   `[c b a] [2 1] [1 a] []`,
	`{{ uniq (list 1 2 1) }} {{ mustUniq (list "a" "a") }} {{ without (list 1 2 3) 2 }} {{ mustWithout .imports.numbers 1 }}`:                               `[1 2] [a] [1 3] [3 2]`,
	`{{ has 3 .imports.numbers }} {{ has 3.0 .imports.numbers }} {{ has 9 .imports.numbers }} {{ mustHas "a" .imports.list }} {{ has 1 .imports.nothing }}`: `true true false true false`,
	`{{ slice .imports.list 1 }} {{ mustSlice .imports.list 0 1 }} {{ chunk 2 .imports.list }} {{ mustChunk 5 (list 1) }}`:                                  `[b c] [a] [[a b] [c]] [[1]]`,
	`{{ index .imports.list 1 }} {{ index .imports.map "nested" "deep" }} {{ index "abc" 1 }} {{ index .imports "list" 0 }}`:                                `b value 98 a`,

	// Patterns.
	`{{ regexMatch "^a+$" "aa" }} {{ mustRegexMatch "b" "aa" }} {{ regexFind "a+" "baab" }} {{ mustRegexFind "x" "b" }}|`: `true false aa |`,
	`{{ regexFindAll "a" "banana" 2 }} {{ mustRegexFindAll "n." "banana" -1 }}`:                                           `[a a] [na na]`,
	`{{ regexReplaceAll "a(x*)b" "-ab-axxb-" "${1}W" }} {{ mustRegexReplaceAll "a" "aa" "b" }}`:                           `-W-xxW- bb`,
	`{{ regexReplaceAllLiteral "a" "aa" "$1" }} {{ mustRegexReplaceAllLiteral "a" "ba" "c" }}`:                            `$1$1 bc`,
	`{{ regexSplit "-+" "a--b-c" -1 }} {{ mustRegexSplit "-" "a-b-c" 2 }} {{ regexQuoteMeta "1.2" }}`:                     `[a b c] [a b-c] 1\.2`,

	// Paths, addresses and versions.
	`{{ base "a/b.c" }} {{ dir "a/b.c" }} {{ clean "a/../b" }} {{ ext "a/b.c" }} {{ isAbs "/a" }}`:                                                                         `b.c a b .c true`,
	`{{ osBase "a/b.c" }} {{ osDir "a/b.c" }} {{ osClean "a/../b" }} {{ osExt "b.c" }} {{ osIsAbs "a" }}`:                                                                  `b.c a b .c false`,
	`{{ (urlParse "https://u@h:1/p?q=1").host }} {{ urlJoin (dict "scheme" "https" "host" "h" "path" "/p") }}`:                                                             `h:1 https://h/p`,
	`{{ $v := semver "1.2.3-rc.1+b" }}{{ $v.Major }} {{ $v.Minor }} {{ $v.Patch }} {{ $v.Prerelease }} {{ $v.Metadata }} {{ $v }}`:                                         `1 2 3 rc.1 b 1.2.3-rc.1+b`,
	`{{ semverCompare "^1.2" "1.3.0" }} {{ (semver "v1.2.3").Original }} {{ (semver "1.2.3").Compare (semver "1.3.0") }} {{ (semver "1.0.0").LessThan (semver "2.0.0") }}`: `true v1.2.3 -1 true`,
	`{{ (semver "1.0.0").Equal (semver "1.0.0") }} {{ (semver "1.0.0").GreaterThan (semver "2.0.0") }}`:                                                                    `true false`,

	// The blueprint.
	`{{ readFile "VERSION" }} {{ readFile "/config/two.txt" | upper }} {{ len (readFile "./VERSION") }}`:  `1.2.3 TWO 5`,
	`{{ range readDir "config" }}{{ .Name }}:{{ .Size }}:{{ .IsDir }} {{ end }}`:                          `one.yaml:15:false two.txt:3:false `,
	`{{ define "t" }}<{{ .name }}>{{ end }}{{ include "t" .imports | upper }}{{ template "t" .imports }}`: `<ALICE><alice>`,
	`{{ fail "the size is wrong" }}`: `! function fail: the size is wrong`,
}

func TestFunctions(t *testing.T) {
	for text, want := range functionCases {
		if got := render(t, text); got != want {
			t.Errorf("%s\n got %q\nwant %q", text, got, want)
		}
	}
}

func TestEveryFunctionHasAnExample(t *testing.T) {
	used := map[string]bool{}
	for text := range functionCases {
		for _, name := range compile(t, text).Functions() {
			used[name] = true
		}
	}
	for name := range knownFunctions(nil) {
		if !used[name] && refused[name] == "" && generators[name] == nil {
			t.Errorf("there is no example for the function %s", name)
		}
	}
}

// A new version of sprig must not add functions without a review.
func TestEveryFunctionOfSprigIsAccountedFor(t *testing.T) {
	all := sprig.TxtFuncMap()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		_, wrapped := library[name]
		places := 0
		for _, there := range []bool{wrapped && !slices.Contains(strings.Fields(inner), name), bound[name] != nil, refused[name] != "", generators[name] != nil} {
			if there {
				places++
			}
		}
		if places != 1 {
			t.Errorf("the function %s is in %d of the four lists", name, places)
		}
	}
	hermetic := sprig.HermeticTxtFuncMap()
	for name := range all {
		if hermetic[name] == nil && refused[name] == "" && generators[name] == nil {
			t.Errorf("sprig says that %s is not repeatable, but it is neither refused nor does it follow from the seed", name)
		}
	}
}

func TestFunctionsThatFail(t *testing.T) {
	for text, want := range map[string]string{
		`{{ repeat -1 "a" }}`:                                   "function repeat: the count is negative",
		`{{ indent -1 "a" }}`:                                   "function indent: the number of spaces is negative",
		`{{ chunk 0 (list 1) }}`:                                "function chunk: the size of a chunk is less than one",
		`{{ set .imports.missing "a" 1 }}`:                      "wrong type for value; expected map[string]interface {}; got interface {}",
		`{{ merge .imports.missing (dict) }}`:                   "wrong type for value; expected map[string]interface {}; got interface {}",
		`{{ uniq "a" }}`:                                        "function uniq: it takes a list, not a value of type string",
		`{{ has 1 "a" }}`:                                       "function has: it takes a list, not a value of type string",
		`{{ first "a" }}`:                                       "function first: it does not accept these arguments (string)",
		`{{ div 1 0 }}`:                                         "function div: it does not accept these arguments (integer, integer)",
		`{{ divf 1 0 }}`:                                        "function divf: it does not accept these arguments (integer, integer)",
		`{{ substr 5 2 "abc" }}`:                                "function substr: it does not accept these arguments (integer, integer, string)",
		`{{ b64enc 5 }}`:                                        "expected string; found 5",
		`{{ b64enc .imports.list }}`:                            "wrong type for value; expected string; got []interface {}",
		`{{ upper }}`:                                           "wrong number of args for upper: want 1 got 0",
		`{{ eq 1 "a" }}`:                                        "function eq: these values cannot be compared",
		`{{ eq true 1 }}`:                                       "function eq: these values cannot be compared",
		`{{ lt .imports.list 1 }}`:                              "function lt: these values cannot be compared",
		`{{ eq 1 }}`:                                            "function eq: there is nothing to compare with",
		`{{ index .imports.list 9 }}`:                           "function index: the index is out of range",
		`{{ index .imports.list "a" }}`:                         "function index: the index into a list must be an integer",
		`{{ index .imports.map 1 }}`:                            "function index: the key of a map has the wrong type",
		`{{ index 5 1 }}`:                                       "function index: there is nothing to look into",
		`{{ fromYaml "a: b: c" }}`:                              "function fromYaml: the text is not valid YAML: mapping values are not allowed in this context",
		`{{ fromJson "{" }}`:                                    "function fromJson: the text is not valid JSON",
		`{{ semver "one" }}`:                                    "function semver: it is not a semantic version",
		`{{ semver (repeat 300 "1") }}`:                         "function semver: a version is longer than 256 bytes",
		`{{ semverCompare "~" "x" }}`:                           "function semverCompare: it does not accept these arguments (string, string)",
		`{{ regexMatch "(" "a" }}`:                              "function regexMatch: the regular expression is not valid",
		`{{ readFile "nowhere" }}`:                              "function readFile: there is no such file in the blueprint",
		`{{ readDir "../" }}`:                                   "function readDir: the path leads out of the blueprint or is not valid",
		`{{ include "nowhere" . }}`:                             "function include: there is no template with this name; the template defines none",
		`{{ define "a" }}{{ end }}{{ include "b" . }}`:          "function include: there is no template with this name; the template defines a",
		`{{ template "nowhere" }}`:                              "template \"nowhere\" not defined",
		`{{ fail (print "bad " .imports.name) }}`:               "function fail: the template rejects its input; the message may contain values and is withheld, see the expression",
		`{{ .imports.name.first }}`:                             "can't evaluate field first in type interface {}",
		`{{ .imports.nothing.first }}`:                          "nil pointer evaluating interface {}.first",
		`{{ range .imports.name }}{{ end }}`:                    "range can only iterate over lists, maps and integers",
		`{{ range .imports.ratio }}{{ end }}`:                   "range can only iterate over lists, maps and integers",
		`{{ printf "%*d" 5 1 }}`:                                "function printf: a format cannot take its width from an argument",
		`{{ $d := dict }}{{ set $d "a" (list (dict "b" $d)) }}`: "function set: a map cannot contain itself",
		`{{ mulf ` + strings.Repeat("1.5 ", 200) + `}}`:         "function mulf: it takes at most 100 numbers",
	} {
		if got := render(t, text); got != "! "+want {
			t.Errorf("%s\n got %q\nwant %q", text, got, "! "+want)
		}
	}
}

// The functions that users of other systems call first.
func TestRefusalsSayWhatToDoInstead(t *testing.T) {
	for call, want := range map[string]string{
		`env "HOME"`:                  "function env is not available in blueprints because a blueprint must not depend on the environment of the process that renders it; import the value instead",
		`getHostByName "example.com"`: "function getHostByName is not available in blueprints because a template must not reach the network; import the address instead",
		`now`:                         "function now is not available in blueprints because its result depends on the clock or the time zone, and rendering must be deterministic; import the time instead",
	} {
		if got := render(t, "{{ "+call+" }}"); got != "! "+want {
			t.Errorf("%s\n got %q\nwant %q", call, got, "! "+want)
		}
	}
}

func TestRefusedFunctions(t *testing.T) {
	for name, reason := range refused {
		want := "! function " + name + " is not available in blueprints because " + reason
		for _, call := range []string{name, name + " 1", name + ` "a" "b" "c" 4`} {
			if got := render(t, "{{ "+call+" }}"); got != want {
				t.Errorf("%s: got %q, want %q", call, got, want)
			}
		}
		if got := render(t, "{{ if false }}{{ "+name+" }}{{ end }}fine"); got != "fine" {
			t.Errorf("%s fails although it is not called: %q", name, got)
		}
	}
}
