// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"fmt"
	"strings"
	"testing"

	"espalier.dev/internal/template"
)

// hostile are templates that would consume all time or memory, or crash the process, with the limit that stops each; either
// is for templates that may reach one or the other.
const either = "Steps or Memory"

func nest(open, inner, closing string, depth int) string {
	return "a: (( " + strings.Repeat(open, depth) + inner + strings.Repeat(closing, depth) + " ))"
}

var hostile = map[string]struct{ text, limit string }{
	"many hashes of passwords": {
		"a: (( map[[1..1000]|i|->bcrypt_check(\"x\", \"$2a$10$KC23Kjz3wb2LPzlF.4t7RebxvkfLdrSAudGo3ScuVVg5r9iRIHyWK\")] ))",
		"Steps",
	},
	"a hash of a large text":             {"a: (( map[[1..1000]|i|->md5crypt_check(imports.large, \"$1$a$b\")] ))", "Steps"},
	"a large set of addresses":           {"a: (( ipset(\"10.0.0.0/8\", 1000000) ))", "Memory"},
	"many indexes of addresses":          {"a: (( ipset(\"10.0.0.0/8\", 1, sum[[1..100]|[1]|s,x|->[s, s]]) ))", either},
	"a range":                            {"a: (( [1..1000000000] ))", "Memory"},
	"the whole range":                    {"a: (( [-9223372036854775807..9223372036854775807] ))", "Memory"},
	"the whole range backwards":          {"a: (( [9223372036854775807..-9223372036854775807] ))", "Memory"},
	"iterations in iterations":           {"a: (( map[[1..1000]|i|->map[[1..1000]|j|->map[[1..1000]|k|->1]]] ))", either},
	"a lambda that calls itself":         {"f: (( |x|->_(x + 1) ))\na: (( .f(1) ))", "Depth"},
	"a lambda that calls itself by name": {"f: (( |x|->.f(x + 1) ))\na: (( .f(1) ))", "Depth"},
	"lambdas that call each other":       {"f: (( |x|->.g(x) ))\ng: (( |x|->.f(x) ))\na: (( .f(1) ))", "Depth"},
	"a lambda that is its own argument":  {"f: (( |g|->g(g) ))\na: (( .f(f) ))", "Depth"},
	"a lambda in a long expression":      {"f: (( |x|->_(x)" + strings.Repeat(" + 1", 3000) + " ))\na: (( .f(1) ))", "Depth"},
	"a long chain of calls":              {"f: (( |x|->_(x)" + strings.Repeat("()", 5000) + " ))\na: (( .f(1) ))", "Depth"},
	"two calls of itself":                {"f: (( |x|->x <= 1 ? 1 :_(x - 1) + _(x - 2) ))\na: (( .f(90) ))", "Steps"},
	"currying without end":               {"f: (( |x,y|->.f*(x)(y) ))\na: (( .f(1, 2) ))", "Depth"},
	"eval of eval":                       {"s: 'eval(s)'\na: (( eval(s) ))", "Depth"},
	"eval again and again":               {"a: (( map[[1..100000]|i|->eval(\"1 + 1\")] ))", either},
	"a lambda of a text without end":     {"s: '|x|->(lambda s)(x)'\na: (( (lambda s)(1) ))", "Depth"},
	"a template in itself":               {"t: {<<: (( &template )), v: (( *t ))}\na: (( *t ))", "Depth"},
	"a template twice in itself":         {"t: {<<: (( &template )), v: (( *t )), w: (( *t ))}\na: (( *t ))", "Depth"},
	"a file that reads itself":           {"a: (( read(\"self.yaml\") ))", "Depth"},
	"a string that doubles":              {"a: (( sum[[1..100]|\"ab\"|s,x|->s s] ))", either},
	"a string that grows":                {"a: (( sum[[1..100000]|\"\"|s,x|->s \"xxxxxxxxxx\"] ))", either},
	"a list that doubles":                {"a: (( sum[[1..100]|[1]|s,x|->s s] ))", either},
	"a list that contains itself twice":  {"a: (( sum[[1..100]|[1]|s,x|->[s, s]] ))", either},
	"the same over values":               {doubling(100), either},
	"the same as JSON":                   {"a: (( length(asjson(sum[[1..100]|[1]|s,x|->[s, s]])) ))", either},
	"the same as YAML":                   {"a: (( length(asyaml(sum[[1..100]|[1]|s,x|->{$l=s, $r=s}])) ))", either},
	"the same compared": {
		"l: (( &temporary(sum[[1..100]|[1]|s,x|->[s, s]]) ))\nm: (( &temporary(sum[[1..100]|[1]|s,x|->[s, s]]) ))\na: (( l == m ))",
		either,
	},
	"the same searched": {
		"l: (( &temporary(sum[[1..100]|[1]|s,x|->[s, s]]) ))\nm: (( &temporary(sum[[1..100]|[1]|s,x|->[s, s]]) ))\na: (( contains([l], m) ))",
		either,
	},
	"the same formatted":              {"a: (( length(format(\"%s\", sum[[1..100]|[1]|s,x|->[s, s]])) ))", either},
	"the same given to the caller":    {"a: (( own(sum[[1..100]|[1]|s,x|->[s, s]]) ))", either},
	"the same merged":                 {"a: (( merge(sum[[1..100]|{}|s,x|->{$l=s, $r=s}], {$l={}}) ))", either},
	"a deep list":                     {"a: (( sum[[1..3000]|[]|s,x|->[s]] ))", "Nesting"},
	"a deep map of templates":         {"t: (( &template({$v=x}) ))\na: (( sum[[1..3000]|[]|x,i|->*t] ))", "Nesting"},
	"a chain of references":           {chain(5000, "a%04d: (( a%04d ))\n"), "Depth"},
	"split into characters":           {"a: (( length(split(\"\", imports.large)) ))", either},
	"a large pattern on a large text": {"a: (( match(\"(a{1,30}b{0,30}){1,30}x\", imports.large) ))", "Steps"},
	"many groups":                     {"a: (( match(\"" + strings.Repeat("()", 200) + "\", imports.large, true) ))", either},
	"a replacement by a large text":   {"a: (( replace(imports.large, \"a\", imports.large) ))", either},
	"a replacement that multiplies":   {"a: (( replace_match(imports.large, \"(.*)\", \"" + strings.Repeat("$1", 1000) + "\") ))", either},
	"a join with a large text":        {"a: (( join(imports.large, [1..1000]) ))", either},
	"wide fields":                     {"a: (( map[[1..100000]|i|->format(\"" + strings.Repeat("%999d", 50) + "\")] ))", either},
	"base64 of base64":                {"a: (( sum[[1..1000]|\"x\"|s,i|->base64(s)] ))", either},
	"JSON of JSON":                    {"a: (( sum[[1..1000]|\"\\\"\"|s,i|->asjson(s)] ))", either},
	"a comparison of large texts":     {"a: (( map[[1..100000]|i|->imports.large == imports.other] ))", either},
	"a large list searched":           {"l: (( &temporary([1..10000]) ))\na: (( map[l|i|->contains(l, 0)] ))", either},
	"a large list sorted":             {"a: (( sort([10000..1], |a,b|->a < b) ))", either},
	"a large list made unique":        {"a: (( uniq([1..10000]) ))", either},
	"large lists intersected":         {"a: (( intersect([1..10000], [20000..10001]) ))", either},
	"names in a long list": {
		"l: (( &temporary(map[[1..3000]|i|->{$name=\"n\" i}]) ))\na: (( map[[1..100000]|i|->l.n2999] ))",
		either,
	},
	"parsing again and again":  {"a: '(( map[[1..100000]|i|->parse(\"a: [1, 2]\")] ))'", either},
	"a billion laughs":         {"a: (( parse(imports.laughs) ))", either},
	"versions again and again": {"a: (( map[[1..100000]|i|->semvermatch(\"1.2.3\", \"~1.2 || >3\")] ))", either},
	"files again and again":    {"a: (( map[[1..100000]|i|->read(\"VERSION\")] ))", either},
	"merges again and again":   {"a: (( map[[1..100000]|i|->merge({$x=1}, {$x=2})] ))", either},
	"places again and again":   {"a: (( map[[1..100000]|i|->__ctx.PATHNAME] ))", either},
	"many names in a scope":    {"a: (( (" + manyNames(500) + ") map[[1..100000]|x|->(|y|->x + y)(1)] ))", either},
	"conditions in conditions of itself": {
		"c: (( &temporary(sum[[1..50]|\"ip\"|s,x|->[\"and\", s, s]]) ))\na: (( check(\"10.0.0.1\", c) ))",
		either,
	},
	"conditions without end": {
		"c: (( &temporary(sum[[1..1000]|\"ip\"|s,x|->[\"and\", s]]) ))\na: (( check(\"10.0.0.1\", c) ))",
		"Depth or Nesting",
	},
	"conditions again and again": {
		"l: (( &temporary([1..1000]) ))\na: (( map[l|i|->check(l, [\"list\", [\"valueset\", l]])] ))",
		either,
	},
	"a lambda that is its own condition": {"f: (( |x|->check(x, f) ))\na: (( .f(1) ))", "Depth"},
	"a large pattern as a condition":     {"a: (( check(imports.large, [\"match\", \"(a{1,30}b{0,30}){1,30}x\"]) ))", "Steps"},
	"large texts as conditions":          {"a: (( map[[1..100000]|i|->check(imports.large, [\"=\", imports.other])] ))", either},
	"brackets in brackets":               {nest("(", "1", ")", 5000), "Nesting"},
	"brackets without an end":            {nest("(", "1", "", 5000), "Nesting"},
	"lists in lists":                     {nest("[", "1", "]", 5000), "Nesting"},
	"calls in calls":                     {nest("f(", "1", ")", 4000), "Nesting"},
	"lambdas in lambdas":                 {nest("|x|->", "1", "", 3000), "Nesting"},
	"conditions in conditions":           {nest("a ? ", "1", " :b", 2000), "Nesting"},
	"negations":                          {nest("!", "1", "", 10000), "Nesting"},
	"instances of instances":             {nest("*", "a", "", 10000), "Nesting"},
	"a deep document":                    {strings.Repeat("[", 3000) + "((a))" + strings.Repeat("]", 3000), "Nesting"},
	"a large document":                   {"a: " + strings.Repeat("x", 2<<20), "Source"},
	"many expressions":                   {strings.Repeat("- (( a + b * c - (d || e) ))\n", 30000), "Steps"},
	"a large output": {
		"a: (( [imports.large, imports.large, imports.large, imports.large, imports.large, imports.large] ))",
		"Output",
	},
}

func doubling(n int) string {
	text := "a0: [x]\n"
	for i := 1; i < n; i++ {
		text += fmt.Sprintf("a%d: (( [a%d, a%d] ))\n", i, i-1, i-1)
	}
	return text
}

// chain returns values that each refer to the next.
func chain(n int, format string) string {
	text := ""
	for i := range n {
		text += fmt.Sprintf(format, i, i+1)
	}
	return text + fmt.Sprintf("a%04d: end\n", n)
}

func manyNames(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("$n%d = 1", i)
	}
	return strings.Join(all, ", ")
}

func hostileInput() Input {
	laughs := "a0: &a0 x\n"
	for i := 1; i < 40; i++ {
		laughs += fmt.Sprintf("a%d: &a%d [*a%d, *a%d, *a%d]\n", i, i, i-1, i-1, i-1)
	}
	large := strings.Repeat("ab", 400_000)
	return Input{
		Bindings:  map[string]any{"imports": map[string]any{"large": large, "other": strings.Clone(large), "laughs": laughs}},
		Functions: map[string]Function{"own": func(args []any) (any, error) { return args, nil }},
		Files:     hostileFiles,
	}
}

// tight are limits that make the tests fast. Templates that exceed them exceed the defaults as well, only later.
var tight = template.Limits{Steps: 200_000, Memory: 8 << 20}

func TestHostileTemplatesEnd(t *testing.T) {
	for name, c := range hostile {
		t.Run(name, func(t *testing.T) {
			err := evaluateHostile(c.text, tight)
			if got := limitIn(err); got == "" || !strings.Contains(c.limit, got) {
				t.Errorf("it ended at the limit %q, want %q: %.500v", got, c.limit, err)
			}
		})
	}
}

func evaluateHostile(text string, limits template.Limits) error {
	compiled, err := Compile(template.Source{Execution: "test", Text: text}, Options{Limits: limits})
	if err == nil {
		_, err = compiled.Evaluate(hostileInput())
	}
	return err
}

func TestTheDefaultsStopHostileTemplates(t *testing.T) {
	for _, name := range []string{"iterations in iterations", "a string that doubles", "two calls of itself", "the same over values", "a lambda in a long expression", "many expressions", "the same merged", "conditions again and again"} {
		if err := evaluateHostile(hostile[name].text, template.Limits{}); limitIn(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No template can continue after it has reached a limit.
func TestLimitsCannotBeCaught(t *testing.T) {
	for _, text := range []string{
		"a: (( [1..1000000000] || \"caught\" ))",
		"a: (( catch([1..1000000000]) ))",
		"a: (( catch[[1..1000000000]|v,e|->e] ))",
		"a: (( [1..1000000000] // \"caught\" ))",
		"a: (( defined([1..1000000000]) ))",
		"a: (( valid([1..1000000000]) ))",
		"a: (( false -and [1..1000000000] ))",
		"f: (( |x|->_(x) ))\na: (( .f(1) || \"caught\" ))",
		"t: {<<: (( &template )), v: (( *t ))}\na: (( *t || \"caught\" ))",
	} {
		compiled := mustCompile(t, text)
		if result, err := compiled.Evaluate(Input{}); limitIn(err) == "" {
			t.Errorf("%s: got %v and %v", text, result, err)
		}
	}
}

// Expensive work is charged: it takes at least the given number of steps. The duration of a step depends on the machine, but
// work that costs nothing would never end.
func TestStepsAreCharged(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat("nil, ", 100), ", ")
	for name, c := range map[string]struct {
		text  string
		least int64
	}{
		"conditions": {"a: (( check(1, [\"and\", " + many + "]) ))", 100 * costOfCondition},
		"overlays":   {"a: (( merge({" + strings.ReplaceAll(manyNames(100), "$n", "$m") + "}, {$x = 1}) ))", 200 * costOfOverlay},
		"calls":      {"f: (( |x|->x ))\na: (( map[[1..100]|x|->.f(x)] ))", 390 * costOfCall},
		"parsing":    {"a: (( eval(\"1" + strings.Repeat(" + 1", 100) + "\") ))", 400 * costOfByte},
	} {
		compiled := mustCompile(t, c.text)
		r := newRun(compiled, Input{})
		if _, err := r.evaluate(compiled.root, Input{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if steps, _ := r.meter.Used(); steps < c.least {
			t.Errorf("%s take %d steps, not %d", name, steps, c.least)
		}
	}
	meter := template.NewMeter(template.Limits{})
	if _, err := parse("a + b", meter); err != nil {
		t.Fatal(err.problem)
	}
	if steps, _ := meter.Used(); steps < 5*costOfByte {
		t.Errorf("reading an expression takes %d steps", steps)
	}
}

// Realistic templates stay within the limits: those with 90,000 texts or numbers, or 30,000 maps.
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
		"a: (( map[imports.items|x|->x \"-\"] ))":                                                     many,
		"a: (( map[[1..90000]|x|->x + 1] ))":                                                          many,
		"a: (( select[imports.items|i,x|->i >= 0] ))":                                                 many,
		"f: (( &temporary(|x|->x <= 0 ? [] :_(x - 1) x) ))\na: (( .f(990) ))":                         990,
		"n: (( &temporary(sum[[1..90000]|0|s,x|->s + 1]) ))\na: (( n == 90000 ? imports.items :[] ))": many,

		"a: [{<<: (( imports.maps ))}]":                                           maps,
		"a: (( map[imports.maps|x|->{$name=x.name \"-\", $value=x.value + 1}] ))": maps,
		"a: (( map[imports.maps|x|->x {$more=x.value}] ))":                        maps,
		"a: (( select[imports.maps|x|->x.value >= 0] ))":                          maps,
		"a: (( &state(imports.maps) ))":                                           maps,
	} {
		result, err := mustCompile(t, text).Evaluate(Input{Bindings: map[string]any{"imports": imports}})
		if err != nil {
			t.Errorf("%s: %v", text, messageIn(t, err))
			continue
		}
		if got := len(result.Value.(map[string]any)["a"].([]any)); got != want {
			t.Errorf("%s: got %d items, want %d", text, got, want)
		}
	}
}
