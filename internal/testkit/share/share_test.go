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
	const all = 100_000
	for value, of := range map[string]int{"": 1, "1": 1, "4": 4, "40": 40} {
		t.Setenv(share.Variable, value)
		cases := share.Of()
		got := tried(cases, all)
		if of == 1 && got != all || got < all/of*9/10 || got > all/of*11/10 {
			t.Errorf("with %q, %d of %d cases are tried, want one in %d", value, got, all, of)
		}
		if whole := cases.Whole(got); whole != got*of {
			t.Errorf("with %q, %d cases stand for %d", value, got, whole)
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
