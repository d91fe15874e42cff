// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

func TestARunEndsInTheFlowItBeganWith(t *testing.T) {
	for _, chosen := range []lsv1alpha1.Flow{"", lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous} {
		for _, phase := range []lsv1alpha1.Phase{"", lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseAborted} {
			for _, finished := range []string{"", "job"} {
				status := &lsv1alpha1.RunStatus{Phase: phase, JobID: "job", JobIDFinished: finished}
				want := chosen.OrDefault()
				switch {
				case finished == "":
					want = lsv1alpha1.FlowJob
				case phase == lsv1alpha1.PhaseProgressing:
					want = lsv1alpha1.FlowContinuous
				}
				if got := run.FlowOf(chosen, status); got != want {
					t.Errorf("chosen %q, phase %q, finished %q: %s", chosen, phase, finished, got)
				}
			}
		}
	}
}
