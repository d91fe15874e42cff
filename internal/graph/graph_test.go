// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/graph"
)

// nodes parses a graph from lines of the form "name: dependency dependency".
func nodes(text string) []graph.Node {
	var result []graph.Node
	for line := range strings.Lines(text) {
		name, dependencies, _ := strings.Cut(strings.TrimSpace(line), ":")
		if name != "" || dependencies != "" {
			result = append(result, graph.Node{Name: name, DependsOn: strings.Fields(dependencies)})
		}
	}
	return result
}

func build(t *testing.T, text string) *graph.Graph {
	t.Helper()
	g, err := graph.New(nodes(text))
	if err != nil {
		t.Fatalf("build: %v", err)
	}
	return g
}

const diamond = `
	top: left right
	left: bottom
	right: bottom
	bottom:
	alone:`

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s = %q, want %q", what, got, want)
	}
}

func words(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Fields(text)
}

func TestInvalidGraphs(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"an unknown dependency":  {"a: b", `"a" depends on "b", which does not exist`},
		"the same one twice":     {"a: b b", `"a" depends on "b", which does not exist`},
		"a duplicate":            {"a:\nb:\na:", `"a" occurs more than once`},
		"three of a kind":        {"a:\na:\na:", `"a" occurs more than once`},
		"a node without a name":  {"a:\n: a", `entry 2 has no name`},
		"everything at once":     {"a: x\nb: y z\nb:\n: q", `entry 4 has no name; "b" occurs more than once; "a" depends on "x", which does not exist; "b" depends on "y", which does not exist; "b" depends on "z", which does not exist`},
		"a dependency on nobody": {"a: b\nb: c", `"b" depends on "c", which does not exist`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := graph.New(nodes(c.text))
			if err == nil || err.Error() != c.want {
				t.Fatalf("error = %v, want %q", err, c.want)
			}
			if failure.KindOf(err) != failure.Terminal {
				t.Error("a retry cannot mend an invalid graph, yet the error is not terminal")
			}
			if got := failure.DetailsOf(err); got.Reason != "InvalidDependencies" ||
				!slices.Equal(got.Codes, []string{"ERR_CONFIGURATION_PROBLEM"}) {
				t.Errorf("details = %+v", got)
			}
			var invalid *graph.InvalidError
			if !errors.As(err, &invalid) {
				t.Error("the error does not contain an InvalidError")
			}
		})
	}
}

func TestOrderKeepsTheGivenOrderWhereItCan(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":                  {"", ""},
		"independent":            {"b:\na:\nc:", "b a c"},
		"against the given one":  {"a: b\nb: c\nc:", "c b a"},
		"diamond":                {diamond, "bottom alone left right top"},
		"a dependency twice":     {"a: b b\nb:", "b a"},
		"two trees side by side": {"a1:\nb1:\na2: a1\nb2: b1", "a1 b1 a2 b2"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := build(t, c.text).Order()
			if err != nil {
				t.Fatal(err)
			}
			expect(t, "order", got, words(c.want))
		})
	}
}

func TestCycles(t *testing.T) {
	for name, c := range map[string]struct{ text, want, message string }{
		"itself":                   {"a: a", "a", "a depends on itself"},
		"two":                      {"b: a\na: b", "a b", "dependency cycle: a -> b -> a (each depends on the next)"},
		"three, named in order":    {"c: b\nb: a\na: c", "a c b", "dependency cycle: a -> c -> b -> a (each depends on the next)"},
		"behind and before it":     {"user: a\na: b\nb: a base\nbase:", "a b", "dependency cycle: a -> b -> a (each depends on the next)"},
		"a shortcut is not named":  {"a: b c\nb: c\nc: a", "a b c", "dependency cycle: a -> b -> c -> a (each depends on the next)"},
		"one of two independent":   {"x: y\ny: x\na: b\nb: a", "x y", "dependency cycle: x -> y -> x (each depends on the next)"},
		"a self loop beside a way": {"a: b\nb: b", "b", "b depends on itself"},
	} {
		t.Run(name, func(t *testing.T) {
			g := build(t, c.text)
			expect(t, "cycle", g.Cycle(), words(c.want))
			_, err := g.Order()
			if err == nil || err.Error() != c.message {
				t.Errorf("error = %v, want %q", err, c.message)
			}
			var cycle *graph.CycleError
			if !errors.As(err, &cycle) || !slices.Equal(cycle.Cycle, words(c.want)) {
				t.Errorf("error carries %v", cycle)
			}
			if failure.KindOf(err) != failure.Terminal || !slices.Equal(failure.DetailsOf(err).Codes, []string{"ERR_CYCLIC_DEPENDENCIES"}) {
				t.Errorf("kind %v, details %+v", failure.KindOf(err), failure.DetailsOf(err))
			}
		})
	}
}

func TestNoCycleIsNoError(t *testing.T) {
	g := build(t, diamond)
	if cycle := g.Cycle(); cycle != nil {
		t.Errorf("cycle = %q in a graph without one", cycle)
	}
	if err := g.Cycle().Err(); err != nil {
		t.Errorf("error = %v", err)
	}
}

func TestCycleThroughANode(t *testing.T) {
	g := build(t, "a: b\nb: c d\nc: a\nd: b\nuser: a\nbase:\nself: self")
	for name, want := range map[string]string{
		"a": "a b c", "c": "a b c", "b": "b d", "d": "b d", "self": "self", "user": "", "base": "", "nobody": "",
	} {
		expect(t, "cycle through "+name, g.CycleThrough(name), words(want))
	}
}

func TestNeighbours(t *testing.T) {
	g := build(t, diamond)
	for _, c := range []struct {
		what string
		got  []string
		want string
	}{
		{"names", g.Names(), "top left right bottom alone"},
		{"dependencies of top", g.Dependencies("top"), "left right"},
		{"all dependencies of top", g.AllDependencies("top"), "left right bottom"},
		{"dependants of bottom", g.Dependants("bottom"), "left right"},
		{"all dependants of bottom", g.AllDependants("bottom"), "top left right"},
		{"dependants of nobody", g.Dependants("nobody"), ""},
		{"all dependants of nobody", g.AllDependants("nobody"), ""},
		{"all dependants of alone", g.AllDependants("alone"), ""},
		{"all dependants within a cycle", build(t, "a: b\nb: a").AllDependants("a"), "a b"},
	} {
		expect(t, c.what, c.got, words(c.want))
	}
	if !g.Has("top") || g.Has("nobody") {
		t.Error("Has is wrong about top or nobody")
	}
}

func TestNamesAreNotShared(t *testing.T) {
	g := build(t, "a:\nb:")
	g.Names()[0] = "changed"
	expect(t, "names", g.Names(), []string{"a", "b"})
}

func set(text string) map[string]bool {
	result := map[string]bool{}
	for _, name := range strings.Fields(text) {
		result[name] = true
	}
	return result
}

func TestReadyAndBlocked(t *testing.T) {
	for name, c := range map[string]struct {
		text                  string
		done, failed, running string
		ready, blocked        string
	}{
		"at the beginning":                       {text: diamond, ready: "bottom alone"},
		"running ones are not ready":             {text: diamond, running: "bottom", ready: "alone"},
		"after the first":                        {text: diamond, done: "bottom", ready: "left right alone"},
		"one of two dependencies":                {text: diamond, done: "bottom left", ready: "right alone"},
		"both dependencies":                      {text: diamond, done: "bottom left right", ready: "top alone"},
		"at the end":                             {text: diamond, done: "bottom left right top alone"},
		"a failure blocks what depends on it":    {text: diamond, done: "bottom", failed: "left", ready: "right alone", blocked: "top"},
		"a failure at the root":                  {text: diamond, failed: "bottom", ready: "alone", blocked: "top left right"},
		"what runs is not blocked":               {text: diamond, failed: "bottom", running: "left", ready: "alone", blocked: "top right"},
		"a finished one needs no dependencies":   {text: diamond, done: "left", failed: "bottom", ready: "alone", blocked: "top right"},
		"done counts before failed":              {text: diamond, done: "bottom", failed: "bottom", ready: "left right alone"},
		"names that are not there do not matter": {text: "a:", done: "x", failed: "y", running: "z", ready: "a"},
		"a cycle blocks itself and its users":    {text: "a: b\nb: a\nuser: a\nfree:", ready: "free", blocked: "a b user"},
		"a cycle that somebody cut":              {text: "a: b\nb: a", done: "b", ready: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			g := build(t, c.text)
			p := graph.Progress{Done: set(c.done), Failed: set(c.failed), Running: set(c.running)}
			expect(t, "ready", g.Ready(p), words(c.ready))
			expect(t, "blocked", g.Blocked(p), words(c.blocked))
		})
	}
}

func TestDeletionRunsTheOtherWay(t *testing.T) {
	g := build(t, diamond)
	order, err := g.Reverse().Order()
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "deletion order", order, words("top alone left right bottom"))
	expect(t, "first to delete", g.Reverse().Ready(graph.Progress{}), words("top alone"))
	expect(t, "next to delete", g.Reverse().Ready(graph.Progress{Done: set("top left")}), words("right alone"))
	expect(t, "twice reversed", g.Reverse().Reverse().Dependencies("top"), words("left right"))
}

func TestTheZeroGraphIsEmpty(t *testing.T) {
	var g graph.Graph
	order, err := g.Order()
	if err != nil || len(order) != 0 || g.Has("a") {
		t.Errorf("the zero graph is not empty: order %q, error %v, has a node: %t", order, err, g.Has("a"))
	}
	if cycle, ready := g.Cycle(), g.Ready(graph.Progress{}); cycle != nil || ready != nil {
		t.Errorf("the zero graph is not empty: cycle %q, ready %q", cycle, ready)
	}
}
