// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"testing"
	"time"

	"espalier.dev/internal/testkit/faults"
)

// eachWorkload calls a function for all workloads, several concurrently, with their numbers.
func eachWorkload(t *testing.T, do func(t *testing.T, w workload, number int)) {
	t.Helper()
	t.Parallel()
	for number, w := range workloads {
		if !faults.IsDue(number, *share, time.Now()) {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			do(t, w, number)
		})
	}
}

// Every request to the API server is the last one of a process, before or after it is executed, or its answer is lost; in a sample, every
// kind of request.
func TestCrashes(t *testing.T) {
	eachWorkload(t, func(t *testing.T, w workload, number int) {
		all := requests(reference(t, w).log)
		if *full {
			sweep(t, w, with(all, faults.CrashPoints...))
			return
		}
		sweep(t, w, rotated(all, number, faults.CrashPoints...))
	})
}

// Every write is answered with an error, or not at all, and the process survives. In a sample, all kinds of requests fail in one run.
func TestErrors(t *testing.T) {
	eachWorkload(t, func(t *testing.T, w workload, number int) {
		log := reference(t, w).log
		if *full {
			sweep(t, w, planned(faults.EachNamedWrite(log, errorAnswers...)))
			return
		}
		var all disturbance
		for _, d := range rotated(requests(log.Writes()), number+1, errorAnswers...) {
			all.plan = all.plan.And(d.plan)
		}
		sweep(t, w, []disturbance{all})
	})
}

// Every request to the Git server and to the receiver of events is the last one of a process, or its answer is bad, lost or missing.
func TestOutside(t *testing.T) {
	t.Parallel()
	for number, w := range workloads {
		if !faults.IsDue(number, *share, time.Now()) {
			continue
		}
		if w.name == "install" {
			continue // it uses no external system
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			day := reference(t, w)
			all := append(outside("provider", day.provider), outside("sink", day.sink)...)
			if *full {
				sweep(t, w, append(eachOutside(all), slowly(all)...))
				return
			}
			sweep(t, w, append(someOutside(all, number), slowly(all)[0]))
		})
	}
}

// The clusters of applications cannot be listed for a while, or watches there break or lag.
func TestTargets(t *testing.T) {
	t.Parallel()
	for number, name := range []string{"supersede", "doubt", "notify"} {
		if !faults.IsDue(number, *share, time.Now()) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := workloadNamed(t, name)
			all := deafTo(helmReleases, len(reference(t, w).log.Writes()))
			if *full {
				sweep(t, w, all)
				return
			}
			middle := len(all) / 8 * 4
			sweep(t, w, []disturbance{all[number], all[middle+number]})
		})
	}
}

// Two replicas: the leader is stopped, crashes or freezes at a write, or both work at once.
func TestFailover(t *testing.T) {
	t.Parallel()
	for number, name := range []string{"supersede", "notify"} {
		if !faults.IsDue(number, *share, time.Now()) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := workloadNamed(t, name)
			writes := reference(t, w).log.Writes()
			all := []disturbance{{processFault: splitBrain}}
			for i, entry := range writes {
				for j, d := range []processFault{stopLeader, crashLeader, freezeLeader} {
					if *full || i == len(writes)*(2*j+1+number)/8 {
						all = append(all, disturbance{processFault: d, at: entry.Write})
					}
				}
			}
			sweep(t, w, all)
		})
	}
}

// A pipeline whose status is lost finds what it has left in the repository, and opens no second pull request, whether the process is lost
// with it or survives.
func TestLostStatus(t *testing.T) {
	t.Parallel()
	for number, name := range []string{"merge", "supersede"} {
		if !faults.IsDue(number, *share, time.Now()) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := workloadNamed(t, name)
			writes := reference(t, w).log.Writes()
			var all []disturbance
			for i, entry := range writes {
				if *full || i == len(writes)*(number+1)/4 || i == len(writes)*(number+2)/4 {
					all = append(all, disturbance{processFault: wipe, at: entry.Write}, disturbance{processFault: lose, at: entry.Write})
				}
			}
			sweep(t, w, all)
		})
	}
}

// A world at rest stays unchanged when another process takes over, after each act of a story: it finds nothing to write.
func TestRestOutlivesAProcess(t *testing.T) {
	eachWorkload(t, func(t *testing.T, w workload, _ int) { sweep(t, w, []disturbance{{processFault: relieve}}) })
}

// TestReplay runs the plan in the flags: by default the first workload, undisturbed.
func TestReplay(t *testing.T) {
	d, err := parseDisturbance(*planFlag)
	if err != nil {
		t.Fatalf("-plan: %v", err)
	}
	d.gitea = *giteaFlag
	w := workloadNamed(t, *workloadFlag)
	want := reference(t, w)
	check(t, want, perform(t, w, d))
}
