// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"espalier.dev/internal/testkit/share"
)

// CrashPoints are the three ways in which a process can be interrupted at a write.
var CrashPoints = []Action{CrashBefore, CrashAfter, LoseAnswer}

// EachWrite returns one plan for every write of a reference run and every action. Without actions it takes CrashPoints.
func EachWrite(reference Log, actions ...Action) []Plan {
	if len(actions) == 0 {
		actions = CrashPoints
	}
	var plans []Plan
	for _, entry := range reference.Writes() {
		for _, action := range actions {
			plans = append(plans, At(entry.Write, action))
		}
	}
	return plans
}

// EachNamedWrite is EachWrite, but its plans do not count all writes: they name the object, and count the writes of one signature to it. So
// each plan hits the intended write even if several workers write in an order that differs from run to run.
func EachNamedWrite(reference Log, actions ...Action) []Plan {
	if len(actions) == 0 {
		actions = CrashPoints
	}
	var plans []Plan
	for _, what := range namedWrites(reference) {
		for _, action := range actions {
			plans = append(plans, Plan{Requests: []RequestFault{{What: what.Pattern, Which: what.Which, Do: action}}})
		}
	}
	return plans
}

type namedWrite struct {
	Pattern
	Which
}

func namedWrites(reference Log) []namedWrite {
	counts := map[Pattern]int{}
	var writes []namedWrite
	for _, entry := range reference.Writes() {
		pattern := Pattern{Verb: entry.Verb, Resource: entry.Resource, Subresource: entry.Subresource, Name: entry.Name}
		counts[pattern]++
		writes = append(writes, namedWrite{pattern, Which{Number: counts[pattern]}})
	}
	return writes
}

// Sweep runs the workload once per plan, each in a subtest of the plan's name, and prints for each that fails how to repeat it alone.
//
//	reference := run(t, faults.Plan{}).Log()
//	faults.Sweep(t, faults.EachWrite(reference), func(t *testing.T, plan faults.Plan) {
//		run(t, plan)
//	})
//
// A sweep without plans fails: it would prove nothing. Where tests try a share of their cases, that is a share of the plans.
func Sweep(t *testing.T, plans []Plan, workload func(t *testing.T, plan Plan)) {
	t.Helper()
	if len(plans) == 0 {
		t.Error("there is no plan to sweep: did the reference run write anything?")
	}
	cases := share.Of()
	for _, plan := range plans {
		if !cases.Try() {
			continue
		}
		t.Run(plan.String(), func(t *testing.T) {
			t.Cleanup(func() {
				if t.Failed() {
					t.Log("to repeat it: " + replayCommand(t.Name()))
				}
			})
			workload(t, plan)
		})
	}
}

// replayCommand returns the go command that runs one subtest of the package in whose folder the test runs.
func replayCommand(test string) string {
	var pattern []string
	for part := range strings.SplitSeq(test, "/") {
		pattern = append(pattern, "^"+regexp.QuoteMeta(part)+"$")
	}
	return fmt.Sprintf("go test -count=1 -run '%s' %s", strings.Join(pattern, "/"), packageFolder())
}

// packageFolder returns the working directory, in which go runs tests, relative to its module.
func packageFolder() string {
	dir, err := os.Getwd()
	if err != nil {
		return "."
	}
	for root := dir; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			rel, err := filepath.Rel(root, dir)
			if err != nil {
				return "."
			}
			return "./" + filepath.ToSlash(rel)
		} else if !errors.Is(err, fs.ErrNotExist) || root == filepath.Dir(root) {
			return "."
		}
	}
}
