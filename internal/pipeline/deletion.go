// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// holdDeletion says what a pipeline that is being deleted waits for, and which pull requests stay. Nothing of what it waited for before is
// true any more.
func (d *draft) holdDeletion() {
	before := d.status().Holds
	d.status().ObservedGeneration, d.status().Holds = d.o.Generation, nil
	d.holdWithdrawals()
	waiting := len(d.status().Holds) > 0
	for _, name := range d.recorded() {
		for _, p := range leftOpen(d.environment(name)) {
			d.addHold(name, p.Revision, gate{reason: pipelines.HoldLeftOpen, message: p.Error.Message})
		}
	}
	d.keepSince(before)
	d.set(pipelines.ConditionPromotionPending, nil)
	d.set(pipelines.ConditionStalled, nil)
	if waiting {
		first := d.status().Holds[0]
		d.set(pipelines.ConditionReconciling, &told{ReasonDeleting, shorten("before the pipeline goes: environment "+first.Environment+": "+first.Message, maxMessage)})
		return
	}
	d.set(pipelines.ConditionReconciling, nil)
}

// leftOpen are the promotions of an environment whose pull requests could not be closed.
func leftOpen(e pipelines.EnvironmentStatus) []pipelines.PromotionStatus {
	all := slices.Clone(e.History)
	if e.Promotion != nil {
		all = append([]pipelines.PromotionStatus{*e.Promotion}, all...)
	}
	return slices.DeleteFunc(all, func(p pipelines.PromotionStatus) bool { return p.Error == nil || p.Error.Reason != ReasonLeftOpen })
}
