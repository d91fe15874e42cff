// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package cause finds out why an object of a tree is not done: it follows the chain from what waits to what is waited
// for, down to the object that holds up the others. It is pure.
//
// At each object a Judge is asked, who asks the function by which the controller decides. What no such function can
// know, such as what a deployer waits for in a target, stands in the status of the object.
package cause

import (
	"cmp"
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli/inventory"
)

// Judge says what the controller of an object would say if it looked at it now. The second result is false if the
// judge has nothing to add to what the status says.
type Judge interface {
	Judge(node *inventory.Node) (inventory.Explanation, bool)
}

// Link is one object on the way to a cause.
type Link struct {
	Node *inventory.Node
	inventory.Explanation
}

// Chain leads from the object in question to one that holds it up. The last link is the cause.
type Chain []Link

// Cause is the last link.
func (c Chain) Cause() Link { return c[len(c)-1] }

// maxChains is how many causes are worth looking for.
const maxChains = 50

// Find returns the chains from an object to whatever holds it up, the most telling first. It returns none if the
// object has succeeded and there is nothing to say about it.
func Find(node *inventory.Node, judge Judge) []Chain {
	f := finder{judge: judge, visited: map[*inventory.Node]bool{}}
	f.explore(node, nil)
	return f.found
}

type finder struct {
	judge   Judge
	visited map[*inventory.Node]bool
	found   []Chain
}

// explore goes on from a node, unless another way led there already: the cause behind it is known.
func (f *finder) explore(node *inventory.Node, way Chain) {
	if f.visited[node] || len(f.found) >= maxChains {
		return
	}
	f.visited[node] = true
	link := Link{Node: node, Explanation: f.explain(node)}
	if node.State() == inventory.Succeeded && link.Reason == "" {
		return
	}
	way = append(slices.Clone(way), link)
	before := len(f.found)
	blockers := f.blockers(link)
	for _, blocker := range blockers {
		f.explore(blocker, way)
	}
	if len(f.found) == before && !f.explainedBy(blockers) {
		f.found = append(f.found, way)
	}
}

// explainedBy tells whether one of the blockers was reached on another way.
func (f *finder) explainedBy(blockers []*inventory.Node) bool {
	return slices.ContainsFunc(blockers, func(blocker *inventory.Node) bool {
		return slices.ContainsFunc(f.found, func(chain Chain) bool {
			return slices.ContainsFunc(chain, func(link Link) bool { return link.Node == blocker })
		})
	})
}

func (f *finder) explain(node *inventory.Node) inventory.Explanation {
	said := node.Explain()
	if f.judge == nil || node.State() != inventory.Running && !(node.State() == inventory.Failed && node.Continuous()) {
		return said
	}
	if judged, ok := f.judge.Judge(node); ok {
		if judged.Since.IsZero() {
			judged.Since = said.Since
		}
		return judged
	}
	return said
}

// blockers returns the objects that a node cannot do without, the most telling first.
func (f *finder) blockers(link Link) []*inventory.Node {
	node := link.Node
	switch node.State() {
	case inventory.Failed:
		if predecessors := withState(node.Predecessors(), inventory.Failed); link.Reason == ReasonPredecessorFailed && len(predecessors) > 0 {
			return predecessors
		}
		if node.Continuous() {
			return withState(node.Below, inventory.Failed)
		}
		return withState(ofJob(node.Below, node.Status.JobID), inventory.Failed)
	case inventory.Running:
		return f.blockersOfRunning(link)
	case inventory.Pending:
		return pendingFor(node)
	default:
		return nil
	}
}

func (f *finder) blockersOfRunning(link Link) []*inventory.Node {
	switch link.Reason {
	case lsv1alpha1.ReasonWaitingForPredecessors:
		return notDone(link.Node.Predecessors())
	case lsv1alpha1.ReasonWaitingForSuccessors:
		return withDeletion(link.Node.Successors())
	}
	below := notDone(link.Node.Below)
	slices.SortStableFunc(below, func(a, b *inventory.Node) int { return cmp.Compare(f.rank(a), f.rank(b)) })
	return below
}

// rank puts first what is likely to be a cause, and last what waits for others.
func (f *finder) rank(node *inventory.Node) int {
	switch {
	case node.State() == inventory.Failed:
		return 0
	case node.State() != inventory.Running:
		return 3
	case f.explain(node).Reason == lsv1alpha1.ReasonWaitingForPredecessors:
		return 2
	default:
		return 1
	}
}

// pendingFor returns what the job has to pass before it comes to a node: the deploy items that this one depends on, or
// the object above.
func pendingFor(node *inventory.Node) []*inventory.Node {
	if needed := notDone(node.Dependencies()); len(needed) > 0 {
		return needed
	}
	if node.Above == nil {
		return nil
	}
	return []*inventory.Node{node.Above}
}

func notDone(nodes []*inventory.Node) []*inventory.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *inventory.Node) bool { return n.State() == inventory.Succeeded })
}

func withState(nodes []*inventory.Node, state inventory.State) []*inventory.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *inventory.Node) bool { return n.State() != state })
}

func withDeletion(nodes []*inventory.Node) []*inventory.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *inventory.Node) bool { return n.Object.GetDeletionTimestamp().IsZero() })
}

func ofJob(nodes []*inventory.Node, job string) []*inventory.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *inventory.Node) bool { return n.Status.JobID != job })
}
