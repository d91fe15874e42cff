// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package wait_test

import (
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/wait"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestExitCodes has a case for each exit code.
func TestExitCodes(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	clitest.Blog(t, server, namespace)
	done := testkit.Installation(namespace, "done").Build()
	done.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded)
	missing := testkit.Installation(namespace, "missing-import").Build()
	missing.Status.RunStatus = clitest.Status(
		lsv1alpha1.PhaseInit,
		clitest.Waits(lsv1alpha1.ReasonWaitingForImports, "DataObject address does not exist"),
	)
	clitest.Store(t, server, done, missing, testkit.Installation(namespace, "fresh").Build())
	for name, test := range map[string]struct {
		args   []string
		code   int
		stdout string
		stderr []string
	}{
		"succeeded":             {[]string{"done"}, cli.ExitOK, "installation done has succeeded\n", nil},
		"twice":                 {[]string{"done", "Installation/done", "inst/done"}, cli.ExitOK, "installation done has succeeded\n", nil},
		"another kind":          {[]string{"deployitem/done"}, cli.ExitError, "", []string{`"deployitem/done" does not name an installation`}},
		"succeeded in time":     {[]string{"done", "--timeout=1ns"}, cli.ExitOK, "installation done has succeeded\n", nil},
		"name":                  {[]string{"done", "-o", "name"}, cli.ExitOK, "installation.landscaper.gardener.cloud/done\n", nil},
		"gone":                  {[]string{"nope", "--for=deleted"}, cli.ExitOK, "installation nope has been deleted\n", nil},
		"failed, and who cares": {[]string{"blog", "--for=finished"}, cli.ExitOK, "installation blog has ended as Failed\n", nil},
		"usage":                 {[]string{"done", "--for=ready"}, cli.ExitError, "", []string{`--for is "ready"`}},
		"nested":                {[]string{"shop-web"}, cli.ExitError, "", []string{"next:  espalier wait shop --for=succeeded"}},
		"failed": {[]string{"blog"}, cli.ExitFailed, "", []string{
			"installation blog has ended as Failed: DeployItem/blog-theme (InvalidManifest): manifest 2: spec.replicas:[31m must be a number and is not\n",
			"next:  espalier why blog",
		}},
		"timeout": {[]string{"shop", "--timeout=300ms"}, cli.ExitTimeout, "", []string{
			"installation shop is not done after 300ms, in phase Progressing: DeployItem/shop-web-nginx (WaitingForReadiness)", "espalier why shop", "espalier wait shop",
		}},
		"nobody asked":        {[]string{"fresh"}, cli.ExitNeedsSomebody, "", []string{"installation fresh has not started: no job requested yet", "espalier reconcile fresh --wait"}},
		"nobody deletes":      {[]string{"done", "--for=deleted"}, cli.ExitNeedsSomebody, "", []string{"is not being deleted", "espalier delete done --wait"}},
		"a missing import":    {[]string{"missing-import", "--timeout=300ms"}, cli.ExitNeedsSomebody, "", []string{"; needs action by a user", "DataObject address does not exist"}},
		"absent":              {[]string{"nope"}, cli.ExitNotFound, "", []string{"cannot read installation nope: it does not exist"}},
		"forbidden":           {[]string{"done", "--as=nobody"}, cli.ExitNotFound, "", []string{"forbidden"}},
		"the gravest counts":  {[]string{"done", "blog", "shop", "--timeout=300ms"}, cli.ExitFailed, "installation done has succeeded\n", []string{"error: installation blog has ended", "error: installation shop is not done"}},
		"forbidden to delete": {[]string{"nope", "--for=deleted", "--as=nobody"}, cli.ExitNotFound, "", []string{"forbidden"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Run(t, server, namespace, clitest.Call{Command: wait.New, Args: test.args})
			if got.Code != test.code || got.Stdout != test.stdout {
				t.Errorf("exit code %d, stdout %q, stderr:\n%s", got.Code, got.Stdout, got.Stderr)
			}
			for _, want := range test.stderr {
				if !strings.Contains(got.Stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, got.Stderr)
				}
			}
			if strings.Contains(got.Stderr, "\x1b") {
				t.Errorf("a message can steer the terminal: %q", got.Stderr)
			}
		})
	}
}

func TestDetachedFromSeveral(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	clitest.Blog(t, server, namespace)
	command := clitest.Start(t, server, namespace, clitest.Call{Command: wait.New, Args: []string{"blog", "shop", "--for=finished"}})
	command.Until(t, "DeployItem/shop-web-nginx Progressing")
	command.Interrupt()
	got := command.Wait(t)
	if got.Code != cli.ExitDetached || !strings.Contains(got.Stderr, "  espalier wait shop --for=finished -n") {
		t.Errorf("%+v", got)
	}
}

// A tree that is larger than the terminal shows what matters.
func TestSmallTerminal(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	command := clitest.Start(t, server, namespace, clitest.Call{
		Command:   wait.New,
		Args:      []string{"shop"},
		Terminal:  &clitest.Terminal{Width: 70, Height: 6},
		Variables: map[string]string{"NO_COLOR": "1"},
	})
	command.Until(t, "... and 2 more\n")
	command.Interrupt()
	got := command.Wait(t)
	frame, _, _ := strings.Cut(got.Stderr, "\x1b")
	testkit.Golden(t, "small-terminal", frame)
}

// A server that is away for a while does not end the waiting.
func TestLostConnection(t *testing.T) {
	server := testkit.NewServer(t, testkit.Persistent(), testkit.ProjectCRDs())
	namespace := server.Namespace(t)
	busy := testkit.Installation(namespace, "busy").Build()
	busy.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	clitest.Store(t, server, busy)
	command := clitest.Start(t, server, namespace, clitest.Call{Command: wait.New, Args: []string{"busy"}})
	command.Until(t, "Installation/busy Progressing")
	server.Stop(t)
	command.Until(t, "connection lost, retrying: ")
	server.Start(t)
	command.Until(t, "the connection is back")
	clitest.Controller{Server: server}.Settle(t, busy, lsv1alpha1.PhaseSucceeded, lsv1alpha1.ReasonSucceeded, "")
	if got := command.Wait(t); got.Code != cli.ExitOK || got.Stdout != "installation busy has succeeded\n" {
		t.Errorf("%+v", got)
	}
}
