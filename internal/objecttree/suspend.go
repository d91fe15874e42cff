// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package objecttree

import (
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
)

// Suspension returns what the annotations of an installation say about new runs; for other objects there is none.
func (n *Node) Suspension() installation.Suspension {
	if n.Kind != Installation {
		return installation.Suspension{}
	}
	return installation.SuspensionOf(n.Object)
}

// HeldBack reports whether the object rests because it is suspended: nothing new starts there until a user resumes it.
func (n *Node) HeldBack() bool {
	if !n.Suspension().On {
		return false
	}
	object, ok := n.Installation()
	return ok && (n.stopsEarly() || installation.NewObserved(installation.Snapshot{Installation: object}).HeldBack())
}

// stopsEarly reports whether an update is in progress that cannot end before a user resumes the installation.
func (n *Node) stopsEarly() bool {
	return n.Continuous() && !n.Status.Phase.IsFinal() && n.Object.GetDeletionTimestamp().IsZero() &&
		run.ReadyReason(n.Status) == run.ReasonSuspended && n.Status.Phase != ""
}

// AwaitsResumption reports whether there is work that does not start because the object is suspended.
func (n *Node) AwaitsResumption() bool {
	switch {
	case !n.HeldBack():
		return false
	case n.stopsEarly():
		return true
	case n.Continuous():
		return n.Object.GetGeneration() != n.Status.ObservedGeneration || n.asked()
	default:
		return n.State() == Requested
	}
}

// suspended says that the object is suspended, and what waits for its resumption. It also reports that the last run has failed.
func (n *Node) suspended() Explanation {
	e := Explanation{Reason: run.ReasonSuspended, Message: "it is " + n.Suspension().String()}
	switch state := n.State(); {
	case state == Failed:
		failed := n.problem()
		failed.Message += "; " + e.Message
		return failed
	case n.stopsEarly():
		return n.problem()
	case state == Requested || n.Continuous() && n.asked():
		e.Message += "; the requested job starts on resume"
	case state == NotStarted:
		e.Message += "; it has never run"
	case n.Object.GetGeneration() != n.Status.ObservedGeneration:
		e.Message += "; the spec has changed since the last run"
	}
	if c := condition(n.Status, lsv1alpha1.ConditionSuspended); c != nil {
		e.Since = c.LastTransitionTime.Time
	}
	return e
}

func condition(status *lsv1alpha1.RunStatus, kind lsv1alpha1.ConditionType) *lsv1alpha1.Condition {
	for i := range status.Conditions {
		if status.Conditions[i].Type == kind {
			return &status.Conditions[i]
		}
	}
	return nil
}
