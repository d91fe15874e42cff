// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// retire computes the status of a pipeline that is being deleted: what it still waits for, and which pull requests stay open. Its earlier
// holds no longer apply.
func retire(f facts) outcome {
	l, requests := answer(f, takeIn(f, openLedger(f)))
	waits := withdrawals(l, nil)
	waiting := len(waits) > 0
	for _, r := range l.records {
		for _, p := range leftOpen(r.EnvironmentStatus) {
			waits = append(waits, held{r.name, p.Revision, gate{reason: pipelines.HoldLeftOpen, message: p.Error.Message}})
		}
	}
	next := outcome{facts: f, ledger: l, status: f.Status}
	next.status.ObservedGeneration, next.status.Environments, next.status.Requests = f.Generation, l.environments(), requests
	next.status.Holds = holds(f, waits)
	if f.RequestedAt != "" {
		next.status.LastHandledReconcileAt = f.RequestedAt
	}
	ready, going := ending(next.status.Holds, waiting)
	next.status.Conditions = conditions(f, ready, condition(pipelines.ConditionPromotionPending, nil),
		condition(pipelines.ConditionStalled, nil), condition(pipelines.ConditionReconciling, going))
	return next
}

// ending returns the condition Ready of a pipeline that is being deleted, and what is under way if the deletion waits for something.
func ending(holds []pipelines.Hold, waiting bool) (ready metav1.Condition, going *told) {
	state := &told{ReasonDeleting, "being deleted"}
	if len(holds) > 0 {
		state.message = toldOf(holds[0]).message
	}
	if waiting {
		state.message = shorten("waiting before the deletion: "+state.message, maxMessage)
		going = state
	}
	ready = condition(pipelines.ConditionReady, state)
	ready.Status = metav1.ConditionFalse
	return ready, going
}

// leftOpen returns the promotions of an environment whose pull requests could not be closed.
func leftOpen(e pipelines.EnvironmentStatus) []pipelines.PromotionStatus {
	all := slices.Clone(e.History)
	if e.Promotion != nil {
		all = append([]pipelines.PromotionStatus{*e.Promotion}, all...)
	}
	return slices.DeleteFunc(all, func(p pipelines.PromotionStatus) bool { return p.Error == nil || p.Error.Reason != ReasonLeftOpen })
}
