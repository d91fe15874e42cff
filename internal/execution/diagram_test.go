// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution_test

import (
	"flag"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/testkit/diagram"
)

var update = flag.Bool("update", false, "write the diagram into the documentation")

// The diagram in the documentation shows what Decide does in the continuous flow, over all observations.
func TestTheDiagramShowsWhatDecideDoes(t *testing.T) {
	d := diagram.Diagram{Page: "../../docs/flows.md", Title: "phases of executions in the continuous flow", Order: executionPhases}
	d.Main = []lsv1alpha1.Phase{
		diagram.Nowhere, lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseDeleting, diagram.Nowhere,
	}
	d.Step(lsv1alpha1.PhaseDeleting, diagram.Nowhere, "")
	everyExecution(func(o execution.Observed) {
		impossible := o.Phase == lsv1alpha1.PhaseDeleting && !o.Deleted || o.Phase == lsv1alpha1.PhaseInit
		if decided := execution.Decide(o); decided.Next != "" && !impossible {
			d.Step(o.Phase, decided.Next, "")
		}
	})
	d.Check(t, *update)
}
