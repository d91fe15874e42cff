// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/objecttree"
)

// adviceForDeletion is for a tree with a pending deletion: every deletion finishes, or there is a command that finishes it. It returns
// false for other trees, and where a successor blocks the deletion.
func adviceForDeletion(link Link) (Advice, bool) {
	top := link.Node.Top()
	if link.Node.DeletionRests() {
		return adviceForFrozen(link.Node), true
	}
	if top.Object.GetDeletionTimestamp().IsZero() || link.Reason == lsv1alpha1.ReasonWaitingForSuccessors {
		return Advice{}, false
	}
	if frozen := frozenIn(link.Node); frozen != nil {
		return adviceForFrozen(frozen), true
	}
	root := top.Name()
	giveUp := []string{"delete", root, "--without-uninstall", "--wait"}
	advice := Advice{Kubectl: [][]string{describe(link.Node)}}
	switch {
	case top.State() == objecttree.Failed:
		advice.Somebody = true
		advice.Hint = "the requested deletion has failed: fix the problem above and delete again, or delete without uninstalling"
		advice.Ours = [][]string{{"delete", root, "--wait"}, giveUp}
	case !top.Status.Phase.IsDeletion() && !top.Continuous():
		advice.Hint = "the requested deletion is pending: it starts when the running job has ended; interrupt the job, or delete without uninstalling"
		advice.Ours = [][]string{{"interrupt", root}, giveUp}
	default:
		advice.Somebody = adviceForRunning(link, root).Somebody
		advice.Hint = "the requested deletion is pending: it continues when this is fixed; or delete without uninstalling"
		advice.Ours = [][]string{{"wait", root, "--for", "deleted"}, giveUp}
	}
	return advice, true
}

// frozenIn returns a frozen object at or below a node of a tree that is being deleted, nil if there is none: the deletion cannot pass it.
func frozenIn(node *objecttree.Node) (frozen *objecttree.Node) {
	node.Walk(func(below *objecttree.Node) {
		if frozen == nil && below.Frozen() {
			frozen = below
		}
	})
	return frozen
}

// adviceForFrozen is for a deletion that does not start, or cannot continue, because an object is frozen. Only force unfreezes objects,
// and it leaves what was deployed.
func adviceForFrozen(frozen *objecttree.Node) Advice {
	advice := Advice{
		Somebody: true,
		Hint:     "remove the annotation from " + frozen.Title() + ", so that the deletion continues",
		Kubectl:  [][]string{{"annotate", resources[frozen.Kind], frozen.Name(), lsv1alpha1.IgnoreAnnotation + "-"}},
	}
	if top := frozen.Top(); !top.Object.GetDeletionTimestamp().IsZero() {
		advice.Hint += "; or delete with --force, which also leaves behind what was deployed"
		advice.Ours = [][]string{{"delete", top.Name(), "--force"}}
	}
	return advice
}
