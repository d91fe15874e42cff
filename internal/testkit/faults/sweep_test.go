// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/share"
)

// failVariable names, in the sub-process of the test below, the plan under which the workload must fail.
const failVariable = "FAULTS_TEST_FAILING_PLAN"

var reference = faults.Log{
	{Number: 1, Request: faults.Request{Verb: "get", Resource: "configmaps"}},
	{Number: 2, Write: 1, Request: faults.Request{Verb: "create", Resource: "configmaps"}},
	{Number: 3, Write: 2, Request: faults.Request{Verb: "update", Resource: "configmaps"}},
}

func TestSweepRunsEveryPlan(t *testing.T) {
	t.Setenv(share.Variable, "")
	var ran []string
	faults.Sweep(t, faults.EachWrite(reference), func(t *testing.T, plan faults.Plan) {
		ran = append(ran, plan.String())
		if os.Getenv(failVariable) == plan.String() {
			t.Error("as asked")
		}
	})
	want := []string{"write:1:before", "write:1:after", "write:1:lost", "write:2:before", "write:2:after", "write:2:lost"}
	if os.Getenv(failVariable) == "" && !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
}

func TestEachWriteTakesOtherActions(t *testing.T) {
	var texts []string
	for _, plan := range faults.EachWrite(reference, faults.AnswerConflict, faults.Timeout) {
		texts = append(texts, plan.String())
	}
	if want := []string{"write:1:409", "write:1:timeout", "write:2:409", "write:2:timeout"}; !slices.Equal(texts, want) {
		t.Errorf("plans %q, want %q", texts, want)
	}
}

func TestEachNamedWriteCountsBySignature(t *testing.T) {
	patch := faults.Request{Verb: "patch", Resource: "plants", Subresource: "status", Name: "rose"}
	log := faults.Log{
		{Write: 1, Request: faults.Request{Verb: "create", Resource: "plants", Name: "rose"}},
		{Write: 2, Request: patch}, {Request: faults.Request{Verb: "list", Resource: "plants"}}, {Write: 3, Request: patch},
	}
	var texts []string
	for _, plan := range faults.EachNamedWrite(log, faults.CrashAfter) {
		texts = append(texts, plan.String())
	}
	if want := []string{"create/plants=rose:1:after", "patch/plants/status=rose:1:after", "patch/plants/status=rose:2:after"}; !slices.Equal(
		texts,
		want,
	) {
		t.Errorf("plans %q, want %q", texts, want)
	}
	if plans := faults.EachNamedWrite(log); len(plans) != 9 {
		t.Errorf("%d plans, want three ways for each of three writes", len(plans))
	}
}

// The command that a failing sweep prints must run exactly the failing plan.
func TestFailingSweepSaysHowToRepeatIt(t *testing.T) {
	output := runTests(t, "^TestSweepRunsEveryPlan$")
	command := regexp.MustCompile(`to repeat it: go test -count=1 -run '(.*)' (\S+)`).FindStringSubmatch(output)
	if command == nil {
		t.Fatalf("the failing sweep prints no command:\n%s", output)
	}
	if command[2] != "./internal/testkit/faults" {
		t.Errorf("it names the package %q", command[2])
	}
	again := runTests(t, command[1])
	if started := strings.Count(again, "=== RUN   TestSweepRunsEveryPlan/"); started != 1 || !strings.Contains(again, "as asked") {
		t.Errorf("the command runs %d plans:\n%s", started, again)
	}
}

// runTests runs tests of this package in another process, in which the workload fails under one plan.
func runTests(t *testing.T, pattern string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run", pattern)
	cmd.Env = append(os.Environ(), failVariable+"=write:2:after")
	output, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("the tests %q passed:\n%s", pattern, output)
	}
	return string(output)
}
