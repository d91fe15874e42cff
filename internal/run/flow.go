// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run

import lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"

// FlowOf tells which flow an object follows at present: the one that its current run began with, and between runs the one
// that its spec names. An unfinished job is a run of the job flow; a phase on the way without a job is one of the
// continuous flow. So a change of spec.flow has no effect before the run has come to its end.
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
