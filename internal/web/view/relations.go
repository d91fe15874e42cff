// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"slices"

	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/objecttree"
)

// relations say which installations exchange values. Each scope is evaluated once: a namespace may have ten thousand roots, and finding the
// siblings of each root separately would read all of them each time.
type relations struct {
	forest *objecttree.Forest
	tops   map[scopeKey][]*objecttree.Node
	known  map[scopeKey]*dataflow.Siblings
}

type scopeKey struct{ namespace, parent string }

func newRelations(forest *objecttree.Forest) *relations {
	r := &relations{forest: forest, tops: map[scopeKey][]*objecttree.Node{}, known: map[scopeKey]*dataflow.Siblings{}}
	for _, top := range forest.Tops {
		k := keyOf(top)
		r.tops[k] = append(r.tops[k], top)
	}
	return r
}

func keyOf(node *objecttree.Node) scopeKey {
	return scopeKey{node.Namespace(), objecttree.ParentOf(node.Object)}
}

// scopeOf returns the scope of an installation's imports and exports.
func scopeOf(node *objecttree.Node) dataflow.Scope {
	return dataflow.Scope{Namespace: node.Namespace(), Parent: objecttree.ParentOf(node.Object)}
}

// peers returns the installations of a scope.
func (r *relations) peers(node *objecttree.Node) []*objecttree.Node {
	if node.Above == nil {
		return r.tops[keyOf(node)]
	}
	return installationsBelow(node.Above)
}

func installationsBelow(node *objecttree.Node) []*objecttree.Node {
	return slices.DeleteFunc(slices.Clone(node.Below), func(n *objecttree.Node) bool { return n.Kind != objecttree.Installation })
}

// siblings returns the relations in the scope of an installation; nil if the node is none.
func (r *relations) siblings(node *objecttree.Node) *dataflow.Siblings {
	if node.Kind != objecttree.Installation {
		return nil
	}
	k := keyOf(node)
	if known, ok := r.known[k]; ok {
		return known
	}
	var peers []dataflow.Sibling
	for _, peer := range r.peers(node) {
		if object, ok := peer.Installation(); ok {
			peers = append(peers, dataflow.Sibling{Name: peer.Name(), Imports: object.Spec.Imports, Exports: object.Spec.Exports})
		}
	}
	siblings, err := dataflow.NewSiblings(scopeOf(node), peers)
	if err != nil {
		siblings = nil // The only error is a duplicate name, which a namespace does not permit.
	}
	r.known[k] = siblings
	return siblings
}

func (r *relations) named(namespace string, names []string) []*objecttree.Node {
	var nodes []*objecttree.Node
	for _, name := range names {
		if node := r.forest.Installation(namespace, name); node != nil {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// predecessors returns the installations that one imports from.
func (r *relations) predecessors(node *objecttree.Node) []*objecttree.Node {
	siblings := r.siblings(node)
	if siblings == nil {
		return nil
	}
	return slices.DeleteFunc(r.named(node.Namespace(), siblings.Predecessors(node.Name())), func(n *objecttree.Node) bool { return n == node })
}

// exporter returns the installation of the same scope that exports an object; nil if there is none.
func (r *relations) exporter(node *objecttree.Node, id dataflow.ObjectID) *objecttree.Node {
	siblings := r.siblings(node)
	if siblings == nil {
		return nil
	}
	for _, found := range r.named(node.Namespace(), siblings.Exporters(id)) {
		if found != node {
			return found
		}
	}
	return nil
}

// heldUp returns the installations that are not done and import, directly or not, from one that contains the node.
func (r *relations) heldUp(node *objecttree.Node) []*objecttree.Node {
	var held []*objecttree.Node
	for holder := holderOf(node); holder != nil; holder = holder.Above {
		for _, waiting := range r.dependants(holder) {
			if waiting.State() != objecttree.Succeeded {
				held = append(held, waiting)
			}
		}
	}
	return held
}

// dependants returns the installations that import from one, directly or not, in the order in which they are reached.
func (r *relations) dependants(node *objecttree.Node) []*objecttree.Node {
	siblings := r.siblings(node)
	if siblings == nil {
		return nil
	}
	reached := map[string]bool{node.Name(): true}
	names := []string{node.Name()}
	for i := 0; i < len(names); i++ {
		for _, next := range siblings.Successors(names[i]) {
			if !reached[next] {
				reached[next] = true
				names = append(names, next)
			}
		}
	}
	return r.named(node.Namespace(), names[1:])
}
