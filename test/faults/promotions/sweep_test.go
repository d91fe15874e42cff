// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"espalier.dev/internal/testkit/faults"
	writes "espalier.dev/test/faults/invariant"
	"espalier.dev/test/faults/promotions/invariant"
)

// outcome is the result of a run: the whole evidence, its points of rest, and the requests to the API server, the Git server and the sink.
type outcome struct {
	pauses         []pause
	evidence       invariant.Evidence
	log            faults.Log
	provider, sink []call
	met            bool     // everything that was planned has happened
	exceptions     []string // permitted differences of an ending
	// doubled are the writes of processes that share the work, if several have worked on the pipeline at once.
	doubled []writes.Violation
}

// perform runs a workload with a disturbance. Unless all of it is required, it ends with the act in which everything that is planned has
// happened: if the world is then as it should be, its future is that of the reference.
func perform(t *testing.T, w workload, d disturbance) outcome {
	t.Helper()
	s := newScene(t, w, d)
	t.Cleanup(func() {
		if t.Failed() {
			sent := s.processes.Log().Where(func(e faults.Entry) bool { return e.Verb != "watch" })
			t.Logf(
				"what the first process has sent:\n%s\nat the provider: %v\nat the sink: %v\nledger: %v",
				sent,
				s.provider.log(),
				s.sink.log(),
				s.ledger.list(),
			)
		}
	})
	d.arrange(s, w)
	for _, act := range w.acts {
		act(s)
		if d.processFault == relieve {
			s.relieve(t)
		}
		if !*full && d.isOver(s) {
			break
		}
	}
	return outcome{
		pauses: s.pauses, evidence: s.evidence(), log: s.processes.Log(), provider: s.provider.log(), sink: s.sink.log(), met: d.isOver(s),
		exceptions: exceptions(w, d), doubled: d.doubled(s),
	}
}

// violations returns what is wrong with a run, independent of other runs. The rules are applied to what was known at each rest, because a
// later approval did not exist then.
func (o outcome) violations() []invariant.Violation {
	var all []invariant.Violation
	for _, p := range o.pauses {
		all = append(all, invariant.Check(p.evidence)...)
		all = append(all, invariant.AtRest(p.evidence)...)
	}
	all = append(all, invariant.Check(o.evidence)...)
	seen := map[invariant.Violation]bool{}
	return slices.DeleteFunc(all, func(v invariant.Violation) bool {
		again := seen[v]
		seen[v] = true
		return again
	})
}

// goodDay is the undisturbed run of a workload.
type goodDay struct {
	once sync.Once
	run  *outcome
}

// goodDays are the undisturbed runs by workload.
var goodDays sync.Map

// reference runs a workload undisturbed, once per test process.
func reference(t *testing.T, w workload) *outcome {
	t.Helper()
	entry, _ := goodDays.LoadOrStore(w.name, &goodDay{})
	day := entry.(*goodDay)
	day.once.Do(func() {
		t.Run("reference", func(t *testing.T) {
			o := perform(t, w, disturbance{})
			report(t, o.violations())
			day.run = &o
		})
	})
	if day.run == nil {
		t.Fatalf("the reference run of %s failed", w.name)
	}
	return day.run
}

// check checks every state of the pipeline and everything that has happened outside, and the points of rest against those of the reference.
func check(t *testing.T, want *outcome, got outcome) {
	t.Helper()
	violations := got.violations()
	for i := range got.pauses {
		at := invariant.Compare(want.pauses[i].ending, got.pauses[i].ending, got.exceptions...)
		for j := range at {
			at[j].What = fmt.Sprintf("at rest %q: %s", got.pauses[i].name, at[j].What)
		}
		violations = append(violations, at...)
	}
	report(t, violations)
	if len(got.doubled) > 0 {
		t.Errorf("%s", writes.Describe(got.doubled))
	}
	if excess := writes.Bounded(want.evidence.History, got.evidence.History); len(excess) > 0 {
		t.Errorf("%s", writes.Describe(excess))
	}
}

// exceptions returns the permitted differences of an ending. A pipeline that has lost its status does not know how often it has run before,
// and which of its promotions have succeeded; one that was down when a revision came and went has not seen it.
func exceptions(w workload, d disturbance) []string {
	if d.processFault == wipe || d.processFault == lose || w.meanwhile != nil {
		return []string{"run "}
	}
	return nil
}

const mostViolations = 20

func report(t *testing.T, violations []invariant.Violation) {
	t.Helper()
	if len(violations) == 0 {
		return
	}
	var lines []string
	for _, violation := range violations[:min(len(violations), mostViolations)] {
		lines = append(lines, violation.String())
	}
	t.Errorf("%d violations:\n%s", len(violations), strings.Join(lines, "\n"))
}

// sweep runs a workload once per disturbance, many concurrently, and prints for each failure how to repeat it.
func sweep(t *testing.T, w workload, disturbances []disturbance) {
	t.Helper()
	if len(disturbances) == 0 {
		t.Error("there is no plan to sweep")
	}
	want := reference(t, w)
	report := faults.NewTally(t, w.name, *budget)
	for _, d := range faults.Share(disturbances, *share, time.Now()) {
		t.Run(d.String(), func(t *testing.T) {
			t.Parallel()
			if report.IsLate() {
				return
			}
			t.Cleanup(func() {
				if t.Failed() {
					t.Log("to repeat it: " + replayCommand(w.name, d))
				}
			})
			got := perform(t, w, d)
			report.Add(got.met)
			check(t, want, got)
		})
	}
}

// replayCommand returns the command that runs one plan alone.
func replayCommand(workload string, d disturbance) string {
	text := fmt.Sprintf(`go test -count=1 -run '^TestReplay$' ./test/faults/promotions -args -workload=%s -plan='%s'`, workload, d)
	if d.gitea {
		text += " -gitea"
	}
	return text
}
