// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomGraph draws which components refer to which.
func randomGraph(r *rand.Rand) map[string][]string {
	graph := map[string][]string{}
	size := 1 + r.IntN(8)
	for i := range size {
		name := fmt.Sprintf("c%d", i)
		graph[name] = nil
		for j := range size {
			// Forward references are more likely than backward ones, so that graphs with and without circles are drawn.
			if r.IntN(3) == 0 && (j > i || r.IntN(12) == 0) {
				graph[name] = append(graph[name], fmt.Sprintf("c%d", j))
			}
		}
	}
	return graph
}

// reachable returns the components that a walk from a component reaches, and whether the walk can return to its start.
func reachable(graph map[string][]string, from string) (met map[string]bool, circular bool) {
	met = map[string]bool{}
	var walk func(name string, way []string)
	walk = func(name string, way []string) {
		if slices.Contains(way, name) {
			circular = true
			return
		}
		met[name] = true
		for _, next := range graph[name] {
			walk(next, append(slices.Clone(way), name))
		}
	}
	walk(from, nil)
	return met, circular
}

// A closure consists of exactly the reachable components, each after one that refers to it; or its error names an actual circle.
func TestClosureOfRandomGraphs(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	circles := 0
	for range 400 {
		graph := randomGraph(r)
		var known []*Descriptor
		for name, targets := range graph {
			known = append(known, named(t, name, targets...))
		}
		want, circular := reachable(graph, "c0")
		set, err := collect(ClosureOptions{Root: at(t, "", "c0", "1.0.0")}, known...)
		if circular {
			circles++
			wantError(t, err, "in a cycle: ")
			checkCircle(t, graph, err.Error())
			continue
		}
		if err != nil {
			t.Fatalf("%v: %v", graph, err)
		}
		checkOrder(t, graph, names(set), want)
	}
	if circles < 40 || circles > 360 {
		t.Errorf("%d of 400 graphs have circles: the draw is lopsided", circles)
	}
}

func checkOrder(t *testing.T, graph map[string][]string, got []string, want map[string]bool) {
	t.Helper()
	if sorted := slices.Sorted(slices.Values(got)); !slices.Equal(sorted, slices.Sorted(maps.Keys(want))) {
		t.Fatalf("%v: got %v, want %v", graph, got, want)
	}
	for i, name := range got[1:] {
		before := got[:i+1]
		if !slices.ContainsFunc(before, func(parent string) bool { return slices.Contains(graph[parent], name) }) {
			t.Fatalf("%v: in %v nothing before %s refers to it", graph, got, name)
		}
	}
}

// checkCircle follows the circle in an error.
func checkCircle(t *testing.T, graph map[string][]string, text string) {
	t.Helper()
	_, circle, _ := strings.Cut(text, "cycle: ")
	steps := strings.Split(circle, " -> ")
	at, _, _ := strings.Cut(steps[0], ":")
	start := at
	for _, step := range steps[1:] {
		next, _, _ := strings.Cut(step, " ")
		if !slices.Contains(graph[at], next) {
			t.Fatalf("%v: %s has no reference to %s, but the error says %s", graph, at, next, text)
		}
		at = next
	}
	if at != start || len(steps) < 2 {
		t.Fatalf("the circle is not closed: %s", text)
	}
}

// The identity of each random resource selects that resource and no other.
func TestIdentitiesOfRandomResources(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 400 {
		text := "meta: {schemaVersion: v2}\ncomponent: {name: c, version: '1', resources: ["
		for range 1 + r.IntN(6) {
			text += fmt.Sprintf("{name: %s, access: {type: x}", pick(r, "a", "b"))
			text += pick(r, "", ", version: '1'", ", version: '2'")
			text += pick(r, "", "", ", extraIdentity: {os: x}", ", extraIdentity: {os: y}", ", extraIdentity: {version: '1'}") + "},"
		}
		d, err := Parse([]byte(text+"]}"), DefaultLimits)
		if err != nil {
			wantError(t, err, "has the same name, version and extra identity")
			continue
		}
		for i := range d.Resources {
			if got, err := d.Resource(d.IdentityOf(&d.Resources[i])); err != nil || got != &d.Resources[i] {
				t.Fatalf("%s\n%v leads to %v, %v", text, d.IdentityOf(&d.Resources[i]), got, err)
			}
		}
	}
}

func pick(r *rand.Rand, texts ...string) string { return texts[r.IntN(len(texts))] }
