// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/template"
)

func mustCompile(t testing.TB, text string) *Template {
	t.Helper()
	compiled, err := Compile(template.Source{Execution: "test", Text: text}, Options{})
	if err != nil {
		t.Fatalf("%q cannot be compiled: %v", text, err)
	}
	return compiled
}

func TestStateIsKept(t *testing.T) {
	for _, c := range []struct {
		name, text  string
		state       map[string]any
		want, keeps string
		differs     string
		// floats reports whether Landscaper has another result because all imported numbers are floats there.
		floats bool
	}{
		{name: "the first run", text: "a: (( &state(imports.name) ))\nb: 1", want: "a: alice\nb: 1", keeps: "a: alice"},
		{
			name:  "the second run",
			text:  "a: (( &state(imports.name) ))\nb: 1",
			state: map[string]any{"a": "bob"},
			want:  "a: bob\nb: 1",
			keeps: "a: bob",
		},
		{
			name:  "a map, first",
			text:  "s: {<<: (( &state )), v: (( imports.name )), w: {x: 1}}\na: (( s.v ))",
			want:  "s: {v: alice, w: {x: 1}}\na: alice",
			keeps: "s: {v: alice, w: {x: 1}}",
		},
		{
			name:  "a map, then",
			text:  "s: {<<: (( &state )), v: (( imports.name )), w: {x: 1}}\na: (( s.v ))",
			state: map[string]any{"s": map[string]any{"v": "old"}},
			want:  "s: {v: old, w: {x: 1}}\na: old",
			keeps: "s: {v: old, w: {x: 1}}",
		},
		{
			name:  "an explicit merge",
			text:  "a: (( &state(merge || imports.name) ))",
			state: map[string]any{"a": "old"},
			want:  "a: old",
			keeps: "a: old",
		},
		{
			name:  "a counter",
			text:  "c: (( &state(merge none // (stub() + 1 || 1)) ))",
			state: map[string]any{"c": int64(4)},
			want:  "c: 5",
			keeps: "c: 5",
		},
		{
			name:   "an imported number, first",
			text:   "k: (( &state(imports.count) ))\na: (( k / 2 ))",
			want:   "k: 3\na: 1",
			keeps:  "k: 3",
			floats: true,
		},
		{
			name:  "an imported number, then",
			text:  "k: (( &state(imports.count) ))\na: (( k / 2 ))",
			state: map[string]any{"k": int64(3)},
			want:  "k: 3\na: 1",
			keeps: "k: 3",
		},
		{
			name:  "the counterpart of another path",
			text:  "a: (( merge s.x ))\nb: (( stub(s.x) ))\nc: (( merge s.y || 7 ))\ns: {<<: (( &state )), x: 1}",
			state: map[string]any{"s": map[string]any{"x": int64(5)}},
			want:  "a: 5\nb: 5\nc: 7\ns: {x: 5}",
			keeps: "s: {x: 5}",
		},
		{
			name:  "a preferred map",
			text:  "a: (( prefer imports.map ))",
			state: map[string]any{"a": map[string]any{"a": "old", "x": "no"}},
			want:  "a: {a: old, b: 2, nested: {deep: value}}",
		},
		{
			name:  "a map that is not preferred",
			text:  "a: (( imports.map ))",
			state: map[string]any{"a": map[string]any{"a": "old"}},
			want:  "a: {a: old}",
		},
		{
			name:  "a preferred list",
			text:  "a: (( prefer imports.items ))",
			state: map[string]any{"a": []any{map[string]any{"name": "two", "v": "old"}}},
			want:  "a: [{name: one, v: 1}, {name: two, v: old}]",
		},
		{name: "a preferred scalar", text: "a: (( prefer imports.name ))", state: map[string]any{"a": "old"}, want: "a: old"},
		{
			name:  "a value that is not marked is overridden as well",
			text:  "a: new\nb: (( a ))",
			state: map[string]any{"a": "old"},
			want:  "a: old\nb: old",
		},
		{
			name:    "maps in lists by their names",
			text:    "l: [{name: x, v: 1}, {name: (( \"z\" )), v: 2}]\na: (( l[1].v ))",
			state:   map[string]any{"l": []any{map[string]any{"name": "z", "v": int64(20)}, map[string]any{"name": "x", "v": int64(10)}}},
			want:    "l: [{name: x, v: 10}, {name: z, v: 20}]\na: 20",
			differs: "it reads a value before it is overridden",
		},
		{
			name:  "maps in lists by their place",
			text:  "l: [{name: x, v: 1}, {v: (( 3 ))}, 4]",
			state: map[string]any{"l": []any{map[string]any{"name": "z", "v": int64(20)}, map[string]any{"v": int64(30)}, int64(40)}},
			want:  "l: [{name: z, v: 20}, {v: 30}, 4]",
		},
		{
			name:  "a list that is merged",
			text:  "l: [{name: x, v: 1}, {<<: (( merge )) }, {v: 5}]",
			state: map[string]any{"l": []any{map[string]any{"name": "x", "v": int64(10)}, map[string]any{"name": "z"}}},
			want:  "l: [{name: x, v: 1}, {name: z}, {v: 5}]",
		},
		{
			name:  "a list of names that is merged",
			text:  "l: [{name: x, v: 1}, {<<: (( merge )) }]",
			state: map[string]any{"l": []any{map[string]any{"name": "x", "v": int64(10)}, map[string]any{"name": "z"}}},
			want:  "l: [{name: x, v: 10}, {name: z}]",
		},
		{
			name:  "a map that is replaced",
			text:  "m: {<<: (( merge replace )), a: 1}\nl: [{<<: (( merge replace ))}, 1]",
			state: map[string]any{"m": map[string]any{"b": int64(2)}, "l": []any{int64(7)}},
			want:  "m: {b: 2}\nl: [7]",
		},
		{
			name:  "a map that is not merged",
			text:  "m: {<<: (( merge none )), a: 1, b: {c: (( stub() || 5 ))}}",
			state: map[string]any{"m": map[string]any{"a": int64(2), "b": map[string]any{"c": int64(3)}}},
			want:  "m: {a: 1, b: {c: 3}}",
		},
		{
			name:  "a merge that is required",
			text:  "m: {<<: (( merge required )), a: 1}",
			state: map[string]any{"m": map[string]any{"a": int64(2), "b": int64(3)}},
			want:  "m: {a: 2, b: 3}",
		},
		{
			name:  "a merge of an item that the state does not have",
			text:  "l: [{name: x, <<: (( merge )), v: 1}]",
			state: map[string]any{"other": int64(1)},
			want:  "l: [{name: x, v: 1}]",
		},
		{
			name:  "a merge of an item that the state has",
			text:  "l: [{name: x, <<: (( merge )), v: 1}]",
			state: map[string]any{"l": []any{map[string]any{"name": "x", "w": int64(2)}}},
			want:  "l: [{name: x, v: 1, w: 2}]",
		},
		{name: "state that is temporary is not kept", text: "a: (( &state &temporary(5) ))\nb: (( a ))", want: "b: 5"},
		{name: "state below the root is not kept", text: "a: {b: (( &state(5) ))}", want: "a: {b: 5}"},
		{
			name:  "a lambda, first",
			text:  "f: (( &state(|x|->x + 1) ))\na: (( .f(1) ))",
			want:  "f: (( lambda|x|->x + 1 ))\na: 2",
			keeps: "f: (( lambda|x|->x + 1 ))",
		},
		{
			name:  "a lambda, then",
			text:  "f: (( &state(|x|->x + 2) ))\na: (( .f(1) ))",
			state: map[string]any{"f": "(( lambda|x|->x + 1 ))"},
			want:  "f: (( lambda|x|->x + 1 ))\na: 2",
			keeps: "f: (( lambda|x|->x + 1 ))",
		},
		{
			name:  "a lambda that is merged, first",
			text:  "f: (( &state(merge || lambda |x|->x + 2) ))\na: (( .f(1) ))",
			want:  "f: (( lambda|x|->x + 2 ))\na: 3",
			keeps: "f: (( lambda|x|->x + 2 ))",
		},
		{
			name:  "a lambda that is merged, then",
			text:  "f: (( &state(merge || lambda |x|->x + 2) ))\na: (( .f(1) ))",
			state: map[string]any{"f": "(( lambda|x|->x + 1 ))"},
			want:  "f: (( lambda|x|->x + 1 ))\na: 2",
			keeps: "f: (( lambda|x|->x + 1 ))",
		},
		{
			name:  "the lambda of the stub",
			text:  "f: (( &state(stub() || lambda |x|->x + 2) ))\na: (( .f(1) ))",
			state: map[string]any{"f": "(( lambda|x|->x + 1 ))"},
			want:  "f: (( lambda|x|->x + 1 ))\na: 2",
			keeps: "f: (( lambda|x|->x + 1 ))",
		},
		{
			name:  "a lambda of another path",
			text:  "a: (( (merge lib.f)(1) ))\nb: (( stub(lib.l)[0](2) ))\nc: (( stub(lib).f(3) ))\nd: (( stub(lib) ))\ne: (( .d.l[0](4) ))",
			state: map[string]any{"lib": map[string]any{"f": "(( lambda|x|->x + 1 ))", "l": []any{"(( lambda|x|->x - 1 ))"}}},
			want:  "a: 2\nb: 1\nc: 4\nd: {f: (( lambda|x|->x + 1 )), l: [(( lambda|x|->x - 1 ))]}\ne: 3",
		},
		{
			name:  "a map of lambdas, first",
			text:  `lib: (( &state({"f" = |x|->x + 2}) ))` + "\na: (( lib.f(1) ))",
			want:  "lib: {f: (( lambda|x|->x + 2 ))}\na: 3",
			keeps: "lib: {f: (( lambda|x|->x + 2 ))}",
		},
		{
			name:  "a map of lambdas, then",
			text:  `lib: (( &state({"f" = |x|->x + 2}) ))` + "\na: (( lib.f(1) ))\nb: (( lib.v ))",
			state: map[string]any{"lib": map[string]any{"f": "(( lambda|x|->x + 1 ))", "v": int64(5)}},
			want:  "lib: {f: (( lambda|x|->x + 1 )), v: 5}\na: 2\nb: 5",
			keeps: "lib: {f: (( lambda|x|->x + 1 )), v: 5}",
		},
		{
			name: "lambdas in lists and maps",
			text: `l: (( &state([1, [|x|->x + 2], {"name" = "g", "m" = {"f" = |x|->x + 3}}]) ))` + "\na: (( .l[1][0](1) ))\nb: (( l.g.m.f(1) ))",
			state: map[string]any{"l": []any{
				int64(1), []any{"(( lambda|x|->x + 4 ))"}, map[string]any{"name": "g", "m": map[string]any{"f": "(( lambda|x|->x + 5 ))"}},
			}},
			want:  "l: [1, [(( lambda|x|->x + 4 ))], {name: g, m: {f: (( lambda|x|->x + 5 ))}}]\na: 5\nb: 6",
			keeps: "l: [1, [(( lambda|x|->x + 4 ))], {name: g, m: {f: (( lambda|x|->x + 5 ))}}]",
		},
		{
			name:  "lambdas of the state in other values",
			text:  "a: {<<: (( merge lib )), v: 1}\nb: (( a.f(1) ))\nc: (( merge(stub(lib), {$v = 7}) ))\nd: (( c.f(2) ))",
			state: map[string]any{"lib": map[string]any{"f": "(( lambda|x|->x + 1 ))"}},
			want:  "a: {f: (( lambda|x|->x + 1 )), v: 1}\nb: 2\nc: {f: (( lambda|x|->x + 1 ))}\nd: 3",
		},
		{
			name:    "a lambda that sees the node that keeps it",
			text:    `lib: (( &state({"f" = |x|->x + _.offset}) ))` + "\noffset: 5\na: (( lib.f(1) ))",
			state:   map[string]any{"lib": map[string]any{"f": "(( lambda|x|->x + _.offset ))"}},
			want:    "lib: {f: (( lambda|x|->x + _.offset ))}\noffset: 5\na: 6",
			keeps:   "lib: {f: (( lambda|x|->x + _.offset ))}",
			differs: "to it, the lambda is defined in the state",
		},
		{
			name:    "a text that looks like an expression",
			text:    "s: (( &state(\"x\") ))\na: (( s ))",
			state:   map[string]any{"s": "(( 1 + 1 ))"},
			want:    "s: (( 1 + 1 ))\na: (( 1 + 1 ))",
			keeps:   "s: (( 1 + 1 ))",
			differs: "it evaluates expressions in the state",
		},
		{
			name:  "a template without expressions",
			text:  "a: 1\nb: {c: 2, d: 3}",
			state: map[string]any{"a": int64(5), "b": map[string]any{"c": int64(6)}, "e": int64(7)},
			want:  "a: 5\nb: {c: 6, d: 3}",
		},
		{name: "no state", text: "a: (( 1 ))", want: "a: 1"},
	} {
		result, err := mustCompile(t, c.text).Evaluate(Input{Bindings: bindings(), State: c.state})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got, want := toJSON(t, result.Value), asJSON(t, c.want); got != want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, want)
		}
		if got, want := toJSON(t, result.State), asJSON(t, c.keeps); got != want {
			t.Errorf("%s: the state\n got %s\nwant %s", c.name, got, want)
		}
		state := c.state
		if state == nil {
			state = map[string]any{}
		}
		theirs, err := original(c.text, state)
		if same := err == nil && theirs == asJSON(t, c.want); same != (c.differs == "") {
			t.Errorf("%s: the original yields\n    %s %v\nwant %s", c.name, theirs, err, asJSON(t, c.want))
		}
		theirs, err = landscaper(c.text, state)
		if same := err == nil && theirs == asJSON(t, c.want); same != (c.differs == "" && !c.floats) {
			t.Errorf("%s: Landscaper yields\n     %s %v\nwant %s", c.name, theirs, err, asJSON(t, c.want))
		}
	}
}

func TestStateAndValueShareNothing(t *testing.T) {
	result, err := mustCompile(t, "a: (( &state(imports.map) ))").Evaluate(Input{Bindings: bindings()})
	if err != nil {
		t.Fatal(err)
	}
	result.Value.(map[string]any)["a"].(map[string]any)["nested"].(map[string]any)["deep"] = "changed"
	if got := toJSON(t, result.State); got != `{"a":{"a":1,"b":2,"nested":{"deep":"value"}}}` {
		t.Errorf("the state has changed: %s", got)
	}
}

func TestFilesOfTheBlueprint(t *testing.T) {
	for text, want := range map[string]string{
		`a: (( read("VERSION") ))`:                                                    `{"a":"1.2.3"}`,
		`a: (( "v" read("./VERSION", "text") ))`:                                      `{"a":"v1.2.3"}`,
		`a: (( read("/VERSION", "binary") ))`:                                         `{"a":"MS4yLjM="}`,
		`a: (( read("config.yaml") ))`:                                                `{"a":{"name":"alice","plain":5}}`,
		`a: (( read("config.yaml").name ))`:                                           `{"a":"alice"}`,
		`a: (( read("config.yaml", "text") ))`:                                        `{"a":"name: (( imports.name ))\nplain: 5\n"}`,
		"x: 1\na: (( *read(\"template.yaml\", \"template\") ))":                       `{"a":{"value":2},"x":1}`,
		"x: 1\na: (( read_uncached(\"template.yaml\") ))":                             `{"a":{"value":2},"x":1}`,
		`a: (( read("nowhere") || "none" ))`:                                          `{"a":"none"}`,
		`a: (( read("nowhere") ))`:                                                    "! function read: there is no such file in the blueprint",
		`a: (( read("../x") ))`:                                                       "! function read: the path leads out of the blueprint or is not valid",
		`a: (( read("/etc/passwd") ))`:                                                "! function read: there is no such file in the blueprint",
		`a: (( read("http://127.0.0.1/x") ))`:                                         "! function read: only files of the blueprint can be read",
		`a: (( read("VERSION", "exec") ))`:                                            "! function read: the mode must be yaml, import, multiyaml, importmulti, template, text or binary",
		`a: (( read("several.yaml", "multiyaml") ))`:                                  `{"a":[{"name":"alice"},{"x":1}]}`,
		`a: (( read("several.yaml", "importmulti") ))`:                                `{"a":[{"name":"(( imports.name ))"},{"x":1}]}`,
		`a: (( [list_files("."), list_dirs("/"), list_files("d"), list_dirs("d")] ))`: `{"a":[["VERSION","broken.yaml","config.yaml","several.yaml","template.yaml","wrong.yaml"],["d"],["a.txt","b.txt"],["e"]]}`,
		`a: (( [lookup_file("a.txt", "d", "."), lookup_file("e", ["d", nil]), lookup_dir("e", ["d"]), lookup_file("/VERSION", ".")] ))`: `{"a":[["d/a.txt"],[],["d/e"],["/VERSION"]]}`,
		`a: (( lookup_file("passwd", "/etc", "../../etc", "..") ))`:                                                                     `{"a":[]}`,
		`a: (( list_files("nowhere") ))`: "! function list_files: there is no such directory in the blueprint",
		`a: (( list_files("..") ))`:      "! function list_files: the path leads out of the blueprint or is not valid",
		`a: (( lookup_file("x", 5) ))`:   "! function lookup_file: argument 2 must be a string or a list of strings, not a value of type int",
		`a: (( read("broken.yaml") ))`:   "! function read: the text is not valid YAML: mapping values are not allowed in this context",
		`a: (( read("wrong.yaml") ))`:    "! function read: the expression cannot be read from here on",
	} {
		if got := evaluate(t, text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestFunctionsOfTheCaller(t *testing.T) {
	functions := map[string]Function{
		"getResource": func(args []any) (any, error) {
			if len(args) != 2 {
				return nil, template.Problemf("it takes two arguments")
			}
			return map[string]any{"name": args[1], "size": 1e6, "from": args[0], "tags": []string{"a"}}, nil
		},
		"leak":    func(args []any) (any, error) { return nil, fmt.Errorf("cannot digest %v", args) },
		"upper":   func([]any) (any, error) { return "own", nil },
		"nothing": func([]any) (any, error) { return nil, nil },
		"channel": func([]any) (any, error) { return make(chan int), nil },
	}
	for text, want := range map[string]string{
		`a: (( getResource({$x=[1]}, "image") ))`:               `{"a":{"from":{"x":[1]},"name":"image","size":1000000,"tags":["a"]}}`,
		`a: (( getResource(1, imports.name).name ))`:            `{"a":"alice"}`,
		`a: (( getResource(1) ))`:                               "! function getResource: it takes two arguments",
		`a: (( getResource(1) || "caught" ))`:                   `{"a":"caught"}`,
		`a: (( leak(imports.name) ))`:                           "! function leak failed",
		`a: (( catch(leak(imports.name)).error ))`:              `{"a":"function leak failed"}`,
		`a: (( upper("a") ))`:                                   `{"a":"own"}`,
		`a: (( nothing() || 1 ))`:                               `{"a":null}`,
		`a: (( channel() ))`:                                    "! function channel: a value of type chan int has no JSON form",
		`a: (( map[imports.list|x|->getResource(1, x).name] ))`: `{"a":["a","b","c"]}`,
	} {
		if got := evaluateWith(t, text, Input{Bindings: bindings(), Functions: functions}); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestTreesWithoutExpressions(t *testing.T) {
	tree := map[string]any{"a": []any{1e6, "x", nil}, "<<!": "kept", "b": map[string]any{"c": true}}
	compiled, err := CompileTree(template.Source{}, tree, Options{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := compiled.Evaluate(Input{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": []any{int64(1000000), "x", nil}, "<<": "kept", "b": map[string]any{"c": true}}
	if diff := cmp.Diff(any(want), result.Value); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	result.Value.(map[string]any)["a"].([]any)[1] = "changed"
	again, err := compiled.Evaluate(Input{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(want), again.Value); diff != "" {
		t.Errorf("the template has changed (-want +got):\n%s", diff)
	}
}

func TestCompileTree(t *testing.T) {
	compiled, err := CompileTree(template.Source{}, map[string]any{"a": "(( imports.million + 1 ))", "b": []any{"(( a ))", 2.0}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := compiled.Evaluate(Input{Bindings: bindings()})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": int64(1000001), "b": []any{int64(1000001), int64(2)}}
	if diff := cmp.Diff(any(want), result.Value); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestBindingsAreNotChanged(t *testing.T) {
	input := bindings()
	text := "a: (( sort(imports.numbers) ))\nb: (( reverse(imports.list) ))\nc: (( imports.list [1] ))\nd: (( imports.map {$a=5} ))\ne: {<<: (( imports.map )), a: 9}\nf: (( merge(imports.map, {$b=7}) ))"
	result, err := mustCompile(t, text).Evaluate(Input{Bindings: input})
	if err != nil {
		t.Fatal(err)
	}
	result.Value.(map[string]any)["d"].(map[string]any)["nested"].(map[string]any)["deep"] = "changed"
	if diff := cmp.Diff(bindings(), input); diff != "" {
		t.Errorf("the bindings have changed (-want +got):\n%s", diff)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	text := "deployItems:\n- name: (( imports.name ))\n  config:\n    size: (( imports.size * 2 ))\n"
	compiled, err := Compile(template.Source{Execution: "test", File: "deploy.yaml", Text: text}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = compiled.Evaluate(Input{Bindings: map[string]any{"imports": map[string]any{"name": canary}}})
	want := `Spiff "test" (file deploy.yaml, line 4, column 11, at deployItems[0].config.size): imports.size is not defined
expression: imports.size
template:
     1 | deployItems:
     2 | - name: (( imports.name ))
     3 |   config:
>    4 |     size: (( imports.size * 2 ))
       |           ^
input (types only):
  imports: map of 1
    name: string`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}

func TestPlacesOfErrors(t *testing.T) {
	for name, c := range map[string]struct {
		text, path, expression string
		line                   int
	}{
		"the innermost expression":       {"a: (( 1 + (2 * (3 / 0)) ))", "a", "3 / 0", 1},
		"a value that another one needs": {"a: (( b ))\nb: (( c.d ))\nc: {d: (( 1 / 0 ))}", "c.d", "1 / 0", 3},
		"an item of a list":              {"a: [1, {b: (( nowhere ))}]", "a[1].b", "nowhere", 1},
		"the body of a lambda":           {"f: (( |x|->x / 0 ))\na: (( .f(1) ))", "a", "x / 0", 1},
		"an instance of a template":      {"t: {<<: (( &template )), v: (( nowhere ))}\na: (( *t ))", "a.v", "nowhere", 1},
		"an insertion":                   {"a: {<<: (( 5 )), b: 1}", "a", "(( 5 ))", 1},
		"a value that needs itself":      {"a: (( b ))\nb: (( a ))", "a", "(( b ))", 1},
		"a syntax error":                 {"a:\n  b: (( [ ))", "a.b", "(( [ ))", 2},
		"a limit":                        {"a: (( [1..1000000000] ))", "a", "[1..1000000000]", 1},
		"a file":                         {"a: (( read(\"config.yaml\").x ))", "a", "read(\"config.yaml\").x", 1},
	} {
		compiled, err := Compile(template.Source{Execution: "test", Text: c.text}, Options{})
		if err == nil {
			_, err = compiled.Evaluate(Input{Bindings: bindings(), Files: files})
		}
		var failed *template.Error
		if !errors.As(err, &failed) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := failed.Place; got.Path != c.path || got.Expression != c.expression || got.Line != c.line {
			t.Errorf("%s: got %d %s %q, want %d %s %q", name, got.Line, got.Path, got.Expression, c.line, c.path, c.expression)
		}
	}
}

func TestEvaluationIsDeterministicAndConcurrent(t *testing.T) {
	var all []string
	for _, c := range languageExamples {
		if c.differs == "" {
			all = append(all, strings.ReplaceAll("e:\n"+c.text, "\n", "\n  "))
		}
	}
	compiled := make([]*Template, len(all))
	want := make([]string, len(all))
	for i, text := range all {
		compiled[i] = mustCompile(t, text)
		want[i] = evaluateCompiled(compiled[i])
	}
	type answer struct {
		index int
		text  string
	}
	answers := make(chan answer)
	for range 4 {
		go func() {
			for i := range compiled {
				answers <- answer{i, evaluateCompiled(compiled[i])}
			}
		}()
	}
	for range 4 * len(compiled) {
		if got := <-answers; got.text != want[got.index] {
			t.Errorf("%s\n first %s\n then %s", all[got.index], want[got.index], got.text)
		}
	}
}

// evaluateCompiled returns the result of a template, or its error.
func evaluateCompiled(compiled *Template) string {
	result, err := compiled.Evaluate(Input{Bindings: bindings(), Files: files})
	if err != nil {
		return err.Error()
	}
	return jsonText(result)
}
