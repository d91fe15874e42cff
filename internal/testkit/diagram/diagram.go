// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package diagram keeps the state diagrams of the documentation in step with the decisions that they show. A test goes through
// all observations, notes each step that the decision takes, and compares what comes out with the page. It needs no server, so
// that tests of pure packages stay small.
package diagram

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Nowhere is the phase of objects before their creation and after their deletion.
const Nowhere lsv1alpha1.Phase = ""

// Diagram is the diagram of a kind's phases on a page.
type Diagram struct {
	// Page is the file, relative to the test.
	Page string
	// Title marks the diagram on the page: it is between <!-- generated: TITLE --> and <!-- end -->.
	Title string
	// Order is the order of the phases.
	Order []lsv1alpha1.Phase
	// Main is the path of phases when everything succeeds. Only this path is drawn, and the other steps are listed below it. Without it all
	// steps are drawn, which suits only small diagrams.
	Main []lsv1alpha1.Phase

	steps map[step]bool
}

type step struct {
	from, to lsv1alpha1.Phase
	label    string
}

// Step records that a decision leads from one phase to another. The label may be empty. A step to the same phase is ignored.
func (d *Diagram) Step(from, to lsv1alpha1.Phase, label string) {
	if from == to {
		return
	}
	if d.steps == nil {
		d.steps = map[step]bool{}
	}
	d.steps[step{from, to, label}] = true
}

// String returns the diagram in Mermaid, with a list of the steps that it omits.
func (d *Diagram) String() string {
	drawn, listed := d.sorted(), []step(nil)
	if len(d.Main) > 0 {
		all := drawn
		drawn = slices.DeleteFunc(slices.Clone(all), func(s step) bool { return !d.isMain(s) })
		listed = slices.DeleteFunc(all, d.isMain)
	}
	var text strings.Builder
	text.WriteString("```mermaid\nstateDiagram-v2\n")
	if len(d.Main) > 0 {
		text.WriteString("    direction LR\n")
	}
	for _, s := range drawn {
		fmt.Fprintf(&text, "    %s --> %s", name(s.from), name(s.to))
		if s.label != "" {
			text.WriteString(": " + s.label)
		}
		text.WriteString("\n")
	}
	text.WriteString("```\n")
	if len(listed) > 0 {
		text.WriteString(list(listed))
	}
	return text.String()
}

func (d *Diagram) sorted() []step {
	return slices.SortedFunc(maps.Keys(d.steps), func(a, b step) int {
		return cmp.Or(cmp.Compare(d.rank(a.from, a.to), d.rank(b.from, b.to)), cmp.Compare(a.label, b.label))
	})
}

func (d *Diagram) isMain(s step) bool {
	for i := 1; i < len(d.Main); i++ {
		if d.Main[i-1] == s.from && d.Main[i] == s.to {
			return true
		}
	}
	return false
}

// list returns a table of steps, with one line for each phase that they lead from. Those of one phase follow each other, or lead out.
func list(steps []step) string {
	var from []lsv1alpha1.Phase
	to := map[lsv1alpha1.Phase][]string{}
	for _, s := range steps {
		if to[s.from] == nil {
			from = append(from, s.from)
		}
		what := "gone"
		if s.to != Nowhere {
			what = "`" + string(s.to) + "`"
		}
		if s.label != "" {
			what += " (" + s.label + ")"
		}
		to[s.from] = append(to[s.from], what)
	}
	var text strings.Builder
	text.WriteString("\n| From | Also to |\n|---|---|\n")
	for _, phase := range from {
		start := "a new object"
		if phase != Nowhere {
			start = "`" + string(phase) + "`"
		}
		fmt.Fprintf(&text, "| %s | %s |\n", start, strings.Join(to[phase], ", "))
	}
	return text.String()
}

// rank sorts steps by the phases that they lead from and to, with those that lead out at the end.
func (d *Diagram) rank(from, to lsv1alpha1.Phase) int {
	place := func(phase lsv1alpha1.Phase) int {
		if i := slices.Index(d.Order, phase); i >= 0 {
			return i + 1
		}
		return len(d.Order) + 1
	}
	last := len(d.Order) + 2
	switch {
	case to == Nowhere:
		return last*last + place(from)
	case from == Nowhere:
		return place(to)
	default:
		return place(from)*last + place(to)
	}
}

func name(phase lsv1alpha1.Phase) string { return cmp.Or(string(phase), "[*]") }

// Check compares the page with the diagram, and writes it there if update is set.
func (d *Diagram) Check(t testing.TB, update bool) {
	t.Helper()
	text, err := os.ReadFile(d.Page)
	if err != nil {
		t.Fatalf("read the page: %v", err)
	}
	for i := 1; i < len(d.Main); i++ {
		if !slices.ContainsFunc(d.sorted(), func(s step) bool { return s.from == d.Main[i-1] && s.to == d.Main[i] }) {
			t.Errorf("the main path leads from %s to %s, and no decision does", name(d.Main[i-1]), name(d.Main[i]))
		}
	}
	changed, err := d.replace(string(text))
	switch {
	case err != nil:
		t.Fatal(err)
	case changed == string(text):
	case !update:
		t.Errorf("%s does not show what is decided; run the test with -update, and read the difference:\n%s", d.Page, d)
	default:
		if err := os.WriteFile(d.Page, []byte(changed), 0o644); err != nil {
			t.Fatalf("write the page: %v", err)
		}
	}
}

// replace returns a page with the diagram in its place.
func (d *Diagram) replace(page string) (string, error) {
	begin, end := "<!-- generated: "+d.Title+" -->\n", "<!-- end -->\n"
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf(
			"%s has no place for the diagram: put %q and %q where it belongs",
			d.Page,
			strings.TrimSpace(begin),
			strings.TrimSpace(end),
		)
	}
	return before + begin + d.String() + end + after, nil
}
