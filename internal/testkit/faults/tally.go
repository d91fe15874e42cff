// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
)

// processBegan is the start of the budget of sweeps.
var processBegan = time.Now()

// Tally counts the plans of a sweep, which may run in parallel, and logs the sums at the end of the test. If plans were omitted, it prints
// that, so that a passing test does not hide it.
type Tally struct {
	budget time.Duration

	mutex                sync.Mutex
	plans, idle, leftOut int
}

// NewTally returns a new tally. The budget is the time after which the process starts no more plans, so that a sweep also ends on a slow
// machine; 0 means no budget.
func NewTally(t testing.TB, workload string, budget time.Duration) *Tally {
	t.Helper()
	r, began := &Tally{budget: budget}, time.Now()
	t.Cleanup(func() {
		took := time.Since(began).Round(time.Second)
		t.Logf("%s: %d plans in %s, of which %d have met less than they meant", workload, r.plans, took, r.idle)
		if r.leftOut > 0 {
			fmt.Fprintf(os.Stderr, "%s: %d plans were left out, since %s have passed\n", t.Name(), r.leftOut, budget)
		}
	})
	return r
}

// IsLate reports whether the budget is used up; if so, it counts the plan as omitted.
func (r *Tally) IsLate() bool {
	if r.budget == 0 || time.Since(processBegan) < r.budget {
		return false
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.leftOut++
	return true
}

// Add counts a plan that was run, and whether all its faults happened.
func (r *Tally) Add(met bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.plans++
	if !met {
		r.idle++
	}
}
