// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"flag"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/testkit/diagram"
	"espalier.dev/internal/testkit/share"
)

var update = flag.Bool("update", false, "write the diagrams into the documentation")

// The diagram in the documentation shows what Decide does, over all observations.
func TestTheDiagramShowsWhatDecideDoes(t *testing.T) {
	d := diagram.Diagram{Page: "../../docs/jobs.md", Title: "phases of installations", Order: phases, Main: []lsv1alpha1.Phase{
		diagram.Nowhere, lsv1alpha1.PhaseInit, lsv1alpha1.PhaseCleanupOrphaned, lsv1alpha1.PhaseObjectsCreated, lsv1alpha1.PhaseProgressing,
		lsv1alpha1.PhaseCompleting, lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseInitDelete, lsv1alpha1.PhaseTriggerDelete,
		lsv1alpha1.PhaseDeleting, diagram.Nowhere,
	}}
	d.Step(lsv1alpha1.PhaseDeleting, diagram.Nowhere, "")
	everything(func(o installation.Observed) {
		if decided := afterExports(o); possible(o) && decided.Next != "" {
			d.Step(o.Phase, decided.Next, "")
		}
	})
	d.Check(t, *update)
}

// The same holds for the diagram of the continuous flow.
func TestTheDiagramShowsWhatDecideDoesInTheContinuousFlow(t *testing.T) {
	d := diagram.Diagram{Page: "../../docs/flows.md", Title: "phases of installations in the continuous flow", Order: everyPhase}
	d.Main = []lsv1alpha1.Phase{
		diagram.Nowhere, lsv1alpha1.PhasePendingDependencies, lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseDeleting,
		diagram.Nowhere,
	}
	d.Step(lsv1alpha1.PhaseDeleting, diagram.Nowhere, "")
	everyContinuous(share.All(), func(o installation.Observed) {
		impossible := o.Phase == lsv1alpha1.PhaseDeleting && !o.Deleting || o.Phase == lsv1alpha1.PhaseInit
		if decided := afterExports(o); decided.Next != "" && !impossible {
			d.Step(o.Phase, decided.Next, "")
		}
	})
	d.Check(t, *update)
}

// afterExports returns the decision after the exports are written, if they are written first.
func afterExports(o installation.Observed) installation.Decision {
	d := installation.Decide(o)
	if does[installation.Export](d) {
		o.ExportsWritten = true
		return installation.Decide(o)
	}
	return d
}

// possible excludes what only a manual edit of the status could produce.
func possible(o installation.Observed) bool {
	atRest := o.Phase == "" || o.Phase.IsFinal()
	return o.Phase != "Unheard" && (o.Job.Running() || atRest) && (o.Deleting || !o.Phase.IsDeletion())
}
