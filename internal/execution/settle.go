// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// Settle writes the result of a decision to the status of an execution, and returns the facts afterwards. In a namespace that is being
// deleted it writes nothing, because nothing reads it any more.
func Settle(e *lsv1alpha1.Execution, o Observed, d Decision, err error) Observed {
	switch {
	case o.NamespaceEnds:
		return o
	case o.Continuous:
		return settleContinuously(e, o, d, err)
	default:
		return settleJob(e, o, d, err)
	}
}

// at returns the facts, updated from a status.
func (o Observed) at(status *lsv1alpha1.RunStatus) Observed {
	o.Phase, o.Job = status.Phase, run.JobOf(status)
	if status.PhaseTransitionTime != nil {
		o.PhaseSince = status.PhaseTransitionTime.Time
	}
	return o
}

// record returns what the status records of the objects.
func (o Observed) record() *lsv1alpha1.DeployItemCache {
	cache := &lsv1alpha1.DeployItemCache{}
	for _, item := range o.Wanted {
		if item.Object.Name != "" {
			cache.ActiveDIs = append(cache.ActiveDIs, lsv1alpha1.NamePair{SpecName: item.Name, ObjectName: item.Object.Name})
		}
	}
	for _, item := range o.Orphaned {
		cache.OrphanedDIs = append(cache.OrphanedDIs, item.Object.Name)
	}
	return cache
}
