// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package graph_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"espalier.dev/internal/graph"
)

// checkLaws checks what must be true of every graph.
func checkLaws(t *testing.T, given []graph.Node) {
	t.Helper()
	g, err := graph.New(given)
	if err != nil {
		t.Fatalf("build %v: %v", given, err)
	}
	order, err := g.Order()
	cycle := g.Cycle()
	if (err == nil) != (cycle == nil) {
		t.Fatalf("order says %v, cycle says %q", err, cycle)
	}
	checkCycle(t, g, cycle)
	visited := runAll(t, g, nil)
	if acyclic := len(visited) == len(given); acyclic != (cycle == nil) {
		t.Fatalf("running what is ready visits %d of %d nodes, cycle is %q", len(visited), len(given), cycle)
	}
	if cycle == nil {
		checkOrder(t, given, order, func(node, dependency string) (first, second string) { return dependency, node })
		deletion, err := g.Reverse().Order()
		if err != nil {
			t.Fatalf("there is an order and no deletion order: %v", err)
		}
		checkOrder(t, given, deletion, func(node, dependency string) (first, second string) { return node, dependency })
	}
	for _, node := range given {
		checkClosure(t, g, node.Name)
	}
}

// checkCycle checks that a reported cycle is one: every node depends on the next, and none occurs twice.
func checkCycle(t *testing.T, g *graph.Graph, cycle graph.Cycle) {
	t.Helper()
	for i, name := range cycle {
		next := cycle[(i+1)%len(cycle)]
		if !slices.Contains(g.Dependencies(name), next) {
			t.Fatalf("%q is no cycle: %s does not depend on %s", cycle, name, next)
		}
		if slices.Contains(cycle[i+1:], name) {
			t.Fatalf("%q passes %s twice", cycle, name)
		}
		if name < cycle[0] {
			t.Fatalf("%q does not begin with its first name", cycle)
		}
	}
}

func checkOrder(t *testing.T, given []graph.Node, order []string, sequence func(node, dependency string) (string, string)) {
	t.Helper()
	position := map[string]int{}
	for i, name := range order {
		if _, twice := position[name]; twice {
			t.Fatalf("%s occurs twice in %q", name, order)
		}
		position[name] = i
	}
	if len(order) != len(given) {
		t.Fatalf("the order has %d of %d nodes", len(order), len(given))
	}
	for _, node := range given {
		for _, dependency := range node.DependsOn {
			first, second := sequence(node.Name, dependency)
			if position[first] >= position[second] {
				t.Fatalf("%s comes before %s in %q", second, first, order)
			}
		}
	}
}

// runAll starts ready nodes until there are none, and makes the nodes in failing fail. It checks that no node runs twice or
// before a dependency, and that every node left over is reported as blocked, as soon as it can no longer run.
func runAll(t *testing.T, g *graph.Graph, failing map[string]bool) []string {
	t.Helper()
	p := graph.Progress{Done: map[string]bool{}, Failed: map[string]bool{}}
	var visited []string
	for ready := g.Ready(p); len(ready) > 0; ready = g.Ready(p) {
		blocked := g.Blocked(p)
		for _, name := range ready {
			if p.Done[name] || p.Failed[name] || slices.Contains(blocked, name) {
				t.Fatalf("%s is ready although it ran already or is blocked", name)
			}
			for _, dependency := range g.Dependencies(name) {
				if !p.Done[dependency] {
					t.Fatalf("%s is ready before %s is done", name, dependency)
				}
			}
			visited = append(visited, name)
			if failing[name] {
				p.Failed[name] = true
			} else {
				p.Done[name] = true
			}
		}
		for _, name := range blocked {
			if p.Done[name] || p.Failed[name] {
				t.Fatalf("%s was blocked and ran", name)
			}
		}
	}
	if left := len(g.Names()) - len(visited); left != len(g.Blocked(p)) {
		t.Fatalf("%d nodes never ran, %q are blocked", left, g.Blocked(p))
	}
	return visited
}

// checkClosure compares AllDependants with what repeated steps along Dependants reach, and with AllDependencies.
func checkClosure(t *testing.T, g *graph.Graph, name string) {
	t.Helper()
	reached := map[string]bool{}
	front := g.Dependants(name)
	for len(front) > 0 {
		next := front[0]
		front = front[1:]
		if !reached[next] {
			reached[next] = true
			front = append(front, g.Dependants(next)...)
		}
	}
	all := g.AllDependants(name)
	if len(all) != len(reached) {
		t.Fatalf("all dependants of %s = %q, steps reach %d", name, all, len(reached))
	}
	for _, dependant := range all {
		if !reached[dependant] || !slices.Contains(g.AllDependencies(dependant), name) {
			t.Fatalf("%s is a dependant of %s in one direction only", dependant, name)
		}
	}
	if through := g.CycleThrough(name); (through != nil) != reached[name] {
		t.Fatalf("cycle through %s = %q, but it reaches itself: %t", name, through, reached[name])
	} else if through != nil {
		checkCycle(t, g, through)
		if !slices.Contains(through, name) {
			t.Fatalf("the cycle %q does not pass %s", through, name)
		}
	}
}

// randomNodes generates a graph. Sparse ones are often acyclic, dense ones hardly ever, so ordered ones are generated as
// well.
func randomNodes(random *rand.Rand) []graph.Node {
	count := random.IntN(12)
	ordered := random.IntN(2) == 0
	given := make([]graph.Node, count)
	for i, name := range random.Perm(count) {
		given[i].Name = fmt.Sprintf("n%d", name)
	}
	for i := range given {
		for range random.IntN(3) {
			limit := count
			if ordered {
				limit = i
			}
			if limit > 0 {
				given[i].DependsOn = append(given[i].DependsOn, given[random.IntN(limit)].Name)
			}
		}
	}
	random.Shuffle(count, func(i, j int) { given[i], given[j] = given[j], given[i] })
	return given
}

func TestLawsOfRandomGraphs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	cyclic := 0
	const rounds = 3000
	for range rounds {
		given := randomNodes(random)
		checkLaws(t, given)
		g, err := graph.New(given)
		if err != nil {
			t.Fatal(err)
		}
		if g.Cycle() != nil {
			cyclic++
		}
		failing := map[string]bool{}
		for _, node := range given {
			failing[node.Name] = random.IntN(4) == 0
		}
		runAll(t, g, failing)
	}
	if cyclic < rounds/10 || cyclic > rounds*9/10 {
		t.Fatalf("%d of %d graphs have a cycle: the test does not see both kinds", cyclic, rounds)
	}
}

func TestLawsOfAllSmallGraphs(t *testing.T) {
	const count = 3
	for edges := range 1 << (count * count) {
		given := make([]graph.Node, count)
		for i := range count {
			given[i].Name = string(rune('a' + i))
			for j := range count {
				if edges>>(i*count+j)&1 == 1 {
					given[i].DependsOn = append(given[i].DependsOn, string(rune('a'+j)))
				}
			}
		}
		checkLaws(t, given)
	}
}

// FuzzGraph interprets the bytes as pairs of nodes, the first of which depends on the second.
func FuzzGraph(f *testing.F) {
	f.Add([]byte{}, byte(0))
	f.Add([]byte{0, 1, 1, 2, 2, 0}, byte(1))
	f.Add([]byte{0, 1, 0, 2, 1, 3, 2, 3}, byte(2))
	f.Add([]byte{5, 5}, byte(255))
	f.Fuzz(func(t *testing.T, pairs []byte, failures byte) {
		const count = 8
		given := make([]graph.Node, count)
		failing := map[string]bool{}
		for i := range given {
			given[i].Name = string(rune('a' + i))
			failing[given[i].Name] = failures>>i&1 == 1
		}
		for i := 0; i+1 < len(pairs) && i < 64; i += 2 {
			node := &given[pairs[i]%count]
			node.DependsOn = append(node.DependsOn, given[pairs[i+1]%count].Name)
		}
		checkLaws(t, given)
		g, err := graph.New(given)
		if err != nil {
			t.Fatal(err)
		}
		runAll(t, g, failing)
	})
}

// BenchmarkOrder has as many dependencies as nodes per layer, so that quadratic cost would show between the sizes.
func BenchmarkOrder(b *testing.B) {
	for _, size := range []int{1000, 10000} {
		given := make([]graph.Node, size)
		for i := range given {
			given[i].Name = fmt.Sprintf("n%d", i)
			for back := 1; back <= 5 && back <= i; back++ {
				given[i].DependsOn = append(given[i].DependsOn, given[i-back].Name)
			}
		}
		b.Run(fmt.Sprintf("nodes=%d", size), func(b *testing.B) {
			for b.Loop() {
				g, err := graph.New(given)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := g.Order(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
