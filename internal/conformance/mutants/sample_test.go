// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package mutants_test

import (
	"slices"
	"testing"

	"espalier.dev/internal/conformance/mutants"
)

// sampleOf chooses mutants for a day. Consecutive days go through all of them, so none is chosen more often than another. Neighbours, whose
// tests are similar, fall on different days, and the day also determines which come first, in case there is not time for all.
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

// strideOf returns a step that visits each of a number of things once before it repeats: it has no common divisor with the number. About
// three eighths of the number separates neighbours.
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
		met, first := map[mutants.Mutant]int{}, map[mutants.Mutant]bool{}
		for day := range len(all) {
			today := sampleOf(all, size, 20000+day)
			seen := map[mutants.Mutant]bool{}
			for _, m := range today {
				met[m]++
				seen[m] = true
			}
			if first[today[0]] = true; len(seen) != min(size, len(all)) {
				t.Fatalf("a sample of %d has %d mutants", size, len(seen))
			}
		}
		for _, m := range all {
			if met[m] != min(size, len(all)) {
				t.Errorf("of samples of %d in %d days, %s (%s) was in %d", size, len(all), m.ID, m.Breaks, met[m])
			}
		}
		if len(first) < len(all)/size {
			t.Errorf("of samples of %d in %d days, only %d mutants ever came first", size, len(all), len(first))
		}
	}
}
