// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous_test

import (
	"flag"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/continuous"
	"espalier.dev/internal/testkit/diagram"
)

var update = flag.Bool("update", false, "write the diagram into the documentation")

// The diagram in the documentation is what DecideExecution does, over all observations.
func TestTheDiagramShowsWhatDecideExecutionDoes(t *testing.T) {
	d := diagram.Diagram{Page: "../../docs/flows.md", Title: "phases of executions in the continuous flow", Order: everyPhase}
	d.Step(lsv1alpha1.PhaseDeleting, diagram.Nowhere, "")
	everyExecution(func(o continuous.Execution) {
		impossible := o.Phase == lsv1alpha1.PhaseDeleting && !o.Deleted || o.Phase == lsv1alpha1.PhaseInit
		if decided := continuous.DecideExecution(o); decided.Next != "" && !impossible {
			d.Step(o.Phase, decided.Next, "")
		}
	})
	d.Check(t, *update)
}
