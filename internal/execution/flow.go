// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"strconv"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// FlowOf returns the flow that an execution currently follows. An execution that the continuous flow has processed stays in it until its
// deploy items have changed their flow too.
func FlowOf(e *lsv1alpha1.Execution) lsv1alpha1.Flow {
	if e.Status.IsFinished() && len(e.Status.DeployItemGenerations) > 0 {
		return lsv1alpha1.FlowContinuous
	}
	return run.FlowOf(e.Spec.Flow, &e.Status.RunStatus)
}

// onlyFlowChanged reports whether the current spec has a new generation, but differs only in its flow from the one that the status refers
// to.
func onlyFlowChanged(e *lsv1alpha1.Execution) bool {
	status := &e.Status
	return e.DeletionTimestamp.IsZero() && e.Generation != status.ObservedGeneration && status.ObservedSpec != "" &&
		status.ObservedSpec == specMark(e, status.ObservedGeneration)
}

func specMark(e *lsv1alpha1.Execution, generation int64) string {
	spec := e.Spec
	spec.Flow = ""
	return run.SpecMark(e.UID, generation, spec)
}

// observeSpec makes the status refer to the current spec.
func observeSpec(e *lsv1alpha1.Execution) {
	run.Observe(&e.Status.RunStatus, e.Generation, specMark(e, e.Generation))
}

// rememberSpec records the spec in a status that does not contain it yet.
func rememberSpec(e *lsv1alpha1.Execution) {
	run.RememberSpec(&e.Status.RunStatus, e.Generation, func(generation int64) string { return specMark(e, generation) })
}

// FlowGenerationAnnotation contains the generation of a deploy item that its execution created by a change to the job flow, and that was
// deployed before. The next write records that in the status.
const FlowGenerationAnnotation = "espalier.dev/flow-generation"

// isHalfway reports whether a change of the flow has stopped between its two writes: on the way to the job flow, the status is one
// generation behind; on the way back, it is ahead.
func isHalfway(object *lsv1alpha1.DeployItem) bool {
	made := object.Annotations[FlowGenerationAnnotation] == strconv.FormatInt(object.Generation, 10)
	return made && object.Status.ObservedGeneration == object.Generation-1 || object.Status.ObservedGeneration > object.Generation
}
