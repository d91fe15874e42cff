// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// numbersOfBindings reports which of bindings() are numbers.
func numbersOfBindings(path []string) bool {
	return slices.Contains(
		[]string{"imports count", "imports million", "imports map a", "imports numbers []", "imports numbers [0]", "imports items [0] v", "count"},
		strings.Join(path, " "),
	)
}

func TestCalculationsWithImports(t *testing.T) {
	const n = "imports.count"
	for expression, want := range map[string]Effect{
		n + " / 2":                                   KeepsFraction,
		"9 / (" + n + " - 1)":                        KeepsFraction,
		"(" + n + ") / 2":                            KeepsFraction,
		n + " * 3 / 2":                               KeepsFraction,
		"(" + n + " + 2) / 2":                        KeepsFraction,
		"(2 - " + n + ") / 2":                        KeepsFraction,
		"(" + n + " || 5) / 2":                       KeepsFraction,
		"(true ? " + n + " :4) / 2":                  KeepsFraction,
		"imports.map.a / 2":                          KeepsFraction,
		"(imports.map).a / 2":                        KeepsFraction,
		"imports.map.[\"a\"] / 2":                    KeepsFraction,
		"imports.[[\"map\", \"a\"]] / 2":             KeepsFraction,
		"imports.numbers[0] / 2":                     KeepsFraction,
		"imports.numbers.[1 - 1] / 2":                KeepsFraction,
		"imports.items[0].v / 2":                     KeepsFraction,
		"___.imports.count / 2":                      KeepsFraction,
		"($x = 1) " + n + " / 2":                     KeepsFraction,
		"\"10.0.0.0/24\" / " + n:                     Fails,
		n + " == 3":                                  AlwaysFalse,
		n + " == \"3\"":                              AlwaysFalse,
		"3 == " + n:                                  AlwaysFalse,
		n + " + 1 == 4":                              AlwaysFalse,
		n + " == " + n:                               AlwaysFalse,
		"length(imports.list) == " + n:               NeverTrue,
		"imports.name == " + n:                       NeverTrue,
		"\"3\" == " + n:                              Fails,
		n + " != 3":                                  AlwaysTrue,
		"3 != " + n:                                  AlwaysTrue,
		"length(imports.list) != " + n:               NeverFalse,
		"\"3\" != " + n:                              Fails,
		n + " > 2":                                   AlwaysFalse,
		n + " < 5":                                   AlwaysFalse,
		n + " >= 2":                                  AlwaysFalse,
		n + " <= imports.million":                    AlwaysFalse,
		"2.5 < " + n:                                 AlwaysFalse,
		"2 < " + n:                                   Fails,
		"5 >= " + n:                                  Fails,
		"length([]) < " + n:                          NeverTrue,
		n + " / 2.0":                                 "",
		n + " == true":                               "",
		n + " + 2 * " + n:                            "",
		"integer(" + n + ") / 2":                     "",
		"integer(" + n + ") == 3":                    "",
		"float(" + n + ") / 2":                       "",
		"($imports = {$count=4}) " + n + " / 2":      "",
		"(|imports|->imports.count / 2)({$count=4})": "",
		"length(imports.list) / 2":                   "",
	} {
		text := jsonText(map[string]any{"a": "(( " + expression + " ))"})
		var got Effect
		found := mustCompile(t, text).Calculations(numbersOfBindings)
		if len(found) > 0 {
			got = found[0].Effect
		}
		if len(found) > 1 || got != want {
			t.Errorf("%s: got %v, want %q", expression, found, want)
		}
		ours := evaluate(t, text)
		theirs, err := landscaper(text, nil)
		if !describes(want, ours, theirs, err) {
			t.Errorf("%s: %q, but Landscaper yields %s, %v, and Espalier %s", expression, want, theirs, err, ours)
		}
	}
}

// describes reports whether an effect describes what an expression yields in Landscaper.
func describes(effect Effect, ours, theirs string, err error) bool {
	switch effect {
	case KeepsFraction:
		return err == nil && strings.Contains(theirs, ".5") && !strings.Contains(ours, ".5")
	case AlwaysFalse:
		return err == nil && theirs == `{"a":false}`
	case AlwaysTrue:
		return err == nil && theirs == `{"a":true}`
	case NeverTrue:
		return err != nil || theirs == `{"a":false}`
	case NeverFalse:
		return err != nil || theirs == `{"a":true}`
	case Fails:
		return err != nil
	}
	return err == nil && theirs == ours
}

func TestCalculationsAreFoundEverywhere(t *testing.T) {
	for text, want := range map[string]string{
		"a: {b: [1, (( imports.name \"-\" imports.count + 3 ))]}":           "[]",
		"a: {b: [1, '(( imports.count > 3 ? 1 :2 ))']}":                     "[{a.b[1] imports.count > 3 the comparison is always false}]",
		"a:\n  <<: (( map[imports.l|x|->{$v = x + (7 / imports.count)}] ))": "[{a.<< 7 / imports.count the division keeps the fraction}]",
		"a: (( count / 2 ))":                                           "[{a count / 2 the division keeps the fraction}]",
		"count: (( count / 2 ))":                                       "[]",
		"count: 1\na: (( count / 2 ))":                                 "[]",
		"b: {count: 1}\na: (( count / 2 ))":                            "[{a count / 2 the division keeps the fraction}]",
		"imports: {count: 5}\na: (( imports.count / 2 ))":              "[]",
		"a: (( imports.count == nil ))\nb: (( imports.count != nil ))": "[]",
		"a: plain": "[]",
	} {
		if got := fmt.Sprint(mustCompile(t, text).Calculations(numbersOfBindings)); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
