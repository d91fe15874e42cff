// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"testing"
	"time"

	"espalier.dev/internal/testkit/faults"
)

// sweep runs a workload once per disturbance, many at a time, and says for each that fails how to repeat it.
func sweep(t *testing.T, w workload, disturbances []disturbance) {
	t.Helper()
	want := reference(t, w)
	report := newTally(t, w, len(disturbances))
	for _, d := range disturbances {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() {
				report.done()
				if t.Failed() {
					t.Log("to repeat it: " + replayCommand(w.name, d.String()))
				}
			})
			judge(t, want, perform(t, w, func(s *scene) { d.arrange(t, s) }))
		})
	}
}

// sample takes each so manieth, unless all are asked for. The first taken differs from caller to caller, and so what they share is
// taken more evenly.
func sample[T any](all []T, each, first int) []T {
	if *full {
		return all
	}
	var some []T
	for i := first % each; i < len(all); i += each {
		some = append(some, all[i])
	}
	return some
}

// rotate gives each write one of the actions, in turn; with -full it gives it all of them.
func rotate(log faults.Log, actions ...faults.Action) []disturbance {
	if *full {
		return planned(faults.EachNamedWrite(log, actions...))
	}
	var plans []faults.Plan
	for i, plan := range faults.EachNamedWrite(log, faults.CrashBefore) {
		plan.Requests[0].Do = actions[i%len(actions)]
		plans = append(plans, plan)
	}
	return planned(plans)
}

// watched are the resources whose caches the controllers decide on.
var watched = []string{"installations", "executions", "deployitems", "dataobjects", "targets"}

// lagging holds the watch of one resource at each write until the next but one, and for each resource in turn; with -full all
// resources, and also such that the cache never sees what it missed.
func lagging(log faults.Log) []disturbance {
	var all []disturbance
	for i, entry := range log.Writes() {
		for j, resource := range watched {
			if !*full && i%len(watched) != j {
				continue
			}
			all = append(all, hold(resource, "hold", entry.Write))
			if *full {
				all = append(all, hold(resource, "relist", entry.Write))
			}
		}
	}
	return all
}

func hold(resource, how string, write int) disturbance {
	plan := faults.MustParse(fmt.Sprintf("watch:%s:%s:%d..%d", resource, how, write, write+2))
	return disturbance{plan: plan}
}

// tally measures a sweep.
type tally struct {
	left  chan struct{}
	began time.Time
}

func newTally(t *testing.T, w workload, plans int) *tally {
	t.Helper()
	r := &tally{left: make(chan struct{}, plans), began: time.Now()}
	t.Cleanup(func() {
		took := time.Since(r.began)
		t.Logf("%s: %d plans in %s, %.1f per second", w.name, len(r.left), took.Round(time.Second), float64(len(r.left))/took.Seconds())
	})
	return r
}

func (r *tally) done() { r.left <- struct{}{} }
