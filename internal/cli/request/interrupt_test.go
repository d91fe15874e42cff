// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func operation(t *testing.T, server *testkit.APIServer, namespace, name string) string {
	t.Helper()
	current := &lsv1alpha1.Installation{}
	if err := server.Client().Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, current); err != nil {
		t.Fatal(err)
	}
	return current.Annotations[lsv1alpha1.OperationAnnotation]
}

func TestInterrupt(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	clitest.Blog(t, server, namespace)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: request.NewInterrupt, Args: []string{"shop", "blog"}})
	if got.Code != cli.ExitOK || got.Stdout != "installation shop is interrupted\ninstallation blog has no job to interrupt\n" ||
		got.Stderr != "" {
		t.Errorf("%+v", got)
	}
	if operation(t, server, namespace, "shop") != "interrupt" || operation(t, server, namespace, "blog") != "" {
		t.Error("the wrong one was asked")
	}
}

// Without jobs, what is on its way is aborted, and what has come to its end is left alone.
func TestTheContinuousFlowIsAborted(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	busy, done := testkit.Installation(namespace, "busy").Continuous().Build(), testkit.Installation(namespace, "done").Continuous().Build()
	busy.Status.RunStatus = clitest.Status(lsv1alpha1.PhasePendingDependencies, clitest.Of(""))
	done.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseSucceeded, clitest.Of(""))
	clitest.Store(t, server, busy, done)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: request.NewInterrupt, Args: []string{"busy", "done"}})
	if got.Code != cli.ExitOK || got.Stdout != "installation busy is interrupted\ninstallation done has no job to interrupt\n" ||
		got.Stderr != "" {
		t.Errorf("%+v", got)
	}
	if asked := operation(t, server, namespace, "busy"); asked != "abort" {
		t.Errorf("it was asked to %q", asked)
	}
	if asked := operation(t, server, namespace, "done"); asked != "" {
		t.Errorf("what is done was asked to %q", asked)
	}
}

func TestInterruptReplacesARequest(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	busy := testkit.Installation(namespace, "busy").Reconcile().Build()
	busy.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	clitest.Store(t, server, busy)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: request.NewInterrupt, Args: []string{"busy"}})
	if got.Code != cli.ExitOK || !strings.Contains(got.Stderr, "was dropped; to request it again: espalier reconcile busy") {
		t.Errorf("%+v", got)
	}
	if operation(t, server, namespace, "busy") != "interrupt" {
		t.Error("it was not asked")
	}
}

func TestInterruptWaitsForTheEnd(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	busy := testkit.Installation(namespace, "busy").Build()
	busy.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseProgressing)
	clitest.Store(t, server, busy)
	command := clitest.Start(t, server, namespace, clitest.Call{Command: request.NewInterrupt, Args: []string{"busy", "--wait"}})
	command.Until(t, "Installation/busy Progressing")
	clitest.Controller{Server: server}.Settle(t, busy, lsv1alpha1.PhaseFailed, lsv1alpha1.ReasonInterrupted, "somebody has interrupted it")
	got := command.Wait(t)
	if got.Code != cli.ExitOK || got.Stdout != "installation busy has ended as Failed\n" {
		t.Errorf("%+v", got)
	}
}

func TestInterruptOfANestedInstallation(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Shop(t, server, namespace)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: request.NewInterrupt, Args: []string{"shop-web"}})
	if got.Code != cli.ExitError || !strings.Contains(got.Stderr, "next:  espalier interrupt shop") {
		t.Errorf("%+v", got)
	}
}
