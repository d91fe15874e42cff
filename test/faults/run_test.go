// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/test/faults/invariant"
)

// outcome is the result of a run: the whole history, its points of rest, and the requests of the first process.
type outcome struct {
	pauses  []pause
	history testkit.History
	log     faults.Log
	mark    int
	asked   int  // requests to the registry
	met     bool // everything that was planned has happened
	more    bool // the number of writes says nothing: a user has requested more
	two     bool // two processes have worked at once
	// doubled are the trees on which several processes that share the work have worked at once.
	doubled []invariant.Violation
}

// perform runs a workload with a disturbance. Unless all of it is required, it ends with the act in which everything that is planned has
// happened: if the world is then as it should be, its future is that of the reference.
func perform(t *testing.T, w workload, d disturbance) outcome {
	t.Helper()
	s := w.scene(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf(
				"what the first process has sent:\n%s",
				s.processes.Log().Where(func(e faults.Entry) bool { return e.IsWrite() || e.Fault != "" }),
			)
		}
	})
	d.arrange(t, s)
	for _, act := range w.acts {
		act(t, s)
		if d.processFault == relieve {
			s.relieve(t)
		}
		if !*full && d.isOver(s) {
			break
		}
	}
	return outcome{
		pauses:  s.pauses,
		history: s.recorder.History(),
		log:     s.processes.Log(),
		mark:    s.mark,
		asked:   commonShelves().requests(s.namespace),
		met:     d.isOver(s),
		more:    d.processFault == userForces,
		two:     d.processFault == splitBrain,
		doubled: d.doubled(s),
	}
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
			day.run = &o
		})
	})
	if day.run == nil {
		t.Fatalf("the reference run of %s failed", w.name)
	}
	return day.run
}

// check checks every state of any object in a run, and its points of rest against those of the reference.
func check(t *testing.T, want *outcome, got outcome) {
	t.Helper()
	rules := invariant.Rules()
	if got.two {
		rules = invariant.RulesOfTwo()
	}
	violations := invariant.Check(got.history, rules)
	violations = append(violations, got.doubled...)
	for i := range got.pauses {
		different := invariant.SameEnding(want.pauses[i].history, got.pauses[i].history)
		for j := range different {
			different[j].What = fmt.Sprintf("at rest %q: %s", got.pauses[i].name, different[j].What)
		}
		violations = append(violations, different...)
	}
	if !got.more {
		violations = append(violations, invariant.Bounded(want.history, got.history)...)
	}
	report(t, violations)
}

const mostViolations = 20

func report(t *testing.T, violations []invariant.Violation) {
	t.Helper()
	if len(violations) == 0 {
		return
	}
	shown := violations[:min(len(violations), mostViolations)]
	t.Errorf("%d violations:\n%s", len(violations), invariant.Describe(shown))
}

// replayCommand returns the command that runs one plan alone.
func replayCommand(workload, plan string) string {
	quoted := "'" + strings.ReplaceAll(plan, "'", `'"'"'`) + "'"
	return fmt.Sprintf(`go test -count=1 -run '^TestReplay$' ./test/faults -args -workload=%s -plan=%s`, workload, quoted)
}
