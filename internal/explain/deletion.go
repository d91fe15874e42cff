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
	if top.Object.GetDeletionTimestamp().IsZero() || link.Reason == lsv1alpha1.ReasonWaitingForSuccessors {
		return Advice{}, false
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
