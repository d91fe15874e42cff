// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"strings"
	"testing"

	"github.com/mandelsoft/spiff/dynaml"

	"espalier.dev/internal/template"
)

// readable are expressions that the original grammar accepts, unreadable ones that it does not.
var (
	readable = []string{
		"1", " 1 ", "-5", "1_0", "1.5e-3", `"a\"b"`, "true", "nil", "~", "~~", "$a", "10.0.0.1", "a", ".a", "a.b", "a.[1].b", "a[1][2]", "a[-1]", "a.b-c", "a:b", "a.[b]", "a[b, c]", ".[a]",
		"a b c", "a\nb", "a + b", "a - b * c / d % e", "a == b", "a -and b -or c", "a || b // c", "a ? b :c", "a ? b ?c :d :e", "!a", "! a", "!!a", "*a", "*a.b", "(a)", "( a )", "((a))", "[]", "[ ]", "[a]", "[a, b]", "[ a , b ]", "[1..2]", "[a..b]", "{}", "{ }", "{a = b}", "{ a = b , c = d }", "(a = 1) b", "(a = 1, b = 2) c", "() a",
		"|x|->x", "|x|-> x", "| x , y |->x", "||->1", "|x=1|->x", "|x,y=1|->x", "|x...|->x", "|x,y...|->x", "lambda |x|->x", "lambda|x|->x", "lambda x", "(|x|->x)(1)", "a()", "a( )", "a(b)", "a(b, c)", "a(b...)", "a(x=1)", "a(x=1, y=2, 3)", "a*(b)", "a(b)(c).d[e]", "a.b(c)", ".a(b)", "_(a)", "_.a", "__.a", "___.a",
		"map[a|x|->x]", "map[a|b]", "map{a|x|->x}", "select[a|x|->x]", "select{a|k,v|->v}", "sum[a|0|s,x|->s + x]", "sum[a|b|c]", "catch[a|v,e|->v]", "catch[a|b]", "a.[*].b", "a.[*]", "a.[1..2]", "a.[1..]", "a.[..2]", "a[1..2].b", "a.[*].b.[*].c(d)",
		"merge", "merge || a", "merge a.b", "merge replace", "merge required", "merge on key", "merge replace a", "merge on key a", "merge none", "merge(a)", "merge (a)", "prefer a", "&temporary", "&temporary &local", "&temporary(a)", "&state ( a )",
		"a b ? c :d", "a + b c", `a "x" ? 1 :2`, "map[a|x|->x].b", "[a].b", "{a=b}.c", "1 + -1", "a -1", "a == b ? c :d || e", "|x|->x ? y :z", "a.b.[c].d.e[0].[f]", "a[0].b(c=1)",
	}
	unreadable = []string{
		"a ||b", "a?b:c :d", "& temporary", "", " ", "(", ")", "[", "a +", "+ a", "a + ", "a  ||  ", "a b )", "[a,]", "{a}", "{a=}", "{a=b,}", "a(b", "a(b,)", "a(,b)", "|x|", "|x", "x|->x", "|x=1,y|->x", "map[a]", "map[a|x|->x", "sum[a|x|->x]", "a..b", "a.", ".", "a[", "a[]", "a.[]", "\"a", "a ? b", "a ? b :", "!", "*", "~a", "&unknown_", "&", "a &temporary", "a, b", "a = b", "1 2)", "a - ", "a -", "1..2", "[..]x", "a**(b)", "#", "a#b", "ä", "a -andb", "%", "a %", "prefer", "lambda", "merge on",
	}
)

func TestParserReadsWhatTheOriginalReads(t *testing.T) {
	for _, text := range append(readable, unreadable...) {
		_, theirs := dynaml.Parse(text, nil, nil)
		_, ours := parse(text, template.NewMeter(template.Limits{}))
		if (theirs == nil) != (ours == nil) {
			t.Errorf("%q: the original says %v, this one %v", text, theirs, ours)
		}
	}
	for _, text := range readable {
		if _, err := parse(text, template.NewMeter(template.Limits{})); err != nil {
			t.Errorf("%q cannot be read: %v", text, err.problem)
		}
	}
}

// Texts that take the original parser exponential time take this one linear time.
func TestParserIsLinear(t *testing.T) {
	for name, form := range map[string][2]string{
		"brackets":                {"(", ")"},
		"lists":                   {"[", "]"},
		"calls":                   {"f(", ")"},
		"maps":                    {"{a=", "}"},
		"iterations":              {"map[", "|x|->x]"},
		"lambdas":                 {"|x|->", ""},
		"conditions":              {"a ? ", " :b"},
		"indexes":                 {"a[", "]"},
		"ranges":                  {"[1..", "]"},
		"scopes":                  {"(a=1) ", ""},
		"brackets without an end": {"(", ""},
		"lists without an end":    {"[", ""},
		"calls without an end":    {"f(", ""},
	} {
		size := func(depth int) int {
			p := &parser{text: strings.Repeat(form[0], depth) + "x" + strings.Repeat(form[1], depth), limit: 1000, known: map[known]parsed{}}
			p.dynaml()
			if p.failure != nil {
				t.Fatalf("%s: %v", name, p.failure)
			}
			return len(p.known)
		}
		if small, large := size(20), size(80); large > 6*small {
			t.Errorf("%s: a depth of 20 takes %d steps, one of 80 %d", name, small, large)
		}
	}
}

// Property: the parser accepts what the original accepts, as long as the original ends. Where the two differ by design, this
// one accepts more, or gives a reason.
func FuzzParser(f *testing.F) {
	for _, text := range append(readable, unreadable...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 40 ||
			strings.Count(text, "(")+strings.Count(text, "[")+strings.Count(text, "{")+strings.Count(text, "|")+strings.Count(text, "?") > 6 {
			return
		}
		_, ours := parse(text, template.NewMeter(template.Limits{}))
		if ours == nil || !originalReads(text) {
			return
		}
		if message := template.Explain(ours.problem); strings.HasPrefix(message, "the expression cannot be read") {
			t.Errorf("the original reads %q, this one does not: %s", text, message)
		}
	})
}

func originalReads(text string) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	_, err := dynaml.Parse(text, nil, nil)
	return err == nil
}
