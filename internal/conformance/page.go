// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"regexp"
	"strings"

	"espalier.dev/internal/conformance/mutants"
)

// Row is what the page says about one requirement.
type Row struct {
	ID     string
	Tests  []string
	NotYet string
}

const (
	notYet    = "not yet:"
	separator = "<br>"
)

var pageRow = regexp.MustCompile(`^\| ([A-Z]{3}-[0-9]{2}) \| .* \| (.*) \|$`)

// ParsePage returns the rows of a conformance page in order.
func ParsePage(page string) []Row {
	var rows []Row
	for line := range strings.Lines(page) {
		match := pageRow.FindStringSubmatch(strings.TrimSpace(line))
		if match == nil {
			continue
		}
		row := Row{ID: match[1]}
		for entry := range strings.SplitSeq(match[2], separator) {
			entry = strings.TrimSpace(entry)
			if reason, ok := strings.CutPrefix(entry, notYet); ok {
				row.NotYet = strings.TrimSpace(reason)
			} else if entry != "" && !strings.HasPrefix(entry, sweepEntry) {
				row.Tests = append(row.Tests, strings.Trim(entry, "`"))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

const introduction = `# Conformance

Each requirement of [docs/spec](spec/) with the tests that prove it, or why there are none yet. An entry with both is proven in part.
A mutant is a change of the product that breaks the requirement (see ` + "`internal/conformance/mutants`" + `). One of the tests must fail
with it. ` + "`make mutants MUTANTS='-args -update'`" + ` tries all mutants and records here which test failed, and the date of the commit.
The tests are found by the ID in their names (see ` + "`internal/conformance`" + `); after adding or renaming one, run
` + "`go test ./internal/conformance -update`" + `. The reasons after "not yet" are written by hand, here, and survive the update.
Where crashes, lost answers and stale caches matter most, the fault sweep of ` + "`make faults`" + ` is the best proof: its rules are in
` + "`invariant/rule.go`" + ` below the named folder.
`

const tableHead = "| ID | Requirement | Mutants and results | Tests |\n|---|---|---|---|\n"

// RenderPage returns the whole page. It keeps the reasons of the given rows for requirements that still exist.
func RenderPage(f Facts, rows []Row) string {
	reasons := map[string]string{}
	for _, row := range rows {
		reasons[row.ID] = row.NotYet
	}
	tests := map[string][]string{}
	for _, proof := range f.Proofs {
		tests[proof.ID] = append(tests[proof.ID], entryOf(proof))
	}
	var page strings.Builder
	page.WriteString(introduction)
	fmt.Fprintf(&page, "\n%s\n%s\n", summary(f.Specs, tests, reasons), f.summariseMutants())
	for _, spec := range f.Specs {
		link := strings.TrimPrefix(spec.Path, "docs/")
		fmt.Fprintf(&page, "\n## %s ([%s](%s))\n\n%s", spec.Title, link, link, tableHead)
		for _, requirement := range spec.Requirements {
			id := requirement.ID
			cell := renderCell(tests[id], f.sweepsOf(id), reasons[id])
			fmt.Fprintf(&page, "| %s | %s | %s | %s |\n", id, requirement.Title, f.mutantsOf(id), cell)
		}
	}
	return page.String()
}

// mutantsOf lists the mutants of a requirement with their results.
func (f Facts) mutantsOf(id string) string {
	var entries []string
	for _, m := range f.Mutants {
		if m.ID == id {
			entries = append(entries, m.Breaks+": "+f.outcome(m).text)
		}
	}
	return strings.Join(entries, separator)
}

// outcome is the result of a mutant: what became of it, and that in words.
type outcome struct {
	tried, killed bool
	text          string
}

func (f Facts) outcome(m mutants.Mutant) outcome {
	result, found := mutants.ResultOf(m, f.Results)
	switch {
	case !found:
		return outcome{text: "not tried yet"}
	case result.Edit == "":
		return outcome{text: "not tried since it changed"}
	case result.Killer == "":
		return outcome{tried: true, text: "**no test failed** on " + result.Date}
	case !f.exists(result.Killer):
		return outcome{text: "not tried since the test that failed has another name"}
	}
	return outcome{tried: true, killed: true, text: fmt.Sprintf("killed by `%s` on %s", result.Killer, result.Date)}
}

// exists reports whether there still is the test that a result names, as FOLDER: TEST or FOLDER: TEST/SUB. A panic names none.
func (f Facts) exists(killer string) bool {
	folder, name, _ := strings.Cut(killer, ": ")
	name, _, _ = strings.Cut(name, "/")
	return name == mutants.Panic || f.Tests[folder+": "+name]
}

func (f Facts) summariseMutants() string {
	var killed, survived int
	for _, m := range f.Mutants {
		switch o := f.outcome(m); {
		case o.killed:
			killed++
		case o.tried:
			survived++
		}
	}
	return fmt.Sprintf("Of %d mutants %d were killed, %d survived, %d wait to be tried.",
		len(f.Mutants), killed, survived, len(f.Mutants)-killed-survived)
}

func (f Facts) sweepsOf(id string) []string {
	var entries []string
	for _, s := range f.Sweeps {
		if s.ID == id {
			entries = append(entries, s.String())
		}
	}
	return entries
}

// entryOf names a test in a way that survives a Markdown table.
func entryOf(proof Proof) string {
	return strings.NewReplacer("|", "/", "`", "'", "\n", " ", separator, " ").Replace(proof.Test)
}

func renderCell(tests, sweeps []string, reason string) string {
	var entries []string
	for _, test := range tests {
		entries = append(entries, "`"+test+"`")
	}
	entries = append(entries, sweeps...)
	if reason != "" {
		entries = append(entries, notYet+" "+reason)
	}
	return strings.Join(entries, separator)
}

func summary(specs []Spec, tests map[string][]string, reasons map[string]string) string {
	var proven, partly, open int
	for _, id := range idsOf(specs) {
		switch {
		case len(tests[id]) > 0 && reasons[id] == "":
			proven++
		case len(tests[id]) > 0:
			partly++
		default:
			open++
		}
	}
	return fmt.Sprintf("Of %d requirements %d are proven, %d are proven in part, %d not yet.", proven+partly+open, proven, partly, open)
}
