// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
)

// AfterRequest waits for what a request leads to, in either flow. It begins with the revision that carries the request: the answer of the
// API server to the write that made it.
func AfterRequest(asked *lsv1alpha1.Installation) Goal {
	if nodeOf(asked).Continuous() {
		return &Settled{asked: asked.DeepCopy(), finished: Finished{Successfully: true}}
	}
	return NewJobOfRequest(asked)
}

// DeletionFailed reports whether the deletion of an installation has failed: nothing more happens until somebody requests it.
func DeletionFailed(object *lsv1alpha1.Installation) bool { return nodeOf(object).DeletionFailed() }

// Settled waits until an installation of the continuous flow has carried out a request, and is at rest.
type Settled struct {
	asked    *lsv1alpha1.Installation
	finished Finished
}

// WaitFlags implements Goal.
func (g *Settled) WaitFlags() []string { return g.finished.WaitFlags() }

// See implements Goal.
func (g *Settled) See(revision *lsv1alpha1.Installation) *End {
	if revision == nil || revision.UID != g.asked.UID {
		if !g.asked.DeletionTimestamp.IsZero() {
			return &End{Code: cli.ExitOK, Verdict: "has been deleted"}
		}
		return &End{Code: cli.ExitNotFound, Verdict: "was deleted during the wait"}
	}
	if DeletionFailed(revision) {
		return undeleted(revision)
	}
	end := g.finished.See(revision)
	// Controllers take a request away after the status tells what it has led to. Until then the status is from before.
	if revision.Annotations[lsv1alpha1.OperationAnnotation] != "" && end != nil && end.Code != cli.ExitNeedsSomebody {
		return nil
	}
	return end
}

// undeleted is the end of a wait for a deletion that has failed in the continuous flow, whose phase does not say so.
func undeleted(revision *lsv1alpha1.Installation) *End {
	return &End{Code: cli.ExitFailed, Verdict: "could not be deleted", Phase: revision.Status.Phase}
}
