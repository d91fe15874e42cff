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

// The diagram in the documentation is what DecideInstallation does, over all observations.
func TestTheDiagramShowsWhatDecideDoes(t *testing.T) {
	d := diagram.Diagram{Page: "../../docs/flows.md", Title: "phases of installations in the continuous flow", Order: everyPhase}
	d.Step(lsv1alpha1.PhaseDeleting, diagram.Nowhere, "")
	everyInstallation(func(o continuous.Installation) {
		impossible := o.Phase == lsv1alpha1.PhaseDeleting && !o.Deleting || o.Phase == lsv1alpha1.PhaseInit
		if decided := continuous.DecideInstallation(o); decided.Next != "" && !impossible {
			d.Step(o.Phase, decided.Next, "")
		}
	})
	d.Check(t, *update)
}
