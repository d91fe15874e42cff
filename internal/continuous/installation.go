// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
)

// InstallationSnapshot is what was read about an installation and the objects around it.
type InstallationSnapshot struct {
	installation.Snapshot
	// ExportsGone names objects that the installation has exported and that do not exist.
	ExportsGone []string
	// Imports are as they were read; nil if nobody has read them, which counts as if they had not changed.
	Imports *Read
}

// Installation is everything that a decision about an installation depends on.
type Installation struct {
	installation.Observed

	// Chosen is the flow that the spec names.
	Chosen lsv1alpha1.Flow
	// Operation is what the annotation asks for.
	Operation lsv1alpha1.Operation
	// Ignored is set if the annotation freezes the installation.
	Ignored bool
	// Own is set if the completed phase is the installation's own.
	Own bool
	// Entered is set once the continuous flow has updated what is below.
	Entered bool
	// ImportsChanged names imports of which the last update has used another version, ImportsMissing says why they cannot
	// be used at all.
	ImportsChanged []string
	ImportsMissing error
	// ExportsGone names what the installation has exported and somebody has deleted.
	ExportsGone []string
	// Stuck names the nested installations that only wait for what has ended badly beside them.
	Stuck map[string]bool
	// UsedHash is a hash of the imports that the last update has used.
	UsedHash string

	// Updated is set once this pass has updated what is below.
	Updated bool
	// Exported is set once this pass has written the exports.
	Exported bool

	// attempt is what the status remembers of an update of this pass that fails for good.
	attempt installation.Prepared
}

// LookAtInstallation draws from what was read the facts that decisions are made on.
func LookAtInstallation(s InstallationSnapshot) Installation {
	inst := s.Snapshot.Installation
	status := &inst.Status
	o := Installation{
		Observed:  installation.NewObserved(s.Snapshot),
		Chosen:    inst.Spec.Flow.OrDefault(),
		Operation: lsv1alpha1.Operation(inst.Annotations[lsv1alpha1.OperationAnnotation]),
		Ignored:   inst.Annotations[lsv1alpha1.IgnoreAnnotation] == "true",
		Own:       run.EndedByItself(&status.RunStatus),
		Entered:   installation.Entered(status),
		UsedHash:  status.ImportsHash,
		attempt: installation.Prepared{
			Generation: inst.Generation, ImportsHash: status.ImportsHash, Imports: status.Imports, ConfigGeneration: status.ConfigGeneration,
			Subs: status.SubInstCache, ExecutionRef: status.ExecutionReference,
		},
	}
	o.ExportsGone = s.ExportsGone
	o.Stuck = stuckOnes(inst, s.Subinstallations)
	behind := behindSiblings(s.Subinstallations)
	for i, c := range o.Children {
		if c.Kind == installation.ChildInstallation && behind[c.Name] {
			o.Children[i].UpToDate = false
		}
	}
	if read := s.Imports; read != nil {
		o.ImportsChanged, o.ImportsMissing = changedImports(status, *read), read.Err
		o.attempt.ImportsHash, o.attempt.Imports, o.attempt.ConfigGeneration = read.Hash, read.Versions, ConfigGeneration(inst, *read)
	}
	return o
}

// UpdateVersion is the version that an update of what is below gets.
func (o Installation) UpdateVersion() string { return o.attempt.ConfigGeneration }

// every returns all children that may exist.
func (o Installation) every() []installation.Child {
	var all []installation.Child
	for _, list := range [][]installation.Child{o.Children, o.Orphaned} {
		for _, c := range list {
			if c.Presence != installation.Gone {
				all = append(all, c)
			}
		}
	}
	return all
}

func filter(children []installation.Child, keep func(installation.Child) bool) []installation.Child {
	var kept []installation.Child
	for _, c := range children {
		if keep(c) {
			kept = append(kept, c)
		}
	}
	return kept
}

// Busy tells whether a child must not be touched. One of the job flow does nothing without a job, whatever its phase is and
// whichever spec it has seen.
func Busy(c installation.Child) bool {
	switch {
	case c.Presence != installation.Present:
		return c.Presence == installation.Unseen
	case c.Flow == lsv1alpha1.FlowJob:
		return c.Deleting || c.Job.Running() || c.Phase != "" && !c.Phase.IsFinal()
	default:
		return !c.Phase.IsCompleted() || !c.UpToDate || c.Deleting || run.Asked(c.Operation)
	}
}

// combined is the phase of everything below.
func (o Installation) combined() lsv1alpha1.Phase {
	var phases []lsv1alpha1.Phase
	for _, c := range o.every() {
		phases = append(phases, c.Phase)
	}
	return Combined(phases...)
}

// NeedsCertainty tells whether what is below is about to be updated, or its state to become the installation's own. If that were the state of
// before the last update, something busy would be updated, an update that takes the last one back would get lost, and the installation
// would be called completed without being so.
func (o Installation) NeedsCertainty() bool {
	all := o.every()
	if o.Deleting || len(all) == 0 || len(o.busy()) > 0 {
		return false
	}
	if o.outdated() != "" || o.Operation != "" || o.Phase == lsv1alpha1.PhasePendingDependencies {
		return o.DependencyError == nil && o.ImportsMissing == nil && len(unready(o.Predecessors)) == 0
	}
	return !o.Own && !o.standstill() && o.combined() != o.Phase
}

// misfits are the children whose spec names another flow.
func (o Installation) misfits(flow lsv1alpha1.Flow) []installation.Child {
	return filter(o.every(), func(c installation.Child) bool {
		return c.Presence == installation.Present && c.Flow.OrDefault() != flow
	})
}
