// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// observeContinuously adds the facts of the continuous flow.
func (o *Observed) observeContinuously(s Snapshot) {
	inst, status := s.Installation, &s.Installation.Status
	o.Chosen = inst.Spec.Flow.OrDefault()
	o.Operation = lsv1alpha1.Operation(inst.Annotations[lsv1alpha1.OperationAnnotation])
	o.Ignored = inst.Annotations[lsv1alpha1.IgnoreAnnotation] == "true"
	o.Own, o.Entered = run.EndedByItself(&status.RunStatus), Entered(status)
	o.ExportsGone, o.UsedHash = s.ExportsGone, status.ImportsHash
	o.Stuck = stuckOnes(inst, s.Subinstallations)
	behind := behindSiblings(s.Subinstallations)
	for i, c := range o.Children {
		if c.Kind == ChildInstallation && behind[c.Name] {
			o.Children[i].UpToDate = false
		}
	}
	o.attempt = Prepared{
		Generation: inst.Generation, ImportsHash: status.ImportsHash, Imports: status.Imports, ConfigGeneration: status.ConfigGeneration,
		Subs: status.SubInstCache, ExecutionRef: status.ExecutionReference, BlueprintRevision: status.BlueprintRevision,
		StateSecrets: status.StateSecrets,
	}
	if read := s.Imports; read != nil {
		o.ImportsChanged, o.ImportsMissing = changedImports(status, *read), read.Err
		o.attempt.ImportsHash, o.attempt.Imports, o.attempt.ConfigGeneration = read.Hash, read.Versions, configGeneration(inst, *read)
	}
	o.Unrecorded = unrecorded(s, o.UpdateVersion())
}

// UpdateVersion returns the version of an update of the objects below.
func (o Observed) UpdateVersion() string { return o.attempt.ConfigGeneration }

// below returns all children that may exist.
func (o Observed) below() []Child { return present(everyChild(o)) }

// Busy reports whether a child must not be touched in the continuous flow. A child in the job flow does nothing without a job, regardless
// of its phase and observed spec.
func (c Child) Busy() bool {
	switch {
	case c.Presence != Present:
		return c.Presence == Unseen
	case c.Flow == lsv1alpha1.FlowJob:
		return c.Deleting || c.Job.Running() || c.Phase != "" && !c.Phase.IsFinal()
	default:
		return !c.Phase.IsCompleted() || !c.UpToDate || c.Deleting || run.Asked(c.Operation)
	}
}

// combined returns the combined phase of everything below.
func (o Observed) combined() lsv1alpha1.Phase {
	var phases []lsv1alpha1.Phase
	for _, c := range o.below() {
		phases = append(phases, c.Phase)
	}
	return Combined(phases...)
}

// misfits returns the children whose spec names another flow.
func (o Observed) misfits(flow lsv1alpha1.Flow) []Child {
	return filter(o.below(), func(c Child) bool {
		return c.Presence == Present && c.Flow.OrDefault() != flow
	})
}
