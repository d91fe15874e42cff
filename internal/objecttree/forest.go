// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package objecttree

import (
	"cmp"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
)

// Node is an object at its place in a tree.
type Node struct {
	Kind   Kind
	Object client.Object
	Status *lsv1alpha1.RunStatus
	// As is the name that the object above gives to this one; empty for roots and executions.
	As string
	// Above is nil for a root, and for an object whose parent does not exist.
	Above *Node
	// Below are in the order in which the object above names them: nested installations, then the execution.
	Below []*Node
	// roots are the tops of the forest, for a node that is one of them.
	roots []*Node
	// live is what somebody has found in the target cluster of a deploy item, nil if nobody has looked.
	live *Deployed
}

// Name is the object's.
func (n *Node) Name() string { return n.Object.GetName() }

// Namespace is the object's.
func (n *Node) Namespace() string { return n.Object.GetNamespace() }

// Title names the object for people, and in a form that kubectl understands.
func (n *Node) Title() string { return string(n.Kind) + "/" + n.Name() }

// Top is the root of the tree, or the highest object of it that exists.
func (n *Node) Top() *Node {
	top := n
	for top.Above != nil {
		top = top.Above
	}
	return top
}

// Walk visits the node and everything below it, from above.
func (n *Node) Walk(visit func(node *Node)) {
	visit(n)
	for _, below := range n.Below {
		below.Walk(visit)
	}
}

// Installation returns the object if it is one.
func (n *Node) Installation() (*lsv1alpha1.Installation, bool) {
	installation, ok := n.Object.(*lsv1alpha1.Installation)
	return installation, ok
}

// Execution returns the object if it is one.
func (n *Node) Execution() (*lsv1alpha1.Execution, bool) {
	execution, ok := n.Object.(*lsv1alpha1.Execution)
	return execution, ok
}

// DeployItem returns the object if it is one.
func (n *Node) DeployItem() (*lsv1alpha1.DeployItem, bool) {
	item, ok := n.Object.(*lsv1alpha1.DeployItem)
	return item, ok
}

// ParentOf returns the name of the installation that a nested one belongs to, and nothing for a root.
func ParentOf(object client.Object) string { return installation.ParentOf(object) }

// Forest is all trees of installations.
type Forest struct {
	// Tops are the roots and those nested installations whose parent does not exist, ordered by namespace and name.
	Tops  []*Node
	nodes map[key]*Node
}

// Installation finds one by name; nil if there is none.
func (f *Forest) Installation(namespace, name string) *Node {
	return f.nodes[key{Installation, namespace, name}]
}

// Forest puts the objects together.
func (o *Objects) Forest() *Forest {
	f := &Forest{nodes: map[key]*Node{}}
	for k, object := range o.byKey {
		f.nodes[k] = &Node{Kind: k.kind, Object: object, Status: statusOf(object), As: nameInParent(object)}
	}
	for _, k := range slices.SortedFunc(maps.Keys(f.nodes), key.compare) {
		f.nodes[k].moveBelow(f.nodes[f.above(f.nodes[k])])
	}
	for _, node := range f.nodes {
		slices.SortFunc(node.Below, orderBelow(node))
		if node.Above == nil && node.Kind == Installation {
			f.Tops = append(f.Tops, node)
		}
	}
	slices.SortFunc(f.Tops, func(a, b *Node) int {
		return cmp.Or(cmp.Compare(a.Namespace(), b.Namespace()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, top := range f.Tops {
		top.roots = f.Tops
	}
	return f
}

// moveBelow gives a node its place, unless that closes a circle: anybody can write labels.
func (n *Node) moveBelow(above *Node) {
	for ancestor := above; ancestor != nil; ancestor = ancestor.Above {
		if ancestor == n {
			return
		}
	}
	if above != nil {
		n.Above = above
		above.Below = append(above.Below, n)
	}
}

// above finds the object that a node belongs to, by the same labels and references as controllers of this API use.
func (f *Forest) above(n *Node) key {
	switch n.Kind {
	case Installation:
		return key{Installation, n.Namespace(), ParentOf(n.Object)}
	case DeployItem:
		return key{Execution, n.Namespace(), n.Object.GetLabels()[lsv1alpha1.ExecutionManagedByLabel]}
	}
	for _, owner := range n.Object.GetOwnerReferences() {
		if owner.Kind == string(Installation) {
			return key{Installation, n.Namespace(), owner.Name}
		}
	}
	named := key{Installation, n.Namespace(), n.Name()}
	if above := f.nodes[named]; above != nil && refersTo(above, n.Name()) {
		return named
	}
	return key{}
}

func refersTo(n *Node, execution string) bool {
	installation, ok := n.Installation()
	return ok && installation.Status.ExecutionReference != nil && installation.Status.ExecutionReference.Name == execution
}

func statusOf(object client.Object) *lsv1alpha1.RunStatus {
	switch typed := object.(type) {
	case *lsv1alpha1.Installation:
		return &typed.Status.RunStatus
	case *lsv1alpha1.Execution:
		return &typed.Status.RunStatus
	case *lsv1alpha1.DeployItem:
		return &typed.Status.RunStatus
	default:
		return &lsv1alpha1.RunStatus{}
	}
}

func nameInParent(object client.Object) string {
	switch object.(type) {
	case *lsv1alpha1.Installation:
		return object.GetAnnotations()[lsv1alpha1.SubinstallationNameAnnotation]
	case *lsv1alpha1.DeployItem:
		return object.GetLabels()[lsv1alpha1.ExecutionManagedNameLabel]
	default:
		return ""
	}
}

// orderBelow sorts what is below a node as the node itself names it, and what it does not name by name.
func orderBelow(n *Node) func(a, b *Node) int {
	position := map[string]int{}
	for i, name := range namesBelow(n) {
		position[name] = i + 1
	}
	place := func(b *Node) int {
		if b.Kind == Execution {
			return 1 << 30
		}
		return cmp.Or(position[b.As], 1<<29)
	}
	return func(a, b *Node) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Name(), b.Name())) }
}

func namesBelow(n *Node) []string {
	var names []string
	if installation, ok := n.Installation(); ok && installation.Status.SubInstCache != nil {
		for _, pair := range installation.Status.SubInstCache.ActiveSubs {
			names = append(names, pair.SpecName)
		}
	}
	if execution, ok := n.Execution(); ok {
		items, err := execution.Spec.Items()
		if err != nil {
			return nil // A list that cannot be read has no order; the execution's own status says what is wrong.
		}
		for _, item := range items {
			names = append(names, item.Name)
		}
	}
	return names
}

// Peers are the installations of the same scope, this one included: those that are nested in the same one, or all
// roots of the namespace. Of an object that is no installation there are none.
func (n *Node) Peers() []*Node {
	candidates := n.roots
	if n.Above != nil {
		candidates = n.Above.Below
	}
	var peers []*Node
	for _, candidate := range candidates {
		if candidate.Kind == Installation && n.Kind == Installation && candidate.Namespace() == n.Namespace() &&
			ParentOf(candidate.Object) == ParentOf(n.Object) {
			peers = append(peers, candidate)
		}
	}
	return peers
}

// Find finds an object of any kind by name; nil if there is none.
func (f *Forest) Find(kind Kind, namespace, name string) *Node {
	return f.nodes[key{kind, namespace, name}]
}
