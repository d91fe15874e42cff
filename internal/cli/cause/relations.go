// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli/inventory"
	"espalier.dev/internal/dataflow"
)

// predecessors returns the siblings that export what an installation imports.
func predecessors(node *inventory.Node) []*inventory.Node {
	return related(node, (*dataflow.Siblings).Predecessors)
}

// successors returns the siblings that import what an installation exports.
func successors(node *inventory.Node) []*inventory.Node {
	return related(node, (*dataflow.Siblings).Successors)
}

func related(node *inventory.Node, relation func(*dataflow.Siblings, string) []string) []*inventory.Node {
	var siblings []dataflow.Sibling
	for _, peer := range node.Peers() {
		if installation, ok := peer.Installation(); ok {
			siblings = append(siblings, dataflow.Sibling{Name: peer.Name(), Imports: installation.Spec.Imports, Exports: installation.Spec.Exports})
		}
	}
	scope := dataflow.Scope{Namespace: node.Namespace(), Parent: inventory.ParentOf(node.Object)}
	known, err := dataflow.NewSiblings(scope, siblings)
	if err != nil {
		return nil // Names are unique in a namespace, so there is no error to tell.
	}
	names := relation(known, node.Name())
	return slices.DeleteFunc(node.Peers(), func(peer *inventory.Node) bool { return !slices.Contains(names, peer.Name()) })
}

// dependencies returns the deploy items that one depends on according to the spec of its execution.
func dependencies(item *lsv1alpha1.DeployItem, above *inventory.Node) []*inventory.Node {
	execution, ok := above.Execution()
	if !ok {
		return nil
	}
	templates, err := execution.Spec.Items()
	if err != nil {
		return nil // The status of the execution says what is wrong with it.
	}
	own := item.Labels[lsv1alpha1.ExecutionManagedNameLabel]
	i := slices.IndexFunc(templates, func(t lsv1alpha1.DeployItemTemplate) bool { return t.Name == own })
	if i < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(above.Below), func(peer *inventory.Node) bool {
		return !slices.Contains(templates[i].DependsOn, peer.As)
	})
}
