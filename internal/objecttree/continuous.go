// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package objecttree

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/installation"
)

// Continuous reports whether the object currently follows the continuous flow, in which there are no jobs.
func (n *Node) Continuous() bool {
	var flow lsv1alpha1.Flow
	switch object := n.Object.(type) {
	case *lsv1alpha1.Installation:
		flow = installation.FlowOf(object)
	case *lsv1alpha1.Execution:
		flow = execution.FlowOf(object)
	case *lsv1alpha1.DeployItem:
		flow = deployitem.FlowOf(object)
	}
	return flow == lsv1alpha1.FlowContinuous
}

// continuousState returns the state of an object that is processed whenever its status does not refer to its current spec and requests.
func (n *Node) continuousState() State {
	phase, held := n.Status.Phase, n.HeldBack()
	switch {
	case phase == "" && held:
		return NotStarted
	case phase == "" || !phase.IsFinal() || n.behind() && !n.Frozen() && !held, n.DeletionRests():
		return Running
	case phase == lsv1alpha1.PhaseSucceeded:
		return Succeeded
	default:
		return Failed
	}
}

// behind reports whether the status does not refer to the current spec and requests.
func (n *Node) behind() bool {
	undeleted := !n.Object.GetDeletionTimestamp().IsZero() && n.Status.Phase != lsv1alpha1.PhaseFailed
	return undeleted || n.Object.GetGeneration() != n.Status.ObservedGeneration || n.asked()
}

// DeletionFailed reports whether the deletion of the object has failed, in either flow: nothing more happens until a user requests it.
func (n *Node) DeletionFailed() bool {
	switch {
	case n.Object.GetDeletionTimestamp().IsZero():
		return false
	case n.Continuous():
		return n.State() == Failed
	default:
		return n.Status.Phase == lsv1alpha1.PhaseDeleteFailed && n.Status.IsFinished()
	}
}

// DeletionRests reports whether the requested deletion of the object does not start because the annotation freezes the object.
func (n *Node) DeletionRests() bool {
	return n.Frozen() && !n.Object.GetDeletionTimestamp().IsZero() && n.behind()
}

func (n *Node) asked() bool {
	operations := []lsv1alpha1.Operation{lsv1alpha1.OperationReconcile, lsv1alpha1.OperationForceReconcile, lsv1alpha1.OperationAbort}
	return slices.Contains(operations, lsv1alpha1.Operation(n.Object.GetAnnotations()[lsv1alpha1.OperationAnnotation]))
}

// Frozen reports whether the annotation keeps the controllers from processing a completed object of the continuous flow.
func (n *Node) Frozen() bool {
	completed := n.Kind != DeployItem && n.Continuous() && n.Status.Phase.IsCompleted()
	return completed && n.Object.GetAnnotations()[lsv1alpha1.IgnoreAnnotation] == "true"
}
