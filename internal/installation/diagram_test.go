// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
)

var update = flag.Bool("update", false, "write the diagram into the documentation")

const (
	page  = "../../docs/jobs.md"
	begin = "<!-- generated: phases of installations -->\n"
	end   = "<!-- end -->\n"
)

// arrow is a transition between phases.
type arrow struct{ from, to lsv1alpha1.Phase }

// The diagram in the documentation is what Decide does, over all observations.
func TestTheDiagramShowsWhatDecideDoes(t *testing.T) {
	seen := map[arrow]bool{}
	everything(func(o installation.Observed) {
		if !possible(o) {
			return
		}
		if d := installation.Decide(o); d.Next != "" {
			seen[arrow{o.Phase, d.Next}] = true
		}
	})
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	shown, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the diagram", page)
	}
	want := diagram(seen)
	if shown == want {
		return
	}
	if !*update {
		t.Fatalf("%s shows another diagram than Decide makes; run go test ./internal/installation -update\n%s", page, want)
	}
	if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// possible leaves out what only a hand in the status could make.
func possible(o installation.Observed) bool {
	atRest := o.Phase == "" || o.Phase.IsFinal()
	return o.Phase != "Unheard" && (o.Job.Running() || atRest) && (o.Deleting || !o.Phase.IsDeletion())
}

func diagram(seen map[arrow]bool) string {
	arrows := make([]arrow, 0, len(seen))
	for a := range seen {
		arrows = append(arrows, a)
	}
	slices.SortFunc(arrows, func(a, b arrow) int {
		return cmp.Or(cmp.Compare(slices.Index(phases, a.from), slices.Index(phases, b.from)), cmp.Compare(slices.Index(phases, a.to), slices.Index(phases, b.to)))
	})
	var text strings.Builder
	text.WriteString("```mermaid\nstateDiagram-v2\n")
	for _, a := range arrows {
		fmt.Fprintf(&text, "    %s --> %s\n", cmp.Or(string(a.from), "[*]"), a.to)
	}
	fmt.Fprintf(&text, "    %s --> [*]\n```\n", lsv1alpha1.PhaseDeleting)
	return text.String()
}
