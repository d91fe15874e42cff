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

// Continuous reports whether the object follows the continuous flow at present, in which there are no jobs.
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

// continuousState is the state of an object that is worked on whenever its status does not speak of what is wanted of it.
func (n *Node) continuousState() State {
	phase := n.Status.Phase
	undeleted := !n.Object.GetDeletionTimestamp().IsZero() && phase != lsv1alpha1.PhaseFailed
	behind := undeleted || n.Object.GetGeneration() != n.Status.ObservedGeneration || n.asked()
	switch {
	case phase == "" || !phase.IsFinal() || behind && !n.frozen():
		return Running
	case phase == lsv1alpha1.PhaseSucceeded:
		return Succeeded
	default:
		return Failed
	}
}

func (n *Node) asked() bool {
	operations := []lsv1alpha1.Operation{lsv1alpha1.OperationReconcile, lsv1alpha1.OperationForceReconcile, lsv1alpha1.OperationAbort}
	return slices.Contains(operations, lsv1alpha1.Operation(n.Object.GetAnnotations()[lsv1alpha1.OperationAnnotation]))
}

// frozen reports whether the annotation keeps the controllers from an object that has come to an end.
func (n *Node) frozen() bool {
	return n.Kind != DeployItem && n.Status.Phase.IsCompleted() && n.Object.GetAnnotations()[lsv1alpha1.IgnoreAnnotation] == "true"
}
