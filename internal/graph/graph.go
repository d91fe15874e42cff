// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package graph

import "slices"

// Node is a named node that may depend on others.
type Node struct {
	Name string
	// DependsOn are the names of the nodes that come before this one. A name may occur twice.
	DependsOn []string
}

// Graph is a set of nodes and their dependencies. The zero value is an empty graph.
type Graph struct {
	names []string
	index map[string]int
	// dependencies and dependants are the same edges, from both ends.
	dependencies [][]int
	dependants   [][]int
}

// New builds a graph. Nodes without a name, duplicate names and dependencies on unknown names are terminal errors; all of
// them are reported at once. A cycle is not an error here.
func New(nodes []Node) (*Graph, error) {
	g := &Graph{index: make(map[string]int, len(nodes))}
	problems := &InvalidError{}
	for position, node := range nodes {
		if node.Name == "" {
			problems.Unnamed = append(problems.Unnamed, position)
			continue
		}
		if _, taken := g.index[node.Name]; taken {
			if !slices.Contains(problems.Duplicates, node.Name) {
				problems.Duplicates = append(problems.Duplicates, node.Name)
			}
			continue
		}
		g.index[node.Name] = len(g.names)
		g.names = append(g.names, node.Name)
	}
	g.dependencies = make([][]int, len(g.names))
	g.dependants = make([][]int, len(g.names))
	for _, node := range nodes {
		problems.Unknown = append(problems.Unknown, g.connect(node)...)
	}
	if err := problems.orNil(); err != nil {
		return nil, err
	}
	return g, nil
}

// connect adds the dependencies of a node and returns those on unknown names.
func (g *Graph) connect(node Node) []Missing {
	from, ok := g.index[node.Name]
	if !ok {
		return nil
	}
	var missing []Missing
	seen := make(map[string]bool, len(node.DependsOn))
	for _, name := range node.DependsOn {
		if seen[name] {
			continue
		}
		seen[name] = true
		to, ok := g.index[name]
		if !ok {
			missing = append(missing, Missing{Node: node.Name, Dependency: name})
			continue
		}
		g.dependencies[from] = append(g.dependencies[from], to)
		g.dependants[to] = append(g.dependants[to], from)
	}
	return missing
}

// Names returns the names of all nodes in the order in which they were given.
func (g *Graph) Names() []string { return slices.Clone(g.names) }

// Has reports whether a node has the name.
func (g *Graph) Has(name string) bool {
	_, ok := g.index[name]
	return ok
}

// Dependencies returns the nodes that the named one depends on directly.
func (g *Graph) Dependencies(name string) []string { return g.neighbours(name, g.dependencies) }

// Dependants returns the nodes that depend on the named one directly.
func (g *Graph) Dependants(name string) []string { return g.neighbours(name, g.dependants) }

func (g *Graph) neighbours(name string, edges [][]int) []string {
	position, ok := g.index[name]
	if !ok {
		return nil
	}
	return g.named(slices.Sorted(slices.Values(edges[position])))
}

// AllDependencies returns the nodes that must come before the named one, directly or indirectly. The node itself is among
// them if it is part of a cycle.
func (g *Graph) AllDependencies(name string) []string { return g.reachable(name, g.dependencies) }

// AllDependants returns the nodes that must come after the named one, directly or indirectly. The node itself is among them
// if it is part of a cycle.
func (g *Graph) AllDependants(name string) []string { return g.reachable(name, g.dependants) }

func (g *Graph) reachable(name string, edges [][]int) []string {
	start, ok := g.index[name]
	if !ok {
		return nil
	}
	reached := make([]bool, len(g.names))
	queue := []int{start}
	for len(queue) > 0 {
		current := queue[0]
		queue = queue[1:]
		for _, next := range edges[current] {
			if !reached[next] {
				reached[next] = true
				queue = append(queue, next)
			}
		}
	}
	return g.where(func(position int) bool { return reached[position] })
}

// Reverse returns the graph with all dependencies reversed. It is the order of deletion: a node is deleted when nothing that
// depends on it is left.
func (g *Graph) Reverse() *Graph {
	return &Graph{names: g.names, index: g.index, dependencies: g.dependants, dependants: g.dependencies}
}

// where returns the names of the nodes that meet a condition.
func (g *Graph) where(condition func(position int) bool) []string {
	var result []string
	for position, name := range g.names {
		if condition(position) {
			result = append(result, name)
		}
	}
	return result
}

func (g *Graph) named(positions []int) []string {
	result := make([]string, 0, len(positions))
	for _, position := range positions {
		result = append(result, g.names[position])
	}
	return result
}
