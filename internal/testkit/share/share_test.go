// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package share_test

import (
	"testing"

	"espalier.dev/internal/testkit/share"
)

func tried(cases *share.Cases, of int) (tried int) {
	for range of {
		if cases.Try() {
			tried++
		}
	}
	return tried
}

func TestAShareOfTheCasesIsTried(t *testing.T) {
	const all = 1000
	for value, of := range map[string]int{"": 1, "1": 1, "4": 4, "40": 40} {
		t.Setenv(share.Variable, value)
		cases := share.Of()
		got := tried(cases, all)
		if got != all/of {
			t.Errorf("with %q, %d of %d cases are tried, want one in %d", value, got, all, of)
		}
		if whole := cases.Whole(got); whole != got*of {
			t.Errorf("with %q, %d cases stand for %d", value, got, whole)
		}
	}
}

// In cases that differ in four switches, each value of each switch is tried.
func TestCasesAtEqualDistancesAreNotPreferred(t *testing.T) {
	t.Setenv(share.Variable, "4")
	cases, on := share.Of(), [4]int{}
	for bits := range 1 << 10 {
		if !cases.Try() {
			continue
		}
		for n := range on {
			if bits&(1<<n) > 0 {
				on[n]++
			}
		}
	}
	for n, count := range on {
		if count < 64 || count > 192 {
			t.Errorf("switch %d is on in %d of 256 cases", n, count)
		}
	}
}

func TestATypoIsNoShare(t *testing.T) {
	for _, value := range []string{"0", "-3", "four"} {
		t.Setenv(share.Variable, value)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q is taken for a share", value)
				}
			}()
			share.Of()
		}()
	}
}
