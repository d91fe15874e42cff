// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package graph

// Progress is the state of the nodes. A node in none of the sets has not been started. Unknown names are ignored. For a node
// in several sets, Done takes precedence, then Failed.
type Progress struct {
	Done    map[string]bool
	Failed  map[string]bool
	Running map[string]bool
}

func (p Progress) started(name string) bool { return p.Done[name] || p.Failed[name] || p.Running[name] }

// Ready returns the nodes that can be started now: not started, and with all dependencies done.
func (g *Graph) Ready(p Progress) []string {
	return g.where(func(position int) bool {
		if p.started(g.names[position]) {
			return false
		}
		for _, dependency := range g.dependencies[position] {
			if !p.Done[g.names[dependency]] {
				return false
			}
		}
		return true
	})
}

// Blocked returns the nodes that are not started and never will be, because something that they depend on, directly or
// indirectly, failed or is part of a cycle.
//
// Invariant: a node is done, failed, running, ready, blocked, or waits for one that is running or ready.
func (g *Graph) Blocked(p Progress) []string {
	possible := make([]bool, len(g.names))
	for _, position := range g.sortRemaining(p) {
		possible[position] = true
	}
	return g.where(func(position int) bool {
		return !possible[position] && !p.started(g.names[position])
	})
}

// sortRemaining returns the nodes that can still become done if nothing else fails.
func (g *Graph) sortRemaining(p Progress) []int {
	remaining := &Graph{names: g.names, index: g.index, dependencies: make([][]int, len(g.names)), dependants: g.dependants}
	for position, name := range g.names {
		if !p.started(name) {
			remaining.dependencies[position] = g.dependencies[position]
		}
	}
	return remaining.sort(func(position int) bool {
		name := g.names[position]
		return p.Failed[name] && !p.Done[name]
	})
}
