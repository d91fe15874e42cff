// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/continuous"
)

var rewrite = flag.Bool("update", false, "write the diagram into the documentation")

const (
	page  = "../../docs/flows.md"
	begin = "<!-- generated: phases of installations in the continuous flow -->\n"
	end   = "<!-- end -->\n"
)

// arrow is a transition between phases.
type arrow struct{ from, to lsv1alpha1.Phase }

// The diagram in the documentation is what DecideInstallation does, over all observations.
func TestTheDiagramShowsWhatDecideDoes(t *testing.T) {
	seen := map[arrow]bool{}
	everyInstallation(func(o continuous.Installation) {
		deleted := o.Phase == lsv1alpha1.PhaseDeleting && !o.Deleting
		if d := continuous.DecideInstallation(o); d.Next != "" && d.Next != o.Phase && !deleted && o.Phase != lsv1alpha1.PhaseInit {
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
	if !*rewrite {
		t.Fatalf("%s shows another diagram than the decisions make; run go test ./internal/continuous -update\n%s", page, want)
	}
	if err := os.WriteFile(page, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func diagram(seen map[arrow]bool) string {
	var arrows []arrow
	for a := range seen {
		arrows = append(arrows, a)
	}
	slices.SortFunc(arrows, func(a, b arrow) int {
		return cmp.Or(cmp.Compare(slices.Index(everyPhase, a.from), slices.Index(everyPhase, b.from)), cmp.Compare(slices.Index(everyPhase, a.to), slices.Index(everyPhase, b.to)))
	})
	var text strings.Builder
	text.WriteString("```mermaid\nstateDiagram-v2\n")
	for _, a := range arrows {
		fmt.Fprintf(&text, "    %s --> %s\n", cmp.Or(string(a.from), "[*]"), a.to)
	}
	fmt.Fprintf(&text, "    %s --> [*]\n```\n", lsv1alpha1.PhaseDeleting)
	return text.String()
}
