// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// Bug is a plausible mistake. Where the code guards against a mistake twice, the mistake takes two edits.
type Bug struct {
	Name  string
	Edits []Edit
	// Runs are plans of which at least one must fail, each as WORKLOAD PLAN.
	Runs []string
}

// Suite is a sweep whose tests must find bugs. Its test TestReplay replays one plan.
type Suite struct {
	Root    string // the folder of the module, relative to that of the test
	Package string // of the sweep; its folder is the parent of the test's
	Bugs    []Bug
}

// Applies fails for each bug that can no longer be made because the code has changed. It builds nothing.
func (s Suite) Applies(t *testing.T) {
	for _, b := range s.Bugs {
		t.Run(b.Name, func(t *testing.T) {
			overlay(t, s.Root, t.TempDir(), b.Edits)
			if len(b.Runs) == 0 {
				t.Error("no plan is named that finds it")
			}
		})
	}
}

// Catches makes each bug, several at once. At least one of its plans must find it, and without the bug those plans must pass.
func (s Suite) Catches(t *testing.T) {
	healthy := healthyRuns{binary: BuildMistaken(t, s.Root, s.Package)}
	table := make([]string, len(s.Bugs))
	t.Cleanup(func() { t.Logf("\n%s", strings.Join(table, "")) })
	for i, b := range s.Bugs {
		t.Run(b.Name, func(t *testing.T) {
			t.Parallel()
			table[i] = fmt.Sprintf("%-60s  NOT CAUGHT\n", b.Name)
			binary := BuildMistaken(t, s.Root, s.Package, b.Edits...)
			for _, run := range b.Runs {
				caught, how, _ := replay(t, binary, run, shortPatience)
				if !caught {
					continue
				}
				healthy.check(t, run)
				table[i] = fmt.Sprintf("%-60s  %-50s  %s\n", b.Name, run, how)
				return
			}
			t.Errorf("no plan finds it: %s", strings.Join(b.Runs, ", "))
		})
	}
}

// healthyRuns are plans that were tried without any bug.
type healthyRuns struct {
	binary string
	tried  sync.Map // of a *sync.Once by plan
}

// check tries a plan, unless that was already done for another bug.
func (h *healthyRuns) check(t *testing.T, run string) {
	t.Helper()
	once, _ := h.tried.LoadOrStore(run, &sync.Once{})
	once.(*sync.Once).Do(func() {
		if sick, _, output := replay(t, h.binary, run); sick {
			t.Errorf("%s fails without the bug, too:\n%s", run, output)
		}
	})
}

// replayLimit ends a run that hangs, which is also a failure.
const replayLimit = 5 * time.Minute

// shortPatience limits the waits of a run that is expected to fail: many bugs show in a wait that never ends. The variable is that of
// package testkit, whose tests import this package.
const shortPatience = "ESPALIER_TEST_PATIENCE=2m"

var violation = regexp.MustCompile(`[IC]\d+: .*|waited .*|config map .*|panic: .*`)

// replay runs one plan, WORKLOAD PLAN, and reports whether and how it fails.
func replay(t *testing.T, binary, run string, environment ...string) (failed bool, how, output string) {
	t.Helper()
	workload, plan, _ := strings.Cut(run, " ")
	ctx, cancel := context.WithTimeout(t.Context(), replayLimit)
	defer cancel()
	command := exec.CommandContext(ctx, binary, "-test.run", "^TestReplay$", "-workload", workload, "-plan", plan)
	command.Dir, command.Env = "..", append(os.Environ(), environment...)
	var written bytes.Buffer
	command.Stdout, command.Stderr = &written, &written
	if err := command.Run(); err == nil {
		return false, "", ""
	} else if ctx.Err() != nil {
		fmt.Fprintf(&written, "the run was ended after %s: %v\n", replayLimit, err)
	}
	how = violation.FindString(written.String())
	return true, how[:min(len(how), 150)], tail(written.String(), 4000)
}

func tail(text string, size int) string { return text[max(0, len(text)-size):] }
