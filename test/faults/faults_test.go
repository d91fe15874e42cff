// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"slices"
	"testing"

	"espalier.dev/internal/testkit/faults"
)

// Every write of the main workload, by whichever controller, is the last one of a process, before or after it is stored, or its answer
// is lost.
func TestCrashAtEveryWrite(t *testing.T) {
	w := workloadNamed(t, "life")
	sweep(t, w, rotate(reference(t, w).log, faults.CrashPoints...))
}

// swept are the workloads with the main one first. The one in which a user interferes is much like that, and left to a full run.
func swept() []workload {
	return slices.DeleteFunc(slices.Clone(workloads), func(w workload) bool { return w.name == "tended" && !*full })
}

// The same for the other workloads, of which a sample is taken.
func TestCrashAtWritesOfOtherWorkloads(t *testing.T) {
	for i, w := range swept()[1:] {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			sweep(t, w, sample(rotate(reference(t, w).log, faults.CrashPoints...), 8, i))
		})
	}
}

func TestErrorsAtWrites(t *testing.T) {
	errors := []faults.Action{
		faults.AnswerConflict, faults.AnswerInternalError, faults.AnswerUnavailable, faults.LoseAnswerByTimeout, faults.AnswerTooMany,
	}
	for i, w := range swept() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			sweep(t, w, sample(rotate(reference(t, w).log, errors...), 24, 5*i))
		})
	}
}

func TestStaleCaches(t *testing.T) {
	for i, w := range swept() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			sweep(t, w, sample(lagging(reference(t, w).log), 24, 7*i))
		})
	}
}

// longSleep is a number of writes after which the main workload is in its second job.
const longSleep = 90

func TestFailover(t *testing.T) {
	w := workloadNamed(t, "life")
	var all []disturbance
	for i, entry := range reference(t, w).log.Writes() {
		kinds := []disturbance{
			{deed: stopLeader, at: entry.Write}, {deed: crashLeader, at: entry.Write},
			{deed: freezeLeader, at: entry.Write}, {deed: freezeLeader, at: entry.Write, until: longSleep},
		}
		for j, d := range kinds {
			if *full || i%len(kinds) == j {
				all = append(all, d)
			}
		}
	}
	sweep(t, w, append(sample(all, 23, 4), disturbance{deed: twins}))
}

// TestReplay runs what the flags say: by default the main workload, undisturbed.
func TestReplay(t *testing.T) {
	d, err := parseDisturbance(*planFlag)
	if err != nil {
		t.Fatalf("-plan: %v", err)
	}
	w := workloadNamed(t, *workloadFlag)
	want := reference(t, w)
	judge(t, want, perform(t, w, func(s *scene) { d.arrange(t, s) }))
}
