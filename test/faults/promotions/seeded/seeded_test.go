// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build seeded

package seeded

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"espalier.dev/internal/testkit/faults"
)

const (
	root    = "../../../.."
	suite   = "./test/faults/promotions"
	timeout = 4 * time.Minute // ends a run that hangs, which also is a failure
)

// Every seeded bug is found by one of the plans that are named with it, and without any of them those plans pass.
func TestEveryBugIsCaught(t *testing.T) {
	var table strings.Builder
	healthy := faults.BuildMistaken(t, root, suite)
	checked := map[string]bool{}
	for _, b := range bugs {
		t.Run(b.name, func(t *testing.T) {
			binary := faults.BuildMistaken(t, root, suite, b.edits...)
			for _, run := range b.runs {
				caught, how := fails(t, binary, run)
				if !caught {
					continue
				}
				if !checked[run] {
					if sick, why := fails(t, healthy, run); sick {
						t.Fatalf("%s fails without the bug, too: %s", run, why)
					}
					checked[run] = true
				}
				fmt.Fprintf(&table, "%-60s  %-40s  %s\n", b.name, run, how)
				return
			}
			fmt.Fprintf(&table, "%-60s  NOT CAUGHT\n", b.name)
			t.Errorf("no plan finds it: %s", strings.Join(b.runs, ", "))
		})
	}
	t.Logf("\n%s", table.String())
}

var violation = regexp.MustCompile(`I\d+: .*|waited .*|panic: .*`)

// fails runs one plan, WORKLOAD PLAN, and tells how it fails.
func fails(t *testing.T, binary, run string) (bool, string) {
	t.Helper()
	workload, plan, _ := strings.Cut(run, " ")
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	command := exec.CommandContext(ctx, binary, "-test.run", "^TestReplay$", "-workload", workload, "-plan", plan)
	command.Dir = ".."
	var output bytes.Buffer
	command.Stdout, command.Stderr = &output, &output
	if err := command.Run(); err == nil {
		return false, ""
	}
	how := violation.FindString(output.String())
	return true, how[:min(len(how), 150)]
}
