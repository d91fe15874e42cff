// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package seeded

import (
	"slices"
	"testing"

	"espalier.dev/internal/testkit/faults"
)

var sweep = faults.Suite{Root: "../../..", Package: "./test/faults", Bugs: slices.Concat(bugs, pauseBugs)}

// A change of the code must not silently make a bug impossible: whoever changes the line updates the bug.
func TestEveryBugCanStillBeMade(t *testing.T) { sweep.Applies(t) }
