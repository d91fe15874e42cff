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
	// As is the name that the object above uses for this one; empty for roots and executions.
	As string
	// Above is nil for a root, and for an object whose parent does not exist.
	Above *Node
	// Below are in the order of the object above: nested installations, then the execution.
	Below []*Node
	// roots are the tops of the forest, for a node that is one of them.
	roots []*Node
	// live is what was found in the target cluster of a deploy item, nil if it was not read.
	live *Deployed
}

// Name returns the name of the object.
func (n *Node) Name() string { return n.Object.GetName() }

// Namespace returns the namespace of the object.
func (n *Node) Namespace() string { return n.Object.GetNamespace() }

// Title names the object for users, in a form that kubectl understands.
func (n *Node) Title() string { return string(n.Kind) + "/" + n.Name() }

// Top returns the root of the tree, or its highest object that exists.
func (n *Node) Top() *Node {
	top := n
	for top.Above != nil {
		top = top.Above
	}
	return top
}

// Walk visits the node and everything below it, from the top.
func (n *Node) Walk(visit func(node *Node)) {
	visit(n)
	for _, below := range n.Below {
		below.Walk(visit)
	}
}

// Installation returns the object if it is an installation.
func (n *Node) Installation() (*lsv1alpha1.Installation, bool) {
	installation, ok := n.Object.(*lsv1alpha1.Installation)
	return installation, ok
}

// Execution returns the object if it is an execution.
func (n *Node) Execution() (*lsv1alpha1.Execution, bool) {
	execution, ok := n.Object.(*lsv1alpha1.Execution)
	return execution, ok
}

// DeployItem returns the object if it is a deploy item.
func (n *Node) DeployItem() (*lsv1alpha1.DeployItem, bool) {
	item, ok := n.Object.(*lsv1alpha1.DeployItem)
	return item, ok
}

// ParentOf returns the name of the installation that a nested one belongs to; empty for a root.
func ParentOf(object client.Object) string { return installation.ParentOf(object) }

// Forest contains all trees of installations.
type Forest struct {
	// Tops are the roots and those nested installations whose parent does not exist, ordered by namespace and name.
	Tops  []*Node
	nodes map[key]*Node
}

// Installation finds an installation by name; nil if there is none.
func (f *Forest) Installation(namespace, name string) *Node {
	return f.nodes[key{Installation, namespace, name}]
}

// Forest assembles the objects.
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

// moveBelow puts a node in its place, unless that closes a cycle: anybody can write labels.
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

// above finds the object that a node belongs to, by the same labels and references as the controllers of this API.
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

// orderBelow sorts what is below a node in the order of the node, and the rest by name.
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
			return nil // An unreadable list has no order; the execution's own status says what is wrong.
		}
		for _, item := range items {
			names = append(names, item.Name)
		}
	}
	return names
}

// Peers returns the installations of the same scope, including this one: those that are nested in the same one, or all roots of the
// namespace. For other objects it returns none.
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
