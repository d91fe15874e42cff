// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"

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
	var going *told
	if waiting {
		first := next.status.Holds[0]
		going = &told{ReasonDeleting, shorten("waiting before the deletion: environment "+first.Environment+": "+first.Message, maxMessage)}
	}
	next.status.Conditions = conditions(f, condition(pipelines.ConditionPromotionPending, nil),
		condition(pipelines.ConditionStalled, nil), condition(pipelines.ConditionReconciling, going))
	return next
}

// leftOpen returns the promotions of an environment whose pull requests could not be closed.
func leftOpen(e pipelines.EnvironmentStatus) []pipelines.PromotionStatus {
	all := slices.Clone(e.History)
	if e.Promotion != nil {
		all = append([]pipelines.PromotionStatus{*e.Promotion}, all...)
	}
	return slices.DeleteFunc(all, func(p pipelines.PromotionStatus) bool { return p.Error == nil || p.Error.Reason != ReasonLeftOpen })
}
