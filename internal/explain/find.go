// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package explain finds out why an object of a tree is not done: it follows the chain from what waits to what it waits for, down to the
// object that holds up the others. It is pure.
//
// For each object, it calls the decision function of the object's controller. What no such function can know, such as what a deployer waits
// for in a target, is in the status of the object.
package explain

import (
	"cmp"
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/objecttree"
)

// Link is one object on the way to a cause.
type Link struct {
	Node *objecttree.Node
	objecttree.Explanation
}

// Chain leads from the object in question to one that holds it up. The last link is the cause.
type Chain []Link

// Cause returns the last link.
func (c Chain) Cause() Link { return c[len(c)-1] }

// maxChains is the maximum number of causes to search for.
const maxChains = 50

// Find returns the chains from an object to the causes that hold it up, the most informative first. It returns none if the object has
// succeeded and there is nothing to report. Without controllers, it explains from the statuses alone.
func Find(node *objecttree.Node, controllers *Controllers) []Chain {
	f := finder{controllers: controllers, visited: map[*objecttree.Node]bool{}}
	f.explore(node, nil)
	return f.found
}

type finder struct {
	controllers *Controllers
	visited     map[*objecttree.Node]bool
	found       []Chain
}

// explore continues from a node, unless another path led there before: its cause is known then.
func (f *finder) explore(node *objecttree.Node, way Chain) {
	if f.visited[node] || len(f.found) >= maxChains {
		return
	}
	f.visited[node] = true
	link := Link{Node: node, Explanation: f.explain(node)}
	if node.State() == objecttree.Succeeded && link.Reason == "" {
		f.exploreLosses(node)
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

// exploreLosses finds problems below a node although everything there has succeeded: releases that others have taken over, and objects that
// a user has deleted.
func (f *finder) exploreLosses(node *objecttree.Node) {
	node.Walk(func(below *objecttree.Node) {
		lost := below.Explain().Reason == objecttree.ReleaseTakenOver || below.DeletionAwaitsJob()
		if below != node && below.State() == objecttree.Succeeded && lost {
			f.explore(below, nil)
		}
	})
}

// explainedBy reports whether one of the blockers was reached on another path.
func (f *finder) explainedBy(blockers []*objecttree.Node) bool {
	return slices.ContainsFunc(blockers, func(blocker *objecttree.Node) bool {
		return slices.ContainsFunc(f.found, func(chain Chain) bool {
			return slices.ContainsFunc(chain, func(link Link) bool { return link.Node == blocker })
		})
	})
}

func (f *finder) explain(node *objecttree.Node) objecttree.Explanation {
	said := node.Explain()
	decides := node.State() == objecttree.Running || node.State() == objecttree.Failed && node.Continuous()
	if f.controllers == nil || !decides && !f.controllers.ends(node) {
		return said
	}
	if decided, ok := f.controllers.explain(node); ok {
		if decided.Since.IsZero() {
			decided.Since = said.Since
		}
		return decided
	}
	return said
}

// blockers returns the objects that a node waits for, the most informative first.
func (f *finder) blockers(link Link) []*objecttree.Node {
	node := link.Node
	switch node.State() {
	case objecttree.Failed:
		if predecessors := withState(node.Predecessors(), objecttree.Failed); link.Reason == ReasonPredecessorFailed && len(predecessors) > 0 {
			return predecessors
		}
		if node.Continuous() {
			return withState(node.Below, objecttree.Failed)
		}
		return withState(ofJob(node.Below, node.Status.JobID), objecttree.Failed)
	case objecttree.Running:
		return f.blockersOfRunning(link)
	case objecttree.Pending:
		return pendingFor(node)
	case objecttree.NotStarted:
		return notDone(node.Dependencies())
	default:
		return nil
	}
}

func (f *finder) blockersOfRunning(link Link) []*objecttree.Node {
	switch link.Reason {
	case lsv1alpha1.ReasonWaitingForPredecessors:
		return notDone(link.Node.Predecessors())
	case lsv1alpha1.ReasonWaitingForSuccessors:
		return withDeletion(link.Node.Successors())
	case lsv1alpha1.ReasonWaitingForJobs:
		return underWay(link.Node.Peers())
	}
	if begins(link.Node.Status.Phase) {
		return nil // What is below belongs to an earlier job, and does not know of this one.
	}
	below := notDone(link.Node.Below)
	slices.SortStableFunc(below, func(a, b *objecttree.Node) int { return cmp.Compare(f.rank(a), f.rank(b)) })
	return below
}

// begins reports whether an object in a phase has not yet written what is below it.
func begins(phase lsv1alpha1.Phase) bool {
	return phase == lsv1alpha1.PhaseInit || phase == lsv1alpha1.PhasePendingDependencies
}

// rank sorts likely causes first, and objects that wait for others last.
func (f *finder) rank(node *objecttree.Node) int {
	switch {
	case node.State() == objecttree.Failed:
		return 0
	case node.State() != objecttree.Running:
		return 3
	case f.explain(node).Reason == lsv1alpha1.ReasonWaitingForPredecessors:
		return 2
	default:
		return 1
	}
}

// pendingFor returns what the job must pass before it reaches a node: the deploy items that this one depends on, or the object above.
func pendingFor(node *objecttree.Node) []*objecttree.Node {
	if needed := notDone(node.Dependencies()); len(needed) > 0 {
		return needed
	}
	if node.Above == nil {
		return nil
	}
	return []*objecttree.Node{node.Above}
}

func notDone(nodes []*objecttree.Node) []*objecttree.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *objecttree.Node) bool { return n.State() == objecttree.Succeeded })
}

func withState(nodes []*objecttree.Node, state objecttree.State) []*objecttree.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *objecttree.Node) bool { return n.State() != state })
}

func withDeletion(nodes []*objecttree.Node) []*objecttree.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *objecttree.Node) bool { return n.Object.GetDeletionTimestamp().IsZero() })
}

func ofJob(nodes []*objecttree.Node, job string) []*objecttree.Node {
	return slices.DeleteFunc(slices.Clone(nodes), func(n *objecttree.Node) bool { return n.Status.JobID != job })
}
