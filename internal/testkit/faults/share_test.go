// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"slices"
	"testing"
	"time"

	"espalier.dev/internal/testkit/faults"
)

// Every plan of every workload has its day within as many days as a share stands for.
func TestShare(t *testing.T) {
	for _, plans := range [][]int{nil, {1}, {1, 2}, {1, 2, 3, 4, 5, 6, 7}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}} {
		for _, every := range []int{0, 1, 3, 8, 16, 64} {
			for workload := range 9 {
				checkShare(t, plans, every, workload)
			}
		}
	}
}

func checkShare(t *testing.T, plans []int, every, workload int) {
	t.Helper()
	var met []int
	for n := range max(1, every) {
		day := time.Date(2026, time.March, 1+n, 0, 0, 0, 0, time.UTC)
		if !faults.IsDue(workload, every, day) {
			continue
		}
		share := faults.Share(plans, every, day)
		if len(plans) > 0 && len(share) == 0 {
			t.Errorf("no plan of %v on day %d, one of %d", plans, n, every)
		}
		met = append(met, share...)
	}
	slices.Sort(met)
	if met = slices.Compact(met); !slices.Equal(met, plans) {
		t.Errorf("one of %d has met %v of %v in workload %d", every, met, plans, workload)
	}
}

// Each day runs about the requested share.
func TestAShareIsSmall(t *testing.T) {
	const workloads, every = 24, 64
	plans := make([]int, 40)
	run := 0
	for workload := range workloads {
		if day := time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC); faults.IsDue(workload, every, day) {
			run += len(faults.Share(plans, every, day))
		}
	}
	if want := workloads * len(plans) / every; run != want {
		t.Errorf("%d plans of %d are run, want %d", run, workloads*len(plans), want)
	}
}
