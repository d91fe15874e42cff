// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package mutants_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"espalier.dev/internal/conformance/mutants"
)

const root = "../../.."

func TestEveryMutantCanBeMade(t *testing.T) {
	seen := map[[2]string]bool{}
	for _, m := range mutants.All() {
		name := [2]string{m.ID, m.Breaks}
		if seen[name] {
			t.Errorf("there are two mutants %s: results could not tell them apart", name)
		}
		seen[name] = true
		text, err := os.ReadFile(root + "/" + m.File)
		if err != nil {
			t.Errorf("%s: %v", m.ID, err)
		}
		if count := strings.Count(string(text), m.Old); count != 1 || m.Old == m.New || m.Breaks == "" {
			t.Errorf(
				"%s: %s has the text %d times, so the mutant cannot be made: adapt it to the current code\n%s",
				m.ID,
				m.File,
				count,
				m.Old,
			)
		}
	}
	ids := func(a, b mutants.Mutant) int { return strings.Compare(a.ID, b.ID) }
	if len(seen) == 0 || !slices.IsSortedFunc(mutants.All(), ids) {
		t.Error("there are no mutants, or they are not in the order of their IDs")
	}
}
