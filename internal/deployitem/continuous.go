// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// In the continuous flow there are no jobs: an item is processed when its status is not up to date, when work on it has started, when an
// annotation requests it, and when it is being deleted. The steps of the work are the same in both flows. A failed deletion ends in
// Failed, and a deletion does not wait for other work to finish.

// FlowOf returns the flow that an item currently follows: the one that its execution has chosen for it, which does not change while a
// deployer works on it, except that a job is always finished in the job flow.
func FlowOf(item *lsv1alpha1.DeployItem) lsv1alpha1.Flow {
	if !item.Status.IsFinished() {
		return lsv1alpha1.FlowJob
	}
	return item.Spec.Flow.OrDefault()
}

// HasWork reports whether a deployer must work on an item.
func HasWork(item *lsv1alpha1.DeployItem) bool {
	if FlowOf(item) == lsv1alpha1.FlowJob {
		return !item.Status.IsFinished()
	}
	return due(item) || PickedUp(&item.Status)
}

// due reports whether there is work that has not started. A failed deletion is retried on request only.
func due(item *lsv1alpha1.DeployItem) bool {
	status := &item.Status
	undeleted := !item.DeletionTimestamp.IsZero() && status.Phase == lsv1alpha1.PhaseSucceeded
	return status.Phase == "" || status.ObservedGeneration != item.Generation || undeleted || operation(item)
}

func operation(item *lsv1alpha1.DeployItem) bool {
	asked := lsv1alpha1.Operation(item.Annotations[lsv1alpha1.OperationAnnotation])
	return asked == lsv1alpha1.OperationReconcile || asked == lsv1alpha1.OperationForceReconcile
}

// readContinuousFlow adds the facts that only the continuous flow has.
func (o *Observed) readContinuousFlow(item *lsv1alpha1.DeployItem) {
	if FlowOf(item) != lsv1alpha1.FlowContinuous {
		return
	}
	o.Continuous, o.Unchanged = true, false
	o.Due, o.Operation = due(item), operation(item)
	o.Restart = PickedUp(&item.Status) && item.Status.ObservedGeneration != item.Generation
}

// Running reports whether work on the item is in progress or due.
func (o Observed) Running() bool {
	if o.Continuous {
		return o.Due || o.Phase != "" && !o.Phase.IsFinal()
	}
	return o.Job.Running()
}

// startsOver reports whether a new spec or the deletion overtakes work in progress.
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

// dropOperation removes the annotation once the status shows that the work has started, so that a crash loses no request.
func dropOperation(o Observed) Decision {
	return Decision{Do: []Effect{DropOperation{}}, SaveFirst: !o.Stored, Why: pickedUp(o)}
}

// endContinuously makes the end of the work refer to the current spec. Whatever the result, no work remains.
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
