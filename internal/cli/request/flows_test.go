// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/cli/wait"
	"espalier.dev/internal/cli/why"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/testkit/managed"
)

// mocked is a blueprint with a mock deploy item that ends in a phase.
func mocked(phase lsv1alpha1.Phase, imports string) string {
	return `apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
imports: [` + imports + `]
deployExecutions:
- name: default
  type: GoTemplate
  template: |
    deployItems:
    - name: one
      type: landscaper.gardener.cloud/mock
      config: {apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1, kind: ProviderConfiguration, phase: ` + string(phase) + `}
`
}

// both is a world with real controllers, in which commands are run for installations of one flow.
type both struct {
	*managed.World
	*testing.T
	continuous bool
	prefix     string
}

func (b both) create(name string, phase lsv1alpha1.Phase, imports ...string) *lsv1alpha1.Installation {
	b.T.Helper()
	var definitions []string
	builder := testkit.Installation(b.Namespace, b.prefix+name)
	for _, imported := range imports {
		definitions = append(definitions, "{name: "+imported+", schema: {type: string}}")
		builder.ImportData(imported, b.prefix+imported)
	}
	builder.Blueprint(mocked(phase, strings.Join(definitions, ", ")))
	if b.continuous {
		builder.Continuous()
	}
	inst := builder.Build()
	b.Create(inst)
	return inst
}

type command = func(cli.Environment) *cobra.Command

// run runs a command for an installation, and checks how it ends and what it says, on whichever output.
func (b both) run(of command, name string, code int, says []string, flags ...string) clitest.Result {
	b.T.Helper()
	got := clitest.Run(b.T, b.APIServer, b.Namespace, clitest.Call{Command: of, Args: append([]string{b.prefix + name}, flags...)})
	if got.Code != code {
		b.T.Errorf("%s %q ends with %d: %+v", name, flags, got.Code, got)
	}
	for _, text := range says {
		if !strings.Contains(got.Stdout+got.Stderr, text) {
			b.T.Errorf("%s %q does not say %q: %+v", name, flags, text, got)
		}
	}
	return got
}

// The commands that start, wait and explain work for both flows, with the controllers as they are.
func TestBothFlows(t *testing.T) {
	w := managed.NewWorld(t)
	w.Manage()
	for prefix, continuous := range map[string]bool{"job-": false, "flow-": true} {
		t.Run(prefix, func(t *testing.T) {
			b := both{World: w, T: t, continuous: continuous, prefix: prefix}
			b.succeeds()
			b.fails()
			b.waits()
			b.lacks()
		})
	}
}

func (b both) succeeds() {
	b.T.Helper()
	b.create("good", lsv1alpha1.PhaseSucceeded)
	done := []string{"installation " + b.prefix + "good has succeeded\n"}
	b.run(request.NewReconcile, "good", cli.ExitOK, done, "--wait")
	b.run(wait.New, "good", cli.ExitOK, done)
	b.run(wait.New, "good", cli.ExitOK, done, "--for=finished")
	b.run(why.New, "good", cli.ExitOK, []string{"has succeeded: there is nothing to explain.\n"})
	if got := b.run(why.New, "good", cli.ExitOK, nil, "-o", "name"); got.Stdout != "" {
		b.T.Errorf("it names %q", got.Stdout)
	}
	b.run(request.NewDelete, "good", cli.ExitOK, []string{"installation " + b.prefix + "good has been deleted\n"}, "--wait")
}

func (b both) fails() {
	b.T.Helper()
	b.create("bad", lsv1alpha1.PhaseFailed)
	failed := []string{
		"installation " + b.prefix + "bad has ended as Failed: DeployItem/", "(MockFailure)", "next:  espalier why " + b.prefix + "bad",
		"\n  see:   docs/reference/errors.md#mockfailure\n",
	}
	b.run(request.NewReconcile, "bad", cli.ExitFailed, failed, "--wait")
	b.run(wait.New, "bad", cli.ExitFailed, failed)
	b.run(wait.New, "bad", cli.ExitOK, []string{"has ended as Failed\n"}, "--for=finished")
	got := b.run(why.New, "bad", cli.ExitOK, []string{"Installation/" + b.prefix + "bad has failed because of DeployItem/"})
	if !strings.HasSuffix(got.Stdout, "\nSee docs/reference/errors.md#mockfailure\n") {
		b.T.Errorf("it does not name the place that explains it: %s", got.Stdout)
	}
	if got := b.run(why.New, "bad", cli.ExitOK, nil, "-o", "name"); !strings.HasPrefix(got.Stdout, "deployitem.landscaper.gardener.cloud/"+b.prefix+"bad") {
		b.T.Errorf("it names %q", got.Stdout)
	}
}

// waits has a deploy item that never ends.
func (b both) waits() {
	b.T.Helper()
	b.create("slow", lsv1alpha1.PhaseProgressing)
	b.run(request.NewReconcile, "slow", cli.ExitOK, nil)
	watching := clitest.Start(b.T, b.APIServer, b.Namespace, clitest.Call{Command: wait.New, Args: []string{b.prefix + "slow"}})
	watching.Until(b.T, "DeployItem/"+b.prefix+"slow")
	watching.Interrupt()
	if got := watching.Wait(b.T); got.Code != cli.ExitDetached {
		b.T.Errorf("%+v", got)
	}
	late := []string{"installation " + b.prefix + "slow is not done after 1s", "espalier wait " + b.prefix + "slow --for=succeeded"}
	b.run(wait.New, "slow", cli.ExitTimeout, late, "--timeout=1s")
	b.run(request.NewReconcile, "slow", cli.ExitTimeout, late, "--wait", "--timeout=1s")
	b.run(why.New, "slow", cli.ExitOK, []string{"Installation/" + b.prefix + "slow is not done because of DeployItem/"})
}

// lacks has an import that does not exist yet: somebody has to act, and then it goes on by itself.
func (b both) lacks() {
	b.T.Helper()
	inst := b.create("poor", lsv1alpha1.PhaseSucceeded, "address")
	b.run(request.NewReconcile, "poor", cli.ExitOK, nil)
	missing := b.prefix + "address"
	testkit.Eventually(b.T, b.APIServer, inst, testkit.Is("waiting for its import", func(i *lsv1alpha1.Installation) bool {
		for _, c := range i.Status.Conditions {
			if strings.Contains(c.Message, missing) {
				return true
			}
		}
		return false
	}))
	b.run(wait.New, "poor", cli.ExitNeedsSomebody, []string{missing, "; needs action by a user", "kubectl get dataobjects,targets"}, "--timeout=1s")
	b.run(why.New, "poor", cli.ExitOK, []string{missing, "kubectl get dataobjects,targets"})
	b.Create(testkit.DataObject(b.Namespace, missing, "here").Build())
	b.run(wait.New, "poor", cli.ExitOK, []string{"installation " + b.prefix + "poor has succeeded\n"})
}
