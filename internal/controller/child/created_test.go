// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package child_test

import (
	"slices"
	"testing"

	"espalier.dev/internal/controller/child"
)

func TestWhatWasCreatedIsKnownUntilItIsSeen(t *testing.T) {
	var c child.Created
	seen := func(names ...string) func(string) bool {
		return func(name string) bool { return slices.Contains(names, name) }
	}
	if left := c.Forget("a", seen()); len(left) > 0 {
		t.Errorf("nothing was created, and %q is remembered", left)
	}
	for _, name := range []string{"x", "y", "x"} {
		c.Note("a", name)
	}
	c.Note("b", "z")
	for range 2 {
		if left := c.Forget("a", seen("z")); !slices.Equal(left, []string{"x", "y"}) {
			t.Errorf("%q is remembered before the cache shows anything", left)
		}
	}
	if left := c.Forget("a", seen("x")); !slices.Equal(left, []string{"y"}) {
		t.Errorf("%q is remembered when x is seen", left)
	}
	if left := c.Forget("a", seen()); !slices.Equal(left, []string{"y"}) {
		t.Errorf("%q is remembered although x was seen", left)
	}
	if left := c.Forget("b", seen("z")); len(left) > 0 {
		t.Errorf("%q is remembered of another owner", left)
	}
}
