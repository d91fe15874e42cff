// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	"espalier.dev/internal/execution"
)

func TestNamesOfItemsAreReadableAndStable(t *testing.T) {
	if got := execution.ItemName("shop", "database"); got != "shop-database-jr4oe" {
		t.Errorf("got %s: objects of earlier versions would be created again", got)
	}
}

// Names that read the same after invalid characters were replaced still differ.
func TestNamesOfItemsAreValidAndDifferent(t *testing.T) {
	long := strings.Repeat("x", 70)
	pairs := [][2]string{
		{"app", "a"}, {"app", "A"}, {"app", "a_"}, {"app", "a."}, {"app-a", "b"}, {"app", "a-b"}, {"app.a", "b"},
		{"app", long}, {"app", long + "y"}, {long, "a"}, {strings.Repeat("-", 3), "a"}, {"app", "-"}, {"app", "ä"}, {"", ""},
		{strings.Repeat("a", 56), "b"}, {strings.Repeat("a", 55), "b"}, {strings.Repeat("a", 54), "b"},
	}
	seen := map[string][2]string{}
	for _, pair := range pairs {
		name := execution.ItemName(pair[0], pair[1])
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			t.Errorf("%q: %s", name, problems)
		}
		if other, taken := seen[name]; taken {
			t.Errorf("%q stands for %q and %q", name, other, pair)
		}
		seen[name] = pair
	}
}
