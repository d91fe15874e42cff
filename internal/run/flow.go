// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run

import lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"

// FlowOf returns the flow that an object currently follows: the one that its current run started with, and between runs the one that its
// spec names. An unfinished job is a run of the job flow; an intermediate phase without a job is one of the continuous flow. So a change
// of spec.flow has no effect before the run has ended.
func FlowOf(chosen lsv1alpha1.Flow, status *lsv1alpha1.RunStatus) lsv1alpha1.Flow {
	switch {
	case !status.IsFinished():
		return lsv1alpha1.FlowJob
	case status.Phase != "" && !status.Phase.IsFinal():
		return lsv1alpha1.FlowContinuous
	default:
		return chosen.OrDefault()
	}
}
