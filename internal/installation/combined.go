// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"

// Combined returns the combined phase of several objects; empty if there are none. An object without a phase has not started. Phases that
// only jobs have count as Progressing while the job runs.
func Combined(phases ...lsv1alpha1.Phase) lsv1alpha1.Phase {
	var combined lsv1alpha1.Phase
	for _, phase := range phases {
		if one := simple(phase); rank[one] > rank[combined] {
			combined = one
		}
	}
	return combined
}

// rank orders phases: the highest one prevails.
var rank = map[lsv1alpha1.Phase]int{
	lsv1alpha1.PhaseSucceeded:   1,
	lsv1alpha1.PhaseInit:        2,
	lsv1alpha1.PhaseFailed:      3,
	lsv1alpha1.PhaseAborted:     4,
	lsv1alpha1.PhaseProgressing: 5,
}

func simple(phase lsv1alpha1.Phase) lsv1alpha1.Phase {
	switch phase {
	case lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseFailed, lsv1alpha1.PhaseAborted, lsv1alpha1.PhaseInit:
		return phase
	case "":
		return lsv1alpha1.PhaseInit
	case lsv1alpha1.PhaseDeleteFailed:
		return lsv1alpha1.PhaseFailed
	default:
		return lsv1alpha1.PhaseProgressing
	}
}
