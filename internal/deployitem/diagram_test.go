// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitem_test

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/failure"
)

const diagramPage = "../../docs/deployers.md"

// diagram draws every step that Decide can take from the phases that a deploy item has.
func diagram() string {
	edges := map[string]bool{}
	everything(func(o deployitem.Observed) {
		if !slices.Contains(drawn, o.Phase) || o.Phase.IsDeletion() && !o.Deleting {
			return
		}
		d := deployitem.Decide(o)
		switch {
		case does[deployitem.RemoveFinalizer](d):
			edges[edge(o.Phase, "[*]", "gone")] = true
		case does[deployitem.Fail](d) && o.Job.Running():
			edges[edge(o.Phase, string(failed(o)), "terminal error")] = true
		case d.Next != "":
			edges[edge(o.Phase, string(d.Next), label(o, d))] = true
		}
	})
	lines := []string{"```mermaid", "stateDiagram-v2"}
	for e := range edges {
		lines = append(lines, e)
	}
	slices.Sort(lines[2:])
	return strings.Join(append(lines, "```"), "\n")
}

// drawn leaves out the phases of other kinds.
var drawn = []lsv1alpha1.Phase{
	"", lsv1alpha1.PhaseInit, lsv1alpha1.PhaseProgressing, lsv1alpha1.PhaseSucceeded, lsv1alpha1.PhaseFailed,
	lsv1alpha1.PhaseInitDelete, lsv1alpha1.PhaseDeleting, lsv1alpha1.PhaseDeleteFailed,
}

func edge(from lsv1alpha1.Phase, to, label string) string {
	return fmt.Sprintf("    %s --> %s: %s", cmp.Or(string(from), "[*]"), to, label)
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
		return "new job of an item that is deleted"
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

func TestThePhaseDiagramIsTrue(t *testing.T) {
	text, err := os.ReadFile(diagramPage)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "<!-- phases -->\n")
	drawn, _, found := strings.Cut(rest, "\n<!-- /phases -->")
	if want := diagram(); !found || drawn != want {
		t.Errorf("%s does not show what Decide does; put this between the marks:\n%s", diagramPage, want)
	}
}
