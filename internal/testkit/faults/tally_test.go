// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	"espalier.dev/internal/testkit/faults"
)

func TestBudget(t *testing.T) {
	for budget, late := range map[time.Duration]bool{0: false, time.Nanosecond: true, 1000 * time.Hour: false} {
		if got := faults.NewTally(t, "a workload", budget).IsLate(); got != late {
			t.Errorf("with a budget of %s, a plan is late: %t, want %t", budget, got, late)
		}
	}
}
