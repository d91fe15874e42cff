// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package mutants_test

import (
	"slices"
	"testing"

	"espalier.dev/internal/conformance/mutants"
)

// sampleOf chooses mutants for a day. Days in a row go through all of them, so none is met more often than another. Neighbours, whose
// tests are alike, fall on different days, and who comes first, should there not be time for all, changes with the day.
func sampleOf(all []mutants.Mutant, size, day int) []mutants.Mutant {
	size = min(size, len(all))
	stride := strideOf(len(all))
	var chosen []mutants.Mutant
	for i := range size {
		chosen = append(chosen, all[(day*size+i)*stride%len(all)])
	}
	first := day % size
	return slices.Concat(chosen[first:], chosen[:first])
}

// strideOf is a step with which one meets each of a number of things once before the first again: it shares no divisor with the number.
// About three eighths of it keeps apart what is close.
func strideOf(number int) int {
	for stride := max(1, number*3/8); ; stride++ {
		a, b := number, stride
		for b > 0 {
			a, b = b, a%b
		}
		if a == 1 {
			return stride
		}
	}
}

func TestSamplesPreferNoMutant(t *testing.T) {
	all := mutants.All()
	for _, size := range []int{1, 7, 10, len(all), len(all) + 5} {
		met, first := map[string]int{}, map[string]bool{}
		for day := range len(all) {
			today := sampleOf(all, size, 20000+day)
			seen := map[string]bool{}
			for _, m := range today {
				met[m.ID]++
				seen[m.ID] = true
			}
			if first[today[0].ID] = true; len(seen) != min(size, len(all)) {
				t.Fatalf("a sample of %d has %d mutants", size, len(seen))
			}
		}
		for _, m := range all {
			if met[m.ID] != min(size, len(all)) {
				t.Errorf("of samples of %d in %d days, %s was in %d", size, len(all), m.ID, met[m.ID])
			}
		}
		if len(first) < len(all)/size {
			t.Errorf("of samples of %d in %d days, only %d mutants ever came first", size, len(all), len(first))
		}
	}
}
