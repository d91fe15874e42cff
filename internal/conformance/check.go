// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"slices"

	"espalier.dev/internal/conformance/mutants"
)

// Check returns the inconsistencies between the specs, the tests, the mutants, the sweeps and the page, worded as what to do.
func Check(f Facts, page string) []string {
	known := idsOf(f.Specs)
	rows := ParsePage(page)
	problems := checkProofs(known, f.Proofs)
	problems = append(problems, checkRows(known, rows)...)
	problems = append(problems, checkEntries(known, f.Sweeps)...)
	for _, id := range known {
		problems = append(problems, checkRequirement(id, f.Proofs, rows)...)
		if !slices.ContainsFunc(f.Mutants, func(m mutants.Mutant) bool { return m.ID == id }) {
			problems = append(problems, fmt.Sprintf("%s has no mutant: add one in internal/conformance/mutants", id))
		}
	}
	for _, m := range f.Mutants {
		if !slices.Contains(known, m.ID) {
			problems = append(problems, fmt.Sprintf("there is a mutant of %s, which no page in %s defines", m.ID, specFolder))
		}
	}
	if len(problems) == 0 && page != RenderPage(f, rows) {
		problems = append(problems, "the page differs from what -update writes")
	}
	return problems
}

func checkProofs(known []string, proofs []Proof) []string {
	var problems []string
	for _, proof := range proofs {
		if !slices.Contains(known, proof.ID) {
			problems = append(problems, fmt.Sprintf("test %q names %s, which no page in %s defines", proof.Test, proof.ID, specFolder))
		}
	}
	return problems
}

func checkRows(known []string, rows []Row) []string {
	var problems []string
	for i, row := range rows {
		if !slices.Contains(known, row.ID) {
			problems = append(problems, fmt.Sprintf("the page lists %s, which no page in %s defines", row.ID, specFolder))
		}
		if slices.ContainsFunc(rows[:i], func(earlier Row) bool { return earlier.ID == row.ID }) {
			problems = append(problems, fmt.Sprintf("the page lists %s twice", row.ID))
		}
	}
	return problems
}

func checkRequirement(id string, proofs []Proof, rows []Row) []string {
	i := slices.IndexFunc(rows, func(row Row) bool { return row.ID == id })
	if i < 0 {
		return []string{fmt.Sprintf("%s is missing on the page; run the test with -update", id)}
	}
	row := rows[i]
	var problems []string
	var found []string
	for _, proof := range proofs {
		if proof.ID == id {
			found = append(found, entryOf(proof))
		}
	}
	for _, test := range row.Tests {
		if !slices.Contains(found, test) {
			problems = append(problems, fmt.Sprintf("%s lists the test %q, which does not exist", id, test))
		}
	}
	for _, test := range found {
		if !slices.Contains(row.Tests, test) {
			problems = append(problems, fmt.Sprintf("%s does not list the test %q; run the test with -update", id, test))
		}
	}
	if len(row.Tests) == 0 && row.NotYet == "" {
		problems = append(problems, fmt.Sprintf("%s is neither proven by a test nor marked %q with a reason", id, notYet))
	}
	return problems
}
