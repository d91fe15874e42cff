// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import "testing"

const withheld = "the template rejects its input; the message may contain values and is withheld, see the expression"

// The author's own message is shown, as long as it cannot contain a value.
func TestMessagesOfTheAuthor(t *testing.T) {
	for expression, want := range map[string]string{
		`error("the size is wrong")`:                      "the size is wrong",
		`error("100% wrong")`:                             "100% wrong",
		`error("the size " "is " 5)`:                      "the size is 5",
		`error(("in " "brackets"))`:                       "in brackets",
		`error("%s must be less than %d", "size", 5 + 1)`: "size must be less than 6",
		`error(format("at least %d", 3))`:                 "at least 3",
		`error(upper(join(" or ", ["a", "b"])))`:          "A OR B",
		`error(imports.enabled ? "enabled" :"disabled")`:  "enabled",
		`imports.count > 2 ? error("too many") :1`:        "too many",
		`map[imports.list|x|->error("no lists")]`:         "no lists",
		`error(imports.name)`:                             withheld,
		`error("bad name: " imports.name)`:                withheld,
		`error("bad name: %s", imports.name)`:             withheld,
		`error(imports.enabled ? imports.name :"x")`:      withheld,
		`error(imports.missing || "missing")`:             withheld,
		`error(read("VERSION", "text"))`:                  withheld,
		`error(own("x"))`:                                 withheld,
		`error(lower("x", imports.name) || "x")`:          withheld,
		`error(["x", imports.name])`:                      withheld,
		`(|m|->error(m))("x")`:                            withheld,
		`eval("error(\"x\")")`:                            "the expression was put together from values and cannot be evaluated",
		`error()`:                                         withheld,
		`validate(imports.count, |x|->[x > 5, "more than five", "not more than five"])`: "function validate: condition 1: not more than five",
		`validate(imports.count, ["type", "int"], |x|->[x > 5, "too few"])`:             "function validate: condition 2: too few",
		`validate(imports.count, ["and", |x|->([false, "", "no"])])`:                    "function validate: condition 1: no",
		`validate(imports.name, |x|->[false, "", "bad name: " x])`:                      "function validate: the value does not meet condition 1",
		`validate(imports.count, [|x,m|->[x > m, "", "at most " m], 5])`:                "function validate: the value does not meet condition 1",
		`validate(imports.count, |x|->false)`:                                           "function validate: the value does not meet condition 1",
		`validate(imports.name, lambda "|x|->[false, \"\", \"text\"]")`:                 "function validate: the value does not meet condition 1",
		`catch[error("caught")|v,e|->error("again")]`:                                   "again",
	} {
		text := jsonText(map[string]any{"a": "(( " + expression + " ))"})
		input := Input{
			Bindings:  bindings(),
			Files:     files,
			Functions: map[string]Function{"own": func(args []any) (any, error) { return args[0], nil }},
		}
		if got := evaluateWith(t, text, input); got != "! "+want {
			t.Errorf("%.200s\n got %q\nwant %q", expression, got, "! "+want)
		}
	}
}
