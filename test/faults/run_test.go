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

// outcome is what a run leaves: the whole history, its points of rest, and what the first process has sent.
type outcome struct {
	pauses  []pause
	history testkit.History
	log     faults.Log
	mark    int
}

// perform runs a workload with the processes that arrange starts. Unless all is asked for, it ends with the act in which the planned
// faults have struck: a world that is then as it should be has a future like that of the reference.
func perform(t *testing.T, w workload, arrange func(*scene)) outcome {
	t.Helper()
	s := newScene(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what the first process has sent:\n%s", s.processes.log().Where(func(e faults.Entry) bool { return e.IsWrite() || e.Fault != "" }))
		}
	})
	arrange(s)
	for _, act := range w.acts {
		act(t, s)
		if !*full && s.struck() {
			break
		}
	}
	return outcome{pauses: s.pauses, history: s.recorder.History(), log: s.processes.log(), mark: s.mark}
}

// goodDays are the undisturbed runs, one for each workload that is needed.
var goodDays = struct {
	mutex sync.Mutex
	runs  map[string]*outcome
}{runs: map[string]*outcome{}}

// reference runs a workload on a good day, once per test process.
func reference(t *testing.T, w workload) *outcome {
	t.Helper()
	goodDays.mutex.Lock()
	defer goodDays.mutex.Unlock()
	if goodDays.runs[w.name] == nil {
		o := perform(t, w, func(s *scene) { s.operate(t, faults.Plan{}) })
		goodDays.runs[w.name] = &o
	}
	if len(goodDays.runs[w.name].pauses) == 0 {
		t.Fatalf("the reference run of %s failed", w.name)
	}
	return goodDays.runs[w.name]
}

// struck tells whether a fault of requests has struck, or a process has crashed.
func (s *scene) struck() bool {
	return len(s.processes.log().Where(func(e faults.Entry) bool { return e.Fault != "" })) > 0
}

// judge checks every state that anything has had in a run, and its points of rest against those of the reference.
func judge(t *testing.T, want *outcome, got outcome) {
	t.Helper()
	violations := invariant.Check(got.history)
	for i := range got.pauses {
		different := invariant.SameEnding(want.pauses[i].history, got.pauses[i].history)
		for j := range different {
			different[j].What = fmt.Sprintf("at rest %q: %s", got.pauses[i].name, different[j].What)
		}
		violations = append(violations, different...)
	}
	violations = append(violations, invariant.Bounded(want.history, got.history)...)
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

// replayCommand runs one plan alone.
func replayCommand(workload, plan string) string {
	quoted := "'" + strings.ReplaceAll(plan, "'", `'"'"'`) + "'"
	return fmt.Sprintf(`go test -count=1 -run '^TestReplay$' ./test/faults -args -workload=%s -plan=%s`, workload, quoted)
}
