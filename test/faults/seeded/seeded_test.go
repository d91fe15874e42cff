// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build seeded

package seeded

import "testing"

// Every seeded bug is found by one of its plans, and without any bug those plans pass.
func TestEveryBugIsCaught(t *testing.T) { sweep.Catches(t) }
