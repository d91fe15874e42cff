// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "slices"

// Order returns all nodes, each after everything that it depends on, or a terminal CycleError.
func (g *Graph) Order() ([]string, error) {
	order := g.sort(nil)
	if len(order) < len(g.names) {
		return nil, g.Cycle().Err()
	}
	return g.named(order), nil
}

// sort returns the nodes that can be ordered: those that are neither on a cycle nor depend on one, and are neither excluded
// nor depend on an excluded node. The order respects the dependencies.
func (g *Graph) sort(excluded func(position int) bool) []int {
	open := make([]int, len(g.names))
	var order []int
	for position := range g.names {
		open[position] = len(g.dependencies[position])
		if excluded != nil && excluded(position) {
			open[position] = -1
		}
		if open[position] == 0 {
			order = append(order, position)
		}
	}
	for next := 0; next < len(order); next++ {
		for _, dependant := range g.dependants[order[next]] {
			open[dependant]--
			if open[dependant] == 0 {
				order = append(order, dependant)
			}
		}
	}
	return order
}

// Cycle is a list of nodes, each of which depends on the next, and the last on the first. Nil means that there is none.
type Cycle []string

// Cycle returns one of the cycles of the graph, starting with its alphabetically first node.
func (g *Graph) Cycle() Cycle {
	ordered := make([]bool, len(g.names))
	for _, position := range g.sort(nil) {
		ordered[position] = true
	}
	start := slices.Index(ordered, false)
	if start < 0 {
		return nil
	}
	// A node without an order depends on another node without one. So the walk never ends, and a node met twice lies on a
	// cycle.
	met := make(map[int]int)
	var walk []int
	for current := start; ; {
		if first, again := met[current]; again {
			return g.cycleOf(walk[first:])
		}
		met[current] = len(walk)
		walk = append(walk, current)
		unordered := func(dependency int) bool { return !ordered[dependency] }
		current = g.dependencies[current][slices.IndexFunc(g.dependencies[current], unordered)]
	}
}

// CycleThrough returns a shortest cycle that the named node is part of.
func (g *Graph) CycleThrough(name string) Cycle {
	start, ok := g.index[name]
	if !ok {
		return nil
	}
	// cameFrom leads from a node back to start along dependants.
	cameFrom := make(map[int]int)
	queue := []int{start}
	for len(queue) > 0 {
		current := queue[0]
		queue = queue[1:]
		for _, dependency := range g.dependencies[current] {
			if dependency == start {
				return g.cycleOf(walkBack(cameFrom, start, current))
			}
			if _, reached := cameFrom[dependency]; !reached {
				cameFrom[dependency] = current
				queue = append(queue, dependency)
			}
		}
	}
	return nil
}

func walkBack(cameFrom map[int]int, start, last int) []int {
	path := []int{last}
	for path[len(path)-1] != start {
		path = append(path, cameFrom[path[len(path)-1]])
	}
	slices.Reverse(path)
	return path
}

// cycleOf names the nodes of a cycle and rotates it so that the alphabetically first name comes first.
func (g *Graph) cycleOf(positions []int) Cycle {
	names := g.named(positions)
	first := slices.Index(names, slices.Min(names))
	return slices.Concat(names[first:], names[:first])
}
