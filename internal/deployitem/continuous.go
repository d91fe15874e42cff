// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// In the continuous flow there are no jobs: an item is worked on when its status is not up to date, when work on it was
// begun, when an annotation asks for it, and when it is being deleted. The steps of the work are the same in both flows.
// A failed deletion ends in Failed, and a deletion does not wait for the end of other work.

// FlowOf tells which flow an item follows at present: the one that its execution has chosen for it, which does not change
// while somebody works on it, except that a job is always finished as one.
func FlowOf(item *lsv1alpha1.DeployItem) lsv1alpha1.Flow {
	if !item.Status.IsFinished() {
		return lsv1alpha1.FlowJob
	}
	return item.Spec.Flow.OrDefault()
}

// HasWork reports whether there is anything for a deployer to do about an item.
func HasWork(item *lsv1alpha1.DeployItem) bool {
	if FlowOf(item) == lsv1alpha1.FlowJob {
		return !item.Status.IsFinished()
	}
	return due(item) || PickedUp(&item.Status)
}

// due reports whether there is something to do that has not begun. A failed deletion is repeated on request only.
func due(item *lsv1alpha1.DeployItem) bool {
	status := &item.Status
	undeleted := !item.DeletionTimestamp.IsZero() && status.Phase == lsv1alpha1.PhaseSucceeded
	return status.Phase == "" || status.ObservedGeneration != item.Generation || undeleted || operation(item)
}

func operation(item *lsv1alpha1.DeployItem) bool {
	asked := lsv1alpha1.Operation(item.Annotations[lsv1alpha1.OperationAnnotation])
	return asked == lsv1alpha1.OperationReconcile || asked == lsv1alpha1.OperationForceReconcile
}

// lookContinuously adds the facts that only the continuous flow has.
func (o *Observed) lookContinuously(item *lsv1alpha1.DeployItem) {
	if FlowOf(item) != lsv1alpha1.FlowContinuous {
		return
	}
	o.Continuous, o.Unchanged = true, false
	o.Due, o.Operation = due(item), operation(item)
	o.Restart = PickedUp(&item.Status) && item.Status.ObservedGeneration != item.Generation
}

// Running reports whether the item is worked on, or is to be.
func (o Observed) Running() bool {
	if o.Continuous {
		return o.Due || o.Phase != "" && !o.Phase.IsFinal()
	}
	return o.Job.Running()
}

// startsOver reports whether what was begun is overtaken by a new spec or by the deletion.
func (o Observed) startsOver() bool {
	begun := o.Phase != "" && !o.Phase.IsFinal()
	return o.Continuous && begun && (o.Deleting && !o.Phase.IsDeletion() || o.Restart)
}

func startOver(o Observed) Decision {
	if o.Deleting {
		return Decision{Next: lsv1alpha1.PhaseInitDelete, Why: pickedUp(o)}
	}
	return Decision{Next: lsv1alpha1.PhaseInit, Why: pickedUp(o)}
}

// dropOperation answers the annotation once the status tells that the work has begun, so that a crash loses no request.
func dropOperation(o Observed) Decision {
	return Decision{Do: []Effect{DropOperation{}}, SaveFirst: !o.Stored, Why: pickedUp(o)}
}

// endContinuously makes the end one of the present spec. Whatever comes to an end, nothing is left to do about it.
func endContinuously(item *lsv1alpha1.DeployItem, o Observed) Observed {
	status := &item.Status
	status.ObservedGeneration = item.Generation
	if status.TransitionTimes == nil {
		status.TransitionTimes = &lsv1alpha1.TransitionTimes{}
	}
	at := metav1.NewTime(o.Now)
	status.TransitionTimes.FinishedTime = &at
	o.Due = false
	return o
}
