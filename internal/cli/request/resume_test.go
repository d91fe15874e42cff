// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/steer"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/managed"
)

// suspended suspends the installation, and requests a job if that is wanted.
func (s setting) suspended(t *testing.T, asked bool) setting {
	t.Helper()
	annotations := `"espalier.dev/suspend":"true"`
	if asked {
		annotations += `,"` + lsv1alpha1.OperationAnnotation + `":"reconcile"`
	}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{`+annotations+`}}}`))
	if err := s.server.Client().Patch(t.Context(), s.root.DeepCopy(), patch); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s setting) resume(t *testing.T, args ...string) *clitest.Running {
	t.Helper()
	return clitest.Start(t, s.server, s.namespace, clitest.Call{Command: request.NewResume, Args: append([]string{"shop"}, args...)})
}

func TestResumeWaitsForTheJobThatWasHeldBack(t *testing.T) {
	for phase, want := range map[lsv1alpha1.Phase]clitest.Result{
		lsv1alpha1.PhaseSucceeded: {Code: cli.ExitOK, Stdout: "installation shop has succeeded\n"},
		lsv1alpha1.PhaseFailed:    {Code: cli.ExitFailed, Stderr: "error: installation shop has ended as Failed"},
	} {
		t.Run(string(phase), func(t *testing.T) {
			s := set(t).suspended(t, true)
			command := s.resume(t, "--wait")
			command.Until(t, "Installation/shop is resumed; what was requested starts now")
			s.controller.Grant(t, s.root, nextJob)
			s.controller.Adopt(t, s.root, nextJob)
			s.controller.Settle(t, s.root, phase, "Reason", "")
			if got := command.Wait(t); got.Code != want.Code || got.Stdout != want.Stdout || !strings.Contains(got.Stderr, want.Stderr) {
				t.Errorf("%+v", got)
			}
			if steer.IsSuspended(currentRoot(t, s.server, s.root)) {
				t.Error("it is still suspended")
			}
		})
	}
}

// A job that has started before the suspension is not the one that was held back behind it.
func TestResumeDoesNotTakeTheRunningJobForTheNext(t *testing.T) {
	s := set(t, running).suspended(t, true)
	command := s.resume(t, "--wait", "-o", "json")
	command.Until(t, "Installation/shop is resumed; what was requested starts when the current run has finished")
	s.controller.Settle(t, s.root, lsv1alpha1.PhaseFailed, "Reason", "")
	s.controller.Grant(t, s.root, nextJob)
	s.controller.Adopt(t, s.root, nextJob)
	s.controller.Settle(t, s.root, lsv1alpha1.PhaseSucceeded, lsv1alpha1.ReasonSucceeded, "")
	if got := command.Wait(t); got.Code != cli.ExitOK || !strings.Contains(got.Stdout, `"jobID": "`+nextJob+`"`) {
		t.Errorf("%+v", got)
	}
}

func TestResumeWithNothingToWaitFor(t *testing.T) {
	s := set(t).suspended(t, false)
	for _, want := range []string{"installation shop is resumed; nothing was held back\n", "installation shop is not suspended\n"} {
		if got := s.resume(t, "--wait").Wait(t); got.Code != cli.ExitOK || got.Stdout != want {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}

func TestResumeEndsInTime(t *testing.T) {
	s := set(t).suspended(t, true)
	got := s.resume(t, "--wait", "--timeout=300ms").Wait(t)
	if got.Code != cli.ExitTimeout || !strings.Contains(got.Stderr, "espalier wait shop --for=succeeded") {
		t.Errorf("%+v", got)
	}
	if got := s.resume(t, "--wait", "--timeout=-1s").Wait(t); got.Code != cli.ExitError || !strings.Contains(got.Stderr, "--timeout is negative") {
		t.Errorf("%+v", got)
	}
}

// Pipelines have no run with an end, so nothing is resumed at all.
func TestResumeDoesNotWaitForPipelines(t *testing.T) {
	s := set(t).suspended(t, true)
	clitest.Line(t, s.server, s.namespace)
	got := s.resume(t, "pipeline/shop", "--wait").Wait(t)
	if got.Code != cli.ExitError || !strings.Contains(got.Stderr, "pipeline shop has none") ||
		!strings.Contains(got.Stderr, "next:  espalier resume pipeline/shop") || !steer.IsSuspended(currentRoot(t, s.server, s.root)) {
		t.Errorf("%+v", got)
	}
}

// With the controllers as they are, the command waits in both flows until what was held back has taken effect.
func TestResumeInBothFlows(t *testing.T) {
	w := managed.NewWorld(t)
	w.Manage()
	for prefix, continuous := range map[string]bool{"job-": false, "flow-": true} {
		for held, patch := range map[string]string{
			"request": `{"metadata":{"annotations":{"landscaper.gardener.cloud/operation":"reconcile"}}}`,
			"spec":    `{"metadata":{"annotations":{"landscaper.gardener.cloud/reconcile-if-changed":"true"}},"spec":{"importDataMappings":{"a":"b"}}}`,
			"nothing": `{}`,
		} {
			t.Run(prefix+held, func(t *testing.T) {
				both{World: w, T: t, continuous: continuous, prefix: prefix + held + "-"}.resumes(patch)
			})
		}
	}
}

func (b both) resumes(patch string) {
	b.T.Helper()
	inst := b.create("held", lsv1alpha1.PhaseSucceeded)
	b.run(request.NewReconcile, "held", cli.ExitOK, nil, "--wait")
	b.run(request.NewSuspend, "held", cli.ExitOK, nil)
	testkit.Eventually(b.T, b.APIServer, inst, testkit.Is("seen as suspended", func(i *lsv1alpha1.Installation) bool {
		for _, c := range i.Status.Conditions {
			if c.Type == lsv1alpha1.ConditionSuspended && c.Status == lsv1alpha1.ConditionTrue {
				return true
			}
		}
		return false
	}))
	b.Patch(inst, patch)
	before := inst.DeepCopy()
	says := "has succeeded\n"
	if patch == "{}" {
		says = "is resumed; nothing was held back\n"
	}
	b.run(request.NewResume, "held", cli.ExitOK, []string{"installation " + b.prefix + "held " + says}, "--wait")
	b.Read(inst)
	if b.continuous && inst.Status.ObservedGeneration != inst.Generation {
		b.T.Errorf("the spec has generation %d, the status %d", inst.Generation, inst.Status.ObservedGeneration)
	}
	if ran := inst.Status.JobID != before.Status.JobID; !b.continuous && ran != (patch != "{}") {
		b.T.Errorf("another job has run: %t", ran)
	}
}
