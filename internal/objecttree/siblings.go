// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package objecttree

import (
	"slices"

	"espalier.dev/internal/dataflow"
)

// Predecessors returns the siblings that export what an installation imports.
func (n *Node) Predecessors() []*Node {
	return n.related(func(s *dataflow.Siblings) []string { return s.Predecessors(n.Name()) })
}

// Successors returns the siblings that import what an installation exports.
func (n *Node) Successors() []*Node {
	return n.related(func(s *dataflow.Siblings) []string { return s.Successors(n.Name()) })
}

// DependencyError says why an installation can never get its imports or provide its exports, nil if it can. Nested installations are
// checked before they are created.
func (n *Node) DependencyError() error {
	siblings := n.siblings()
	if siblings == nil || ParentOf(n.Object) != "" {
		return nil
	}
	return siblings.Check(n.Name())
}

func (n *Node) related(relation func(*dataflow.Siblings) []string) []*Node {
	siblings := n.siblings()
	if siblings == nil {
		return nil
	}
	names := relation(siblings)
	return slices.DeleteFunc(n.Peers(), func(peer *Node) bool { return peer == n || !slices.Contains(names, peer.Name()) })
}

// siblings relates the installations of the scope; nil if the node is not an installation.
func (n *Node) siblings() *dataflow.Siblings {
	if n.Kind != Installation {
		return nil
	}
	var peers []dataflow.Sibling
	for _, peer := range n.Peers() {
		if installation, ok := peer.Installation(); ok {
			peers = append(peers, dataflow.Sibling{Name: peer.Name(), Imports: installation.Spec.Imports, Exports: installation.Spec.Exports})
		}
	}
	siblings, err := dataflow.NewSiblings(dataflow.Scope{Namespace: n.Namespace(), Parent: ParentOf(n.Object)}, peers)
	if err != nil {
		return nil // The only error is a duplicate name, which a namespace does not allow.
	}
	return siblings
}

// Dependencies returns the deploy items that a deploy item must wait for, according to the spec of its execution.
func (n *Node) Dependencies() []*Node {
	if n.Kind != DeployItem || n.Above == nil {
		return nil
	}
	execution, ok := n.Above.Execution()
	if !ok {
		return nil
	}
	templates, err := execution.Spec.Items()
	if err != nil {
		return nil // The status of the execution says what is wrong with it.
	}
	for _, template := range templates {
		if template.Name == n.As {
			return slices.DeleteFunc(slices.Clone(n.Above.Below), func(peer *Node) bool { return !slices.Contains(template.DependsOn, peer.As) })
		}
	}
	return nil
}
