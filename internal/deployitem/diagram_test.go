// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitem_test

import (
	"flag"
	"slices"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit/diagram"
)

var update = flag.Bool("update", false, "write the diagram into the documentation")

// The diagram in the documentation shows what Decide does in jobs, over all observations.
func TestTheDiagramShowsWhatDecideDoes(t *testing.T) {
	drawing := diagram.Diagram{Page: "../../docs/deployers.md", Title: "phases of deploy items", Order: drawn}
	// A job that fails, then one that succeeds, then the deletion.
	drawing.Main = []lsv1alpha1.Phase{
		diagram.Nowhere, lsv1alpha1.PhaseInit, lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseFailed,
		lsv1alpha1.PhaseInit, lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseSucceeded,
		lsv1alpha1.PhaseInitDelete, lsv1alpha1.PhaseDeleting, diagram.Nowhere,
	}
	everything(func(o deployitem.Observed) {
		if !slices.Contains(drawn, o.Phase) || o.Phase.IsDeletion() && !o.Deleting {
			return
		}
		d := deployitem.Decide(o)
		switch {
		case does[deployitem.RemoveFinalizer](d):
			drawing.Step(o.Phase, diagram.Nowhere, "gone")
		case does[deployitem.Fail](d) && o.Job.Running():
			drawing.Step(o.Phase, failed(o), "terminal error")
		case d.Next != "":
			drawing.Step(o.Phase, d.Next, label(o, d))
		}
	})
	drawing.Check(t, *update)
}

// drawn excludes the phases of other kinds.
var drawn = []lsv1alpha1.Phase{
	"", lsv1alpha1.PhaseInit, lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseFailed,
	lsv1alpha1.PhaseInitDelete, lsv1alpha1.PhaseDeleting, lsv1alpha1.PhaseDeleteFailed,
}

// failed is the phase in which a terminal error ends the job.
func failed(o deployitem.Observed) lsv1alpha1.Phase {
	i := item(o.Phase, "b", "a")
	deployitem.Settle(i, o, deployitem.Decision{}, failure.Terminalf(failure.Details{}, "wrong"))
	return i.Status.Phase
}

func label(o deployitem.Observed, d deployitem.Decision) string {
	begins := o.Phase == "" || o.Phase.IsFinal()
	switch {
	case begins && d.Next == lsv1alpha1.PhaseInitDelete:
		return "job of a deletion"
	case begins:
		return "new job"
	case d.Next == lsv1alpha1.PhaseProgressing || d.Next == lsv1alpha1.PhaseDeleting:
		return "pick-up"
	case d.Why.Code == deployitem.CodeUnchanged:
		return "unchanged"
	case d.Next == lsv1alpha1.PhaseSucceeded:
		return "deployed and ready"
	default:
		return d.Why.Code
	}
}
