// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package diagram_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit/diagram"
)

const shown = "before\n<!-- generated: phases -->\n" + "```mermaid\nstateDiagram-v2\n" +
	"    [*] --> Init: new\n    Init --> Succeeded\n    Succeeded --> [*]\n```\n<!-- end -->\nafter\n"

func drawn(page string) *diagram.Diagram {
	d := &diagram.Diagram{Page: page, Title: "phases", Order: []lsv1alpha1.Phase{lsv1alpha1.PhaseInit, lsv1alpha1.PhaseSucceeded}}
	d.Step(lsv1alpha1.PhaseSucceeded, diagram.Nowhere, "")
	d.Step(lsv1alpha1.PhaseInit, lsv1alpha1.PhaseInit, "")
	d.Step(lsv1alpha1.PhaseInit, lsv1alpha1.PhaseSucceeded, "")
	d.Step(diagram.Nowhere, lsv1alpha1.PhaseInit, "new")
	return d
}

// complaints collects the errors of a check.
type complaints struct {
	testing.TB
	found []string
}

func (c *complaints) Helper()                   {}
func (c *complaints) Errorf(f string, _ ...any) { c.found = append(c.found, f) }
func (c *complaints) Fatal(args ...any)         { c.found = append(c.found, args[0].(error).Error()) }

func TestThePageIsComparedAndWritten(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	for name, test := range map[string]struct {
		content string
		update  bool
		want    string
		says    string
	}{
		"as it should be": {shown, false, shown, ""},
		"outdated":        {strings.Replace(shown, "Init --> Succeeded", "Init --> Failed", 1), false, "", "does not show"},
		"to be written":   {strings.Replace(shown, "Init --> Succeeded", "Init --> Failed", 1), true, shown, ""},
		"without a place": {"nothing", true, "nothing", "has no place"},
	} {
		if err := os.WriteFile(page, []byte(test.content), 0o600); err != nil {
			t.Fatal(err)
		}
		c := &complaints{TB: t}
		drawn(page).Check(c, test.update)
		after, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if test.want != "" && string(after) != test.want {
			t.Errorf("%s: the page is\n%s", name, after)
		}
		if said := strings.Join(c.found, "\n"); !strings.Contains(said, test.says) || (said == "") != (test.says == "") {
			t.Errorf("%s: complained %q", name, said)
		}
	}
}

func TestOnlyTheMainPathIsDrawn(t *testing.T) {
	const shown = "<!-- generated: phases -->\n" + "```mermaid\nstateDiagram-v2\n    direction LR\n" +
		"    [*] --> Init: new\n    Init --> Succeeded\n```\n\n| From | Also to |\n|---|---|\n" +
		"| a new object | `Deleting` |\n| `Init` | `Failed` (typo), `Deleting` |\n| `Succeeded` | gone |\n<!-- end -->\n"
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte(shown), 0o600); err != nil {
		t.Fatal(err)
	}
	d := drawn(page)
	d.Order = append(d.Order, lsv1alpha1.PhaseFailed, lsv1alpha1.PhaseDeleting)
	d.Main = []lsv1alpha1.Phase{diagram.Nowhere, lsv1alpha1.PhaseInit, lsv1alpha1.PhaseSucceeded}
	d.Step(lsv1alpha1.PhaseInit, lsv1alpha1.PhaseDeleting, "")
	d.Step(lsv1alpha1.PhaseInit, lsv1alpha1.PhaseFailed, "typo")
	d.Step(diagram.Nowhere, lsv1alpha1.PhaseDeleting, "")
	c := &complaints{TB: t}
	if d.Check(c, false); len(c.found) > 0 {
		t.Errorf("complained %q about\n%s", c.found, d)
	}
	d.Main = append(d.Main, lsv1alpha1.PhaseInit)
	if d.Check(c, false); len(c.found) != 1 {
		t.Errorf("a main path that nobody takes: complained %q", c.found)
	}
}
