// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"slices"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
)

var everyPhase = []lsv1alpha1.Phase{
	"", lsv1alpha1.PhaseInit, lsv1alpha1.PhasePendingDependencies, lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseDeleting,
	lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseFailed, lsv1alpha1.PhaseAborted,
}

// expected implements the definition in the requirement literally.
func expected(phases []lsv1alpha1.Phase) lsv1alpha1.Phase {
	has := func(some ...lsv1alpha1.Phase) bool {
		return slices.ContainsFunc(phases, func(p lsv1alpha1.Phase) bool { return slices.Contains(some, p) })
	}
	switch {
	case len(phases) == 0:
		return ""
	case has(lsv1alpha1.PhasePendingDependencies, lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseDeleting):
		return lsv1alpha1.PhaseProgressing
	case has(lsv1alpha1.PhaseAborted):
		return lsv1alpha1.PhaseAborted
	case has(lsv1alpha1.PhaseFailed):
		return lsv1alpha1.PhaseFailed
	case has(lsv1alpha1.PhaseInit, ""):
		return lsv1alpha1.PhaseInit
	default:
		return lsv1alpha1.PhaseSucceeded
	}
}

// combinations calls a function with all lists up to the given length.
func combinations(length int, call func([]lsv1alpha1.Phase)) {
	call(nil)
	lists := [][]lsv1alpha1.Phase{nil}
	for range length {
		var longer [][]lsv1alpha1.Phase
		for _, list := range lists {
			for _, phase := range everyPhase {
				longer = append(longer, append(slices.Clone(list), phase))
			}
		}
		for _, list := range longer {
			call(list)
		}
		lists = longer
	}
}

func TestCON03_CombinedPhaseOfAllLists(t *testing.T) {
	seen := map[lsv1alpha1.Phase]int{}
	combinations(4, func(phases []lsv1alpha1.Phase) {
		got := installation.Combined(phases...)
		if want := expected(phases); got != want {
			t.Fatalf("%q together are %q, want %q", phases, got, want)
		}
		seen[got]++
	})
	if len(seen) != 6 {
		t.Errorf("only these came out: %v", seen)
	}
}

// An object that a job works on is in progress, too.
func TestCON03_PhasesOfJobs(t *testing.T) {
	for phase, want := range map[lsv1alpha1.Phase]lsv1alpha1.Phase{
		lsv1alpha1.PhaseCompleting: lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseInitDelete: lsv1alpha1.PhaseProgressing,
		lsv1alpha1.PhaseDeleteFailed: lsv1alpha1.PhaseFailed,
	} {
		if got := installation.Combined(lsv1alpha1.PhaseSucceeded, phase); got != want {
			t.Errorf("%s counts as %s", phase, got)
		}
	}
}
