// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"slices"
	"testing"
	"time"

	"espalier.dev/internal/testkit/faults"
)

// Within as many days as a share stands for, every plan has its day.
func TestShare(t *testing.T) {
	for _, plans := range [][]int{nil, {1}, {1, 2}, {1, 2, 3, 4, 5, 6, 7}} {
		for _, every := range []int{0, 1, 3, 8} {
			var met []int
			for day := range max(1, every) {
				share := faults.Share(plans, every, time.Date(2026, time.March, 1+day, 0, 0, 0, 0, time.UTC))
				if len(plans) > 0 && len(share) == 0 {
					t.Errorf("no plan of %v on day %d, one of %d", plans, day, every)
				}
				met = append(met, share...)
			}
			slices.Sort(met)
			if met = slices.Compact(met); !slices.Equal(met, plans) {
				t.Errorf("one of %d has met %v of %v", every, met, plans)
			}
		}
	}
}
