// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"testing"
	"time"

	"espalier.dev/internal/testkit/faults"
)

// Every write of every workload, by any controller, is the last one of a process, before or after it is stored, or its answer is lost; in a
// sample, every kind of write.
func TestCrashes(t *testing.T) {
	eachWorkload(t, func(t *testing.T, w workload, number int) {
		log := reference(t, w).log
		if *full {
			sweep(t, w, planned(named(log, faults.CrashPoints...)))
			return
		}
		var all []disturbance
		for i, write := range kindsOf(log, 0) {
			all = append(all, disturbance{plan: write.with(faults.CrashPoints[(i+number)%len(faults.CrashPoints)])})
		}
		for _, write := range append(statesOf(log), recordsOf(log)...) {
			for _, point := range faults.CrashPoints {
				all = append(all, disturbance{plan: write.with(point)})
			}
		}
		sweep(t, w, all)
	})
}

var errorAnswers = []faults.Action{
	faults.AnswerConflict, faults.AnswerInternalError, faults.LoseAnswer, faults.AnswerUnavailable, faults.LoseAnswerByTimeout, faults.AnswerTooMany,
}

// Every write of every workload is answered with an error, or not at all, and the process survives. In a sample, all kinds of writes fail
// once each in a few runs.
func TestErrors(t *testing.T) {
	const runs = 2
	eachWorkload(t, func(t *testing.T, w workload, number int) {
		log := reference(t, w).log
		if *full {
			sweep(t, w, planned(named(log, errorAnswers...)))
			return
		}
		all := make([]disturbance, runs)
		for i, write := range kindsOf(log, number+1) {
			d := &all[i%runs]
			d.plan = d.plan.And(write.with(errorAnswers[(i+number)%len(errorAnswers)]))
		}
		sweep(t, w, all)
	})
}

// The cache of each kind lags behind at every write. In a sample, all of them lag in a few runs, one after the other.
func TestStaleCaches(t *testing.T) {
	const runs = 2
	eachWorkload(t, func(t *testing.T, w workload, _ int) {
		log := reference(t, w).log
		all := forgetful(log)
		if *full {
			sweep(t, w, append(all, lagging(log)...))
			return
		}
		for run := range runs {
			all = append(all, lagAll(log, run, runs))
		}
		sweep(t, w, all)
	})
}

// longSleep is a number of writes after which the main workloads are in their second act.
const longSleep = 90

func TestFailover(t *testing.T) {
	t.Parallel()
	for number, name := range []string{"life", "growth", "release", "order", "press", "sync"} {
		if !faults.IsDue(number, *share, time.Now()) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := workloadNamed(t, name)
			writes := reference(t, w).log.Writes()
			all := []disturbance{{processFault: splitBrain}}
			for i, entry := range writes {
				kinds := []disturbance{
					{processFault: stopLeader, at: entry.Write}, {processFault: crashLeader, at: entry.Write},
					{processFault: freezeLeader, at: entry.Write}, {processFault: freezeLeader, at: entry.Write, until: longSleep},
				}
				for j, d := range kinds {
					if *full || i == len(writes)*(2*j+1+number)/20 {
						all = append(all, d)
					}
				}
			}
			sweep(t, w, all)
		})
	}
}

// A world at rest stays unchanged when another process takes over, after each act of a story: it finds nothing to write.
func TestRestOutlivesAProcess(t *testing.T) {
	eachWorkload(t, func(t *testing.T, w workload, _ int) {
		if *full || w.name == "repair" || w.name == "press" || w.name == "sync" || w.isContinuous() {
			sweep(t, w, []disturbance{{processFault: relieve}})
		}
	})
}

// TestReplay runs the plan in the flags: by default the main workload, undisturbed.
func TestReplay(t *testing.T) {
	d, err := parseDisturbance(*planFlag)
	if err != nil {
		t.Fatalf("-plan: %v", err)
	}
	w := workloadNamed(t, *workloadFlag)
	want := reference(t, w)
	check(t, want, perform(t, w, d))
}
