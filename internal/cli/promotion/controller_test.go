// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotion_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/managed"
)

// runController runs the controller of pipelines until the test ends.
func runController(t *testing.T, server *testkit.APIServer, namespace string) {
	t.Helper()
	options := managed.Options(namespace)
	options.Controllers = []string{"pipelines"}
	managed.Run(t, server.Config(), options)
}

// The controller understands what the commands write, and the commands understand its answers.
func TestPIP25_PIP28_TheControllerCarriesOutDecisions(t *testing.T) {
	server := testkit.Server(t)
	server.InstallCRD(t, testkit.FluxKinds(t)...)
	namespace := server.Namespace(t)
	dev, prod := server.GrantedNamespace(t, namespace), server.GrantedNamespace(t, namespace)
	testkit.HealthyRelease(t, server, dev, "shop", "1.3.0")
	testkit.HealthyRelease(t, server, prod, "shop", "1.2.0")
	shop := testkit.Pipeline(namespace, "shop").Environment("dev", dev).Environment("prod", prod).Notification().Manual().Build()
	testkit.Create(t, server, shop)
	runController(t, server, namespace)
	state := func(wanted pipelines.PromotionState) *pipelines.Pipeline {
		t.Helper()
		return testkit.Eventually(t, server, shop, testkit.Is(string(wanted), func(p *pipelines.Pipeline) bool {
			current := p.Status.Environments["prod"].Promotion
			return current != nil && current.State == wanted
		}))
	}
	decide := func(command func(cli.Environment) *cobra.Command, said string, flags ...string) {
		t.Helper()
		got := clitest.Run(t, server, namespace, clitest.Call{Command: command, Args: append([]string{"shop", "prod"}, flags...)})
		if got.Code != cli.ExitOK || !strings.Contains(got.Stdout, said) {
			t.Fatalf("%+v, want it to say %q", got, said)
		}
	}
	state(pipelines.PromotionUnapproved)
	decide(command("reject"), "promotion of revision 1.3.0 to environment prod is rejected", "--wait", "-m", "not today")
	state(pipelines.PromotionRejected)
	decide(command("retry"), "retrying the promotion", "--wait")
	state(pipelines.PromotionUnapproved)
	decide(command("hold"), "environment prod is held", "-m", "audit")
	decide(command("approve"), "promotion of revision 1.3.0 to environment prod is approved", "--wait", "-m", "checked")
	held := testkit.Eventually(t, server, shop, testkit.Is("held", func(p *pipelines.Pipeline) bool {
		return len(p.Status.Holds) > 0 && p.Status.Holds[0].Reason == pipelines.HoldHeld
	}))
	if now := held.Status.Environments["prod"].Promotion; now.State != pipelines.PromotionUnattempted {
		t.Errorf("what is held is %s", now.State)
	}
	decide(command("hold"), "environment prod is released", "--release")
	done := state(pipelines.PromotionSucceeded)
	if given := done.Status.Environments["prod"].Promotion.Approval; given == nil || given.Message != "checked" || given.By == "" {
		t.Errorf("recorded is %+v", given)
	}
	decide(command("approve"), "is already approved for environment prod")
}
