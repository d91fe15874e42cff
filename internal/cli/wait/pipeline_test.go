// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package wait_test

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/wait"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

// production returns a change of the last environment of clitest.Line.
func production(change func(*pipelines.EnvironmentStatus)) func(*pipelines.Pipeline) {
	return func(p *pipelines.Pipeline) {
		e := p.Status.Environments["production"]
		change(&e)
		p.Status.Environments["production"] = e
	}
}

// arrive brings revision 1.3.0 to production.
var arrive = production(func(e *pipelines.EnvironmentStatus) {
	for i := range e.Targets {
		e.Targets[i].Revision = "1.3.0"
	}
	e.Healthy.Revision = "1.3.0"
	e.WaitingApproval.Revision, e.Promotion.State = "", pipelines.PromotionComplete
})

var (
	merging = production(func(e *pipelines.EnvironmentStatus) {
		e.WaitingApproval.Revision, e.Promotion.State = "", pipelines.PromotionCreated
		e.Promotion.PullRequest = &pipelines.PullRequestStatus{URL: "https://git.example.com/shop/pulls/7"}
	})
	attempting = production(func(e *pipelines.EnvironmentStatus) {
		e.WaitingApproval.Revision, e.Promotion.State, e.Promotion.Attempts = "", pipelines.PromotionAttempting, 2
		e.Promotion.Approval = &pipelines.Approval{Decision: pipelines.DecisionApproved, By: "jo", Time: clitest.Before(2)}
	})
	failed = production(func(e *pipelines.EnvironmentStatus) {
		e.WaitingApproval.Revision, e.Promotion.State = "", pipelines.PromotionRejected
	})
)

// Line waits for approval for production; its revision 1.3.0 has reached staging.
func TestPipelines(t *testing.T) {
	const waits = "waits at environment production (WaitingForApproval): revision 1.3.0 needs approval for environment production"
	for name, test := range map[string]struct {
		change func(*pipelines.Pipeline)
		args   []string
		code   int
		stdout string
		stderr []string
	}{
		"everywhere":         {arrive, []string{"pipeline/shop"}, cli.ExitOK, "pipeline shop has revision 1.3.0 in all environments\n", nil},
		"twice":              {arrive, []string{"pipeline/shop", "Pipelines/shop", "pipeline.pipelines.weave.works/shop", "-o", "name"}, cli.ExitOK, "pipeline.pipelines.weave.works/shop\n", nil},
		"in one environment": {nil, []string{"pipeline/shop", "--environment=staging"}, cli.ExitOK, "pipeline shop has revision 1.3.0 in environment staging\n", nil},
		"an older revision":  {nil, []string{"pipeline/shop", "--environment=production", "--revision=1.2.0"}, cli.ExitOK, "pipeline shop has revision 1.2.0 in environment production\n", nil},
		"before a failure":   {failed, []string{"pipeline/shop", "--environment=staging"}, cli.ExitOK, "pipeline shop has revision 1.3.0 in environment staging\n", nil},
		"approval":           {nil, []string{"pipeline/shop", "--for=needs-approval"}, cli.ExitOK, "pipeline shop waits for approval: revision 1.3.0 needs approval for environment production\n", nil},
		"this approval":      {nil, []string{"pipeline/shop", "--for=needs-approval", "--environment=production", "--revision=1.3.0"}, cli.ExitOK, "pipeline shop waits for approval: revision 1.3.0 needs approval for environment production\n", nil},
		"merge":              {merging, []string{"pipeline/shop", "--for=needs-merge", "-o", "name"}, cli.ExitOK, "pipeline.pipelines.weave.works/shop\n", nil},
		"ready":              {nil, []string{"pipeline/shop", "--for=ready"}, cli.ExitOK, "pipeline shop is ready\n", nil},
		"gone":               {nil, []string{"pipeline/nope", "--for=deleted"}, cli.ExitOK, "pipeline nope has been deleted\n", nil},
		"needs approval": {nil, []string{"pipeline/shop", "--timeout=300ms"}, cli.ExitNeedsSomebody, "", []string{
			"<now> Pipeline/shop: " + waits + "\n",
			"error: pipeline shop does not have revision 1.3.0 in all environments after 300ms; needs action by a user: " + waits + "\n",
			"espalier approve shop production", "espalier pipeline why shop", "espalier wait pipeline/shop --for=reached",
		}},
		"an attempt": {attempting, []string{"pipeline/shop", "--timeout=300ms"}, cli.ExitTimeout, "", []string{
			"<now> Pipeline/shop: promoting revision 1.3.0 to environment production, attempt 2\n",
			"in all environments after 300ms: promoting revision 1.3.0 to environment production, attempt 2\n",
		}},
		"another revision": {nil, []string{"pipeline/shop", "--environment=production", "--revision=1.4.0", "--timeout=300ms"}, cli.ExitTimeout, "", []string{
			"pipeline shop does not have revision 1.4.0 in environment production after 300ms", "--for=reached --environment=production --revision=1.4.0",
		}},
		"another approval": {nil, []string{"pipeline/shop", "--for=needs-approval", "--environment=staging", "--timeout=300ms"}, cli.ExitTimeout, "", []string{
			"pipeline shop has no promotion to environment staging that needs approval after 300ms",
		}},
		"failed": {failed, []string{"pipeline/shop"}, cli.ExitFailed, "", []string{
			"pipeline shop does not have revision 1.3.0 in all environments: waits at environment production (Rejected): revision 1.3.0 was rejected",
			"next:  espalier pipeline why shop",
		}},
		"no approval any more": {failed, []string{"pipeline/shop", "--for=needs-approval"}, cli.ExitFailed, "", []string{"has no promotion that needs approval"}},
		"the old status":       {func(p *pipelines.Pipeline) { arrive(p); p.Status.ObservedGeneration = 0 }, []string{"pipeline/shop", "--timeout=300ms"}, cli.ExitTimeout, "", []string{"after 300ms: the controllers have not processed the current spec"}},
		"nobody deletes":       {nil, []string{"pipeline/shop", "--for=deleted"}, cli.ExitNeedsSomebody, "", []string{"pipeline shop is not being deleted"}},
		"unknown environment":  {nil, []string{"pipeline/shop", "--environment=moon"}, cli.ExitNotFound, "", []string{"pipeline shop has no environment moon", "espalier pipeline status shop"}},
		"absent":               {nil, []string{"pipeline/nope"}, cli.ExitNotFound, "", []string{"pipeline nope does not exist"}},
		"forbidden":            {nil, []string{"pipeline/shop", "--as=nobody"}, cli.ExitNotFound, "", []string{"forbidden"}},
		"usage":                {nil, []string{"pipeline/shop", "--for=succeeded"}, cli.ExitError, "", []string{`--for is "succeeded": for pipelines it takes reached`}},
		"of one environment":   {nil, []string{"pipeline/shop", "--for=ready", "--revision=1"}, cli.ExitError, "", []string{"do not go together with --for=ready"}},
		"both kinds":           {nil, []string{"shop", "pipeline/shop"}, cli.ExitError, "", []string{"with two commands"}},
		"the other order":      {nil, []string{"pipeline/shop", "shop"}, cli.ExitError, "", []string{"with two commands"}},
		"no pipeline":          {nil, []string{"shop", "--revision=1"}, cli.ExitError, "", []string{"name one as pipeline/NAME"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := testkit.Server(t)
			namespace := server.Namespace(t)
			line := clitest.Line(t, server, namespace)
			if test.change != nil {
				clitest.WriteStatus(t, server, line, test.change)
			}
			got := clitest.Run(t, server, namespace, clitest.Call{Command: wait.New, Args: test.args})
			if got.Code != test.code || got.Stdout != test.stdout {
				t.Errorf("exit code %d, stdout %q, stderr:\n%s", got.Code, got.Stdout, got.Stderr)
			}
			for _, want := range test.stderr {
				if !strings.Contains(got.Stderr, want) {
					t.Errorf("stderr lacks %q:\n%s", want, got.Stderr)
				}
			}
		})
	}
}

// The command follows the pipeline until the revision arrives, and tells what it waits for meanwhile.
func TestFollowingAPipeline(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	line := clitest.Line(t, server, namespace)
	approval := clitest.Start(t, server, namespace, clitest.Call{Command: wait.New, Args: []string{"pipeline/shop", "--for=needs-merge"}})
	arrival := clitest.Start(t, server, namespace, clitest.Call{Command: wait.New, Args: []string{"pipeline/shop", "--environment=production"}})
	detached := clitest.Start(t, server, namespace, clitest.Call{Command: wait.New, Args: []string{"pipeline/shop"}})
	for _, command := range []*clitest.Running{approval, arrival, detached} {
		command.Until(t, "Pipeline/shop: waits at environment production (WaitingForApproval)")
	}
	clitest.WriteStatus(t, server, line, merging)
	if got := approval.Wait(t); got.Code != cli.ExitOK || !strings.HasPrefix(got.Stdout, "pipeline shop waits for a merge: ") {
		t.Errorf("%+v", got)
	}
	arrival.Until(t, "(WaitingForMerge)")
	detached.Until(t, "(WaitingForMerge)")
	detached.Interrupt()
	if got := detached.Wait(t); got.Code != cli.ExitDetached || !strings.Contains(got.Stderr, "  espalier wait pipeline/shop --for=reached -n") {
		t.Errorf("%+v", got)
	}
	clitest.WriteStatus(t, server, line, arrive)
	if got := arrival.Wait(t); got.Code != cli.ExitOK || got.Stdout != "pipeline shop has revision 1.3.0 in environment production\n" {
		t.Errorf("%+v", got)
	}
}

func TestAPipelineIsDeletedMeanwhile(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	line := clitest.Line(t, server, namespace)
	finalizers := func(list string) {
		t.Helper()
		patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":`+list+`}}`))
		if err := server.Client().Patch(t.Context(), line, patch); err != nil {
			t.Fatal(err)
		}
	}
	finalizers(`["espalier.dev/test"]`)
	if err := server.Client().Delete(t.Context(), line); err != nil {
		t.Fatal(err)
	}
	deletion := clitest.Start(t, server, namespace, clitest.Call{Command: wait.New, Args: []string{"pipeline/shop", "--for=deleted"}})
	arrival := clitest.Start(t, server, namespace, clitest.Call{Command: wait.New, Args: []string{"pipeline/shop"}})
	deletion.Until(t, "Pipeline/shop: ")
	arrival.Until(t, "Pipeline/shop: ")
	finalizers(`[]`)
	if got := deletion.Wait(t); got.Code != cli.ExitOK || got.Stdout != "pipeline shop has been deleted\n" {
		t.Errorf("%+v", got)
	}
	if got := arrival.Wait(t); got.Code != cli.ExitNotFound || !strings.Contains(got.Stderr, "error: pipeline shop was deleted during the wait\n") {
		t.Errorf("%+v", got)
	}
}

func TestPipelinesForPrograms(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.WriteStatus(t, server, clitest.Line(t, server, namespace), failed)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: wait.New, Args: []string{"pipeline/shop", "-o", "json"}})
	var printed struct {
		Results []struct {
			Name, Verdict string
			ExitCode      int
			Causes        []struct{ Environment, Reason string }
		}
	}
	if err := json.Unmarshal([]byte(got.Stdout), &printed); err != nil || len(printed.Results) != 1 {
		t.Fatalf("%v in %+v", err, got)
	}
	r := printed.Results[0]
	if r.Name != "shop" || r.ExitCode != cli.ExitFailed || r.Verdict != "does not have revision 1.3.0 in all environments" ||
		len(r.Causes) != 1 || r.Causes[0].Environment != "production" || r.Causes[0].Reason != "Rejected" {
		t.Errorf("%+v", r)
	}
}
