// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/objecttree"
)

// AfterResume waits for the run of a root that its suspension holds back. It begins with the revision before the resumption, and is nil if
// that shows nothing that is held back. In the continuous flow, a changed import is not seen.
func AfterResume(suspended *lsv1alpha1.Installation, now time.Time) Goal {
	node := nodeOf(suspended)
	switch {
	case !suspended.DeletionTimestamp.IsZero(), !node.Suspension().On:
		return nil
	case asksForRun(suspended), node.AwaitsResumption(), node.Continuous() && suspended.Generation != suspended.Status.ObservedGeneration:
		return AfterRequest(suspended)
	case !node.Continuous() && node.HeldBack() && startsByItself(suspended, now):
		goal := NewJobOfRequest(suspended)
		goal.byItself = true
		return goal
	}
	return nil
}

// asksForRun reports whether a request is pending, perhaps behind a run that has started before the suspension.
func asksForRun(suspended *lsv1alpha1.Installation) bool {
	return objecttree.RequestOf(nodeOf(suspended)).Asked
}

// startsByItself reports whether a job is due without a request: on schedule, or because the spec has changed.
func startsByItself(suspended *lsv1alpha1.Installation, now time.Time) bool {
	o := installation.NewObserved(installation.Snapshot{Installation: suspended, Now: now})
	due := o.Automatic.Due
	return o.IfChanged && o.Changed || !due.IsZero() && !due.After(now)
}

// Nothing is a wait that is over before it begins.
type Nothing struct {
	// Verdict says why.
	Verdict string
}

// WaitFlags implements Goal.
func (Nothing) WaitFlags() []string { return []string{"--for=finished"} }

// See implements Goal.
func (g Nothing) See(*lsv1alpha1.Installation) *End {
	return &End{Code: cli.ExitOK, Verdict: g.Verdict}
}
