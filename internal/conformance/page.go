// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"regexp"
	"strings"
)

// Row is what the page says of one requirement.
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

// ParsePage returns the rows of a conformance page in their order.
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
			} else if entry != "" {
				row.Tests = append(row.Tests, strings.Trim(entry, "`"))
			}
		}
		rows = append(rows, row)
	}
	return rows
}

const introduction = `# Conformance

Each requirement of [docs/spec](spec/) with the tests that prove it, or why there are none yet. An entry with both is proven in part.
The mutant is a change of the product that breaks the requirement (see ` + "`internal/conformance/mutants`" + `): with it, one of the
tests fails (` + "`make mutants`" + `).
The tests are found by the ID in their names (see ` + "`internal/conformance`" + `); after adding or renaming one, run
` + "`go test ./internal/conformance -update`" + `. The reasons after "not yet" are written by hand, here, and survive the update.
`

// RenderPage writes the page anew, with what the mutant of each requirement breaks. It keeps the reasons of the given rows for
// requirements that still exist.
func RenderPage(specs []Spec, proofs []Proof, mutants map[string]string, rows []Row) string {
	reasons := map[string]string{}
	for _, row := range rows {
		reasons[row.ID] = row.NotYet
	}
	tests := map[string][]string{}
	for _, proof := range proofs {
		tests[proof.ID] = append(tests[proof.ID], entryOf(proof))
	}
	var page strings.Builder
	page.WriteString(introduction)
	fmt.Fprintf(&page, "\n%s\n", summary(specs, tests, reasons))
	for _, spec := range specs {
		link := strings.TrimPrefix(spec.Path, "docs/")
		fmt.Fprintf(&page, "\n## %s ([%s](%s))\n\n| ID | Requirement | Mutant | Tests |\n|---|---|---|---|\n", spec.Title, link, link)
		for _, requirement := range spec.Requirements {
			cell := renderCell(tests[requirement.ID], reasons[requirement.ID])
			fmt.Fprintf(&page, "| %s | %s | %s | %s |\n", requirement.ID, requirement.Title, mutants[requirement.ID], cell)
		}
	}
	return page.String()
}

// entryOf names a test in a way that survives a Markdown table.
func entryOf(proof Proof) string {
	return strings.NewReplacer("|", "/", "`", "'", "\n", " ", separator, " ").Replace(proof.Test)
}

func renderCell(tests []string, reason string) string {
	var entries []string
	for _, test := range tests {
		entries = append(entries, "`"+test+"`")
	}
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
