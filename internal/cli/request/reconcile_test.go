// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

const nextJob = "22222222-2222-4222-8222-222222222222"

// setting is a root installation that has finished a job, and a controller that does what the test says.
type setting struct {
	server     *testkit.APIServer
	namespace  string
	root       *lsv1alpha1.Installation
	controller clitest.Controller
}

func set(t *testing.T, changes ...func(*lsv1alpha1.RunStatus)) setting {
	t.Helper()
	server := testkit.Server(t)
	s := setting{server: server, namespace: server.Namespace(t), controller: clitest.Controller{Server: server}}
	s.root = testkit.Installation(s.namespace, "shop").Finalizer(lsv1alpha1.Finalizer).Build()
	s.root.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded, changes...)
	clitest.Store(t, server, s.root)
	return s
}

func (s setting) start(t *testing.T, args ...string) *clitest.Running {
	t.Helper()
	return clitest.Start(t, s.server, s.namespace, clitest.Call{Command: request.NewReconcile, Args: append([]string{"shop"}, args...)})
}

// running brings the installation into the middle of a job that nobody here has asked for.
func running(s *lsv1alpha1.RunStatus) {
	s.Phase, s.JobID, s.JobIDFinished = lsv1alpha1.PhaseProgressing, clitest.Job, clitest.EarlierJob
}

func TestReconcileOnlyAsks(t *testing.T) {
	s := set(t)
	got := s.start(t).Wait(t)
	if diff := cmp.Diff(clitest.Result{Code: cli.ExitOK, Stdout: "installation shop will run a job\n"}, got); diff != "" {
		t.Error(diff)
	}
	asked := testkit.Eventually(t, s.server, s.root, testkit.Is("there", func(*lsv1alpha1.Installation) bool { return true }))
	if asked.Annotations[lsv1alpha1.OperationAnnotation] != string(lsv1alpha1.OperationReconcile) {
		t.Errorf("annotations are %v", asked.Annotations)
	}
	got = s.start(t, "-o", "json").Wait(t)
	if got.Code != cli.ExitOK || !strings.Contains(got.Stdout, `"verdict": "already has a requested job"`) {
		t.Errorf("%+v", got)
	}
}

func TestReconcileWaitSucceeds(t *testing.T) {
	s := set(t)
	command := s.start(t, "--wait")
	s.controller.Grant(t, s.root, nextJob)
	command.Until(t, "Installation/shop Requested")
	s.controller.Adopt(t, s.root, nextJob)
	s.controller.Settle(t, s.root, lsv1alpha1.PhaseProgressing, lsv1alpha1.ReasonWaitingForSubObjects, "waiting for execution shop")
	command.Until(t, "Installation/shop Progressing: waiting for execution shop")
	s.controller.Settle(t, s.root, lsv1alpha1.PhaseSucceeded, lsv1alpha1.ReasonSucceeded, "")
	got := command.Wait(t)
	if got.Code != cli.ExitOK || got.Stdout != "installation shop has succeeded\n" {
		t.Errorf("exit code %d, stdout %q, stderr:\n%s", got.Code, got.Stdout, got.Stderr)
	}
	if !strings.HasSuffix(got.Stderr, "<now> Installation/shop Succeeded\n") {
		t.Errorf("stderr:\n%s", got.Stderr)
	}
}

func TestReconcileWaitFails(t *testing.T) {
	s := set(t)
	command := s.start(t, "--wait", "-o", "json")
	s.controller.Grant(t, s.root, nextJob)
	s.controller.Adopt(t, s.root, nextJob)
	execution := clitest.ExecutionOf(s.root)
	item := clitest.ItemOf(execution, "nginx")
	execution.Status.RunStatus = clitest.Status(
		lsv1alpha1.PhaseFailed,
		clitest.Of(nextJob),
		clitest.Error("SubObjectFailed", "deploy item nginx failed"),
	)
	item.Status.RunStatus = clitest.Status(
		lsv1alpha1.PhaseFailed,
		clitest.Of(nextJob),
		clitest.Error("InvalidConfiguration", "manifest 2 has no kind"),
	)
	clitest.Store(t, s.server, execution, item)
	s.controller.Settle(t, s.root, lsv1alpha1.PhaseFailed, "SubObjectFailed", "execution shop failed")
	got := command.Wait(t)
	type cause struct{ Kind, Name, Reason, Message string }
	type result struct {
		Name, JobID, Phase string
		ExitCode           int
		Causes             []cause
		Reference          string
	}
	var printed struct{ Results []result }
	if err := json.Unmarshal([]byte(got.Stdout), &printed); err != nil || got.Code != cli.ExitFailed {
		t.Fatalf("exit code %d, %v in %s", got.Code, err, got.Stdout)
	}
	want := []result{{
		Name:     "shop",
		JobID:    nextJob,
		Phase:    string(lsv1alpha1.PhaseFailed),
		ExitCode: cli.ExitFailed,
		Causes: []cause{{
			Kind:    "DeployItem",
			Name:    "shop-nginx",
			Reason:  "InvalidConfiguration",
			Message: "manifest 2 has no kind",
		}},
		Reference: "docs/reference/errors.md#invalidconfiguration",
	}}
	if diff := cmp.Diff(want, printed.Results); diff != "" {
		t.Errorf("the results (-want +got):\n%s", diff)
	}
	for _, want := range []string{
		`{"error":"installation shop has ended as Failed: DeployItem/shop-nginx (InvalidConfiguration): manifest 2 has no kind",`,
		`"reason":"InvalidConfiguration",`, `"next":["espalier why shop -n <namespace> `,
		`"reference":"docs/reference/errors.md#invalidconfiguration"`, `"code":2}`,
	} {
		if !strings.Contains(got.Stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, got.Stderr)
		}
	}
}

// The running job never ends, and so the one that is asked for never begins.
func TestReconcileWaitEndsWhenTheTimeIsUp(t *testing.T) {
	s := set(t, running, clitest.Waits(lsv1alpha1.ReasonWaitingForSubObjects, "waiting for execution shop"))
	got := s.start(t, "--wait", "--timeout=300ms").Wait(t)
	if got.Code != cli.ExitTimeout || got.Stdout != "" {
		t.Errorf("exit code %d, stdout %q", got.Code, got.Stdout)
	}
	for _, want := range []string{"installation shop is not done after 300ms, in phase Progressing", "espalier why shop", "espalier wait shop --for=succeeded"} {
		if !strings.Contains(got.Stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, got.Stderr)
		}
	}
}

func TestReconcileWaitNamesWhoHasToAct(t *testing.T) {
	s := set(t, running, clitest.Waits(lsv1alpha1.ReasonWaitingForImports, "DataObject address does not exist"))
	got := s.start(t, "--wait", "--timeout=300ms").Wait(t)
	if got.Code != cli.ExitNeedsSomebody || !strings.Contains(got.Stderr, "DataObject address does not exist") ||
		!strings.Contains(got.Stderr, "kubectl get dataobjects,targets") {
		t.Errorf("exit code %d:\n%s", got.Code, got.Stderr)
	}
}

// A job that runs when the request comes ends before the one that was asked for begins. Its end must not count.
func TestReconcileWaitIgnoresTheJobBefore(t *testing.T) {
	s := set(t, running)
	command := s.start(t, "--wait")
	command.Until(t, "Installation/shop Progressing")
	s.controller.Settle(t, s.root, lsv1alpha1.PhaseFailed, "Broken", "the job before has failed")
	command.Until(t, "Installation/shop Requested")
	s.controller.Grant(t, s.root, nextJob)
	s.controller.Adopt(t, s.root, nextJob)
	s.controller.Settle(t, s.root, lsv1alpha1.PhaseSucceeded, lsv1alpha1.ReasonSucceeded, "")
	got := command.Wait(t)
	if got.Code != cli.ExitOK || !strings.Contains(got.Stderr, "starts when the running one has finished") {
		t.Errorf("exit code %d:\n%s", got.Code, got.Stderr)
	}
}

func TestReconcileWaitEndsWithTheInstallation(t *testing.T) {
	s := set(t, running)
	command := s.start(t, "--wait")
	command.Until(t, "Installation/shop Progressing")
	current := s.root.DeepCopy()
	if err := s.server.Client().Patch(t.Context(), current, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	if err := s.server.Client().Delete(t.Context(), current); err != nil {
		t.Fatal(err)
	}
	got := command.Wait(t)
	if got.Code != cli.ExitNotFound || !strings.Contains(got.Stderr, "was deleted before its job finished") {
		t.Errorf("exit code %d:\n%s", got.Code, got.Stderr)
	}
}

func TestReconcileDetaches(t *testing.T) {
	s := set(t)
	command := s.start(t, "--wait")
	command.Until(t, "Installation/shop Requested")
	command.Interrupt()
	got := command.Wait(t)
	want := "Detached; the work continues. To follow it again:\n  espalier wait shop --for=succeeded -n <namespace> --kubeconfig=<kubeconfig>\n"
	if got.Code != cli.ExitDetached || !strings.HasSuffix(got.Stderr, want) || got.Stdout != "" {
		t.Errorf("exit code %d, stdout %q, stderr:\n%s", got.Code, got.Stdout, got.Stderr)
	}
}

func TestReconcileShowsTheTree(t *testing.T) {
	s := set(t)
	command := clitest.Start(t, s.server, s.namespace, clitest.Call{
		Command: request.NewReconcile, Args: []string{"shop", "--wait"}, Terminal: &clitest.Terminal{Width: 80, Height: 24},
		Variables: map[string]string{"NO_COLOR": "1"},
	})
	s.controller.Grant(t, s.root, nextJob)
	command.Until(t, "Requested")
	s.controller.Adopt(t, s.root, nextJob)
	s.controller.Settle(t, s.root, lsv1alpha1.PhaseProgressing, lsv1alpha1.ReasonWaitingForSubObjects, "waiting for execution shop")
	command.Until(
		t,
		"\x1b[2A\x1b[JNAME                PHASE         SINCE   MESSAGE\nInstallation/shop   Progressing   0s      waiting for execution shop\n",
	)
	s.controller.Settle(t, s.root, lsv1alpha1.PhaseSucceeded, lsv1alpha1.ReasonSucceeded, "")
	got := command.Wait(t)
	if got.Code != cli.ExitOK || !strings.HasSuffix(got.Stderr, "Installation/shop   Succeeded   0s\n") {
		t.Errorf("exit code %d: %q", got.Code, got.Stderr)
	}
}

func TestRefusedReconciliations(t *testing.T) {
	s := set(t)
	nested := clitest.Nested(s.root, "web").Build()
	deep := clitest.Nested(nested, "cache").Build()
	deleted := testkit.Installation(s.namespace, "deleted").Finalizer(lsv1alpha1.Finalizer).Build()
	deleted.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseDeleting)
	clitest.Store(t, s.server, nested, deep, deleted)
	if err := s.server.Client().Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"nested":       {[]string{"shop-web-cache"}, cli.ExitError, []string{"its root is installation shop", "next:  espalier reconcile shop -n <namespace>"}},
		"absent":       {[]string{"nope"}, cli.ExitNotFound, []string{"cannot read installation nope: it does not exist"}},
		"forbidden":    {[]string{"shop", "--as=nobody"}, cli.ExitNotFound, []string{"forbidden"}},
		"deleted":      {[]string{"deleted"}, cli.ExitError, []string{"is being deleted", "espalier wait deleted --for=deleted"}},
		"no name":      {nil, cli.ExitError, []string{"name installations, or choose them by their labels with --selector"}},
		"bad timeout":  {[]string{"shop", "--timeout=-1s"}, cli.ExitError, []string{"--timeout is negative"}},
		"bad format":   {[]string{"shop", "-o", "table"}, cli.ExitError, []string{"--output takes text, name, json, yaml"}},
		"no timeout":   {[]string{"shop", "--timeout=soon"}, cli.ExitError, []string{"invalid argument"}},
		"one of three": {[]string{"shop", "nope"}, cli.ExitNotFound, []string{"installation nope"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Run(t, s.server, s.namespace, clitest.Call{Command: request.NewReconcile, Args: test.args})
			if got.Code != test.code || got.Stdout != "" {
				t.Errorf("exit code %d, stdout %q", got.Code, got.Stdout)
			}
			for _, want := range test.want {
				if !strings.Contains(got.Stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, got.Stderr)
				}
			}
		})
	}
	untouched := testkit.Eventually(t, s.server, s.root, testkit.Is("there", func(*lsv1alpha1.Installation) bool { return true }))
	if untouched.ResourceVersion == "" || untouched.Annotations[lsv1alpha1.OperationAnnotation] != "" {
		t.Errorf("a refusal has written: %v", untouched.Annotations)
	}
}

// An interrupt that the controllers have not taken yet must not be lost to a request.
func TestReconcileWaitsForAnInterruptToBeTaken(t *testing.T) {
	s := set(t, running)
	annotate := func(patch string) {
		t.Helper()
		if err := s.server.Client().Patch(t.Context(), s.root.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Fatal(err)
		}
	}
	annotate(`{"metadata":{"annotations":{"landscaper.gardener.cloud/operation":"interrupt"}}}`)
	command := s.start(t)
	command.Until(t, `Waiting for the controllers to accept operation "interrupt" of installation shop`)
	annotate(`{"metadata":{"annotations":{"landscaper.gardener.cloud/operation":null}}}`)
	if got := command.Wait(t); got.Code != cli.ExitOK {
		t.Errorf("%+v", got)
	}
}
