// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"fmt"
	"testing"
)

func TestCalculationsWithImports(t *testing.T) {
	for text, want := range map[string]string{
		"a: (( imports.n / 2 ))":                                        "[{a imports.n / 2 /}]",
		"a: {b: [1, (( imports.x \"-\" imports.n + 3 ))]}":              "[]",
		"a: {b: [1, '(( imports.n > 3 ? 1 :2 ))']}":                     "[{a.b[1] imports.n > 3 >}]",
		"a:\n  <<: (( map[imports.l|x|->{$v = x + (7 / imports.n)}] ))": "[{a.<< 7 / imports.n /}]",
		"a: (( imports.n + 2 * imports.n ))":                            "[]",
		"a: (( integer(imports.n) / 2 ))":                               "[]",
		"a: (( imports.other / 2 ))":                                    "[]",
		"a: (( imports.n.x / 2 ))":                                      "[]",
		"a: plain":                                                      "[]",
	} {
		if got := fmt.Sprint(mustCompile(t, text).Calculations([]string{"n"})); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
