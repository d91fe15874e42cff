// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotion_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/spf13/cobra"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/promotion"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// command returns the constructor of one of the commands.
func command(name string) func(cli.Environment) *cobra.Command {
	return func(env cli.Environment) *cobra.Command {
		commands := promotion.Commands(env)
		return commands[slices.IndexFunc(commands, func(c *cobra.Command) bool { return c.Name() == name })]
	}
}

var asJo = []string{"--as=jo", "--as-group=system:masters"}

func requestsIn(t *testing.T, server *testkit.APIServer, line *pipelines.Pipeline) []pipeline.Request {
	t.Helper()
	current := &pipelines.Pipeline{}
	if err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(line), current); err != nil {
		t.Fatal(err)
	}
	return pipeline.ReadRequests(current.Annotations)
}

// Each command leaves a request that the controller understands, for the revision and the run that the user saw.
func TestPIP25_ADecisionBecomesARequest(t *testing.T) {
	fail := func(p *pipelines.Pipeline) {
		e := p.Status.Environments["production"]
		e.Promotion.State, e.WaitingApproval.Revision = pipelines.PromotionFailed, ""
		p.Status.Environments["production"] = e
	}
	for name, test := range map[string]struct {
		command func(cli.Environment) *cobra.Command
		change  func(*pipelines.Pipeline)
	}{
		"approve": {command("approve"), nil},
		"reject":  {command("reject"), nil},
		"promote": {command("promote"), nil},
		"retry":   {command("retry"), fail},
	} {
		t.Run(name, func(t *testing.T) {
			server := testkit.Server(t)
			namespace := server.Namespace(t)
			line := clitest.Line(t, server, namespace)
			if test.change != nil {
				clitest.WriteStatus(t, server, line, test.change)
			}
			call := clitest.Call{Command: test.command, Args: append([]string{"shop", "production", "-m", "checked"}, asJo...)}
			got := clitest.Run(t, server, namespace, call)
			if want := "pipeline shop: request sent: " + name + " revision 1.3.0 for environment production\n"; got.Code != cli.ExitOK ||
				got.Stdout != want ||
				got.Stderr != "" {
				t.Fatalf("%+v, want %q", got, want)
			}
			requests := requestsIn(t, server, line)
			if len(requests) != 1 {
				t.Fatalf("there are %d requests", len(requests))
			}
			r := requests[0]
			want := pipeline.Request{
				Action: pipelines.RequestAction(name), Environment: "production", Revision: "1.3.0", Run: 4, By: "jo", Message: "checked",
			}
			if diff := cmp.Diff(want, r, cmpopts.IgnoreFields(pipeline.Request{}, "Annotation", "ID", "Time")); diff != "" || r.ID == "" {
				t.Errorf("the request has the ID %q:\n%s", r.ID, diff)
			}
			again := clitest.Run(t, server, namespace, call)
			if again.Code != cli.ExitOK || !strings.Contains(again.Stdout, "already requested: "+name) ||
				requestsIn(t, server, line)[0].ID != r.ID {
				t.Errorf("asked again: %+v", again)
			}
		})
	}
}

func TestADecisionThatWasMadeNeedsNoRequest(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	line := clitest.Line(t, server, namespace)
	clitest.WriteStatus(t, server, line, func(p *pipelines.Pipeline) {
		if _, err := pipeline.Approve(p, pipeline.Ask{Environment: "production", Revision: "1.3.0", By: "ann", Time: clitest.Now()}); err != nil {
			t.Fatal(err)
		}
	})
	got := clitest.Run(t, server, namespace, clitest.Call{Command: command("approve"), Args: []string{"shop", "production"}})
	if got.Code != cli.ExitOK || got.Stdout != "pipeline shop: revision 1.3.0 is already approved for environment production\n" {
		t.Errorf("%+v", got)
	}
	if requests := requestsIn(t, server, line); len(requests) > 0 {
		t.Errorf("it asks for %+v", requests)
	}
}

func TestWaitingForTheAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		accepted bool
		code     int
		want     string
	}{
		"accepted": {true, cli.ExitOK, "pipeline shop: as you say\n"},
		"refused":  {false, cli.ExitFailed, "pipeline shop: rejected: as you say\n"},
	} {
		t.Run(name, func(t *testing.T) {
			server := testkit.Server(t)
			namespace := server.Namespace(t)
			line := clitest.Line(t, server, namespace)
			running := clitest.Start(
				t,
				server,
				namespace,
				clitest.Call{Command: command("approve"), Args: []string{"shop", "production", "--wait"}},
			)
			running.Until(t, "pipeline shop: request sent: approve revision 1.3.0")
			id := requestsIn(t, server, line)[0].ID
			answered := func(p *pipelines.Pipeline, id string) {
				p.Status.Requests = append(p.Status.Requests, pipelines.RequestStatus{
					ID:       id,
					Action:   "approve",
					Time:     clitest.Before(0),
					Accepted: test.accepted,
					Message:  "as you say",
				})
			}
			clitest.WriteStatus(t, server, line, func(p *pipelines.Pipeline) { answered(p, "another") })
			clitest.WriteStatus(t, server, line, func(p *pipelines.Pipeline) { answered(p, id) })
			if got := running.Wait(t); got.Code != test.code || got.Stdout != test.want {
				t.Errorf("%+v", got)
			}
		})
	}
	t.Run("no answer", func(t *testing.T) {
		server := testkit.Server(t)
		namespace := server.Namespace(t)
		clitest.Line(t, server, namespace)
		got := clitest.Run(t, server, namespace, clitest.Call{
			Command: command("approve"),
			Args:    []string{"shop", "production", "--wait", "--timeout=1ms"},
		})
		if got.Code != cli.ExitTimeout || !strings.Contains(got.Stderr, "timed out after 1ms waiting for the controllers to answer; the request remains") ||
			!strings.Contains(got.Stderr, "espalier pipeline status shop") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("detached", func(t *testing.T) {
		server := testkit.Server(t)
		namespace := server.Namespace(t)
		clitest.Line(t, server, namespace)
		running := clitest.Start(t, server, namespace, clitest.Call{Command: command("approve"), Args: []string{"shop", "production", "--wait"}})
		running.Until(t, "pipeline shop: request sent")
		running.Interrupt()
		if got := running.Wait(t); got.Code != cli.ExitDetached || !strings.Contains(got.Stderr, "Detached; the request remains") {
			t.Errorf("%+v", got)
		}
	})
}

func TestResultsForPrograms(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Line(t, server, namespace)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: command("approve"), Args: []string{"shop", "production", "-o", "json"}})
	var result promotion.Result
	if err := json.Unmarshal([]byte(got.Stdout), &result); err != nil {
		t.Fatalf("%v in %+v", err, got)
	}
	want := promotion.Result{
		Namespace: "<namespace>", Pipeline: "shop", Environment: "production", Action: pipelines.RequestApprove, Revision: "1.3.0", Run: 4,
	}
	if diff := cmp.Diff(want, result, cmpopts.IgnoreFields(promotion.Result{}, "ID", "Message")); diff != "" || result.ID == "" {
		t.Errorf("the request has the ID %q:\n%s", result.ID, diff)
	}
	got = clitest.Run(t, server, namespace, clitest.Call{Command: command("approve"), Args: []string{"shop", "production", "-o", "name"}})
	if got.Stdout != "pipeline.pipelines.weave.works/shop\n" {
		t.Errorf("%+v", got)
	}
}

func TestRefusedDecisions(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	line := clitest.Line(t, server, namespace)
	for name, test := range map[string]struct {
		command func(cli.Environment) *cobra.Command
		args    []string
		code    int
		want    []string
	}{
		"another revision":    {command("approve"), []string{"shop", "production", "--revision=1.2.9"}, cli.ExitError, []string{"is for revision 1.3.0, not 1.2.9", "next:  espalier pipeline status shop"}},
		"nothing waits":       {command("reject"), []string{"shop", "staging"}, cli.ExitError, []string{"has started and is Complete"}},
		"no retry needed":     {command("retry"), []string{"shop", "production"}, cli.ExitError, []string{"needs no retry"}},
		"first environment":   {command("promote"), []string{"shop", "dev"}, cli.ExitNotFound, []string{"it is the first one"}},
		"unknown environment": {command("promote"), []string{"shop", "moon"}, cli.ExitNotFound, []string{"has no environment moon"}},
		"unknown pipeline":    {command("approve"), []string{"nope", "production"}, cli.ExitNotFound, []string{"pipeline nope does not exist", "espalier pipeline get"}},
		"no environment":      {command("approve"), []string{"shop"}, cli.ExitError, []string{"accepts 2 arg(s)"}},
		"negative timeout":    {command("approve"), []string{"shop", "production", "--timeout=-1s"}, cli.ExitError, []string{"--timeout is negative"}},
		"unknown format":      {command("approve"), []string{"shop", "production", "-o", "wide"}, cli.ExitError, []string{"unknown output format"}},
		"may not read":        {command("approve"), []string{"shop", "production", "--as=nobody"}, cli.ExitNotFound, []string{"forbidden", "auth can-i"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Run(t, server, namespace, clitest.Call{Command: test.command, Args: test.args})
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
	if requests := requestsIn(t, server, line); len(requests) > 0 {
		t.Errorf("something is asked for: %+v", requests)
	}
}

// There is room for one request: a second one of another kind must not replace the first before it is answered.
func TestARequestIsNotReplaced(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	line := clitest.Line(t, server, namespace)
	clitest.Run(t, server, namespace, clitest.Call{Command: command("approve"), Args: []string{"shop", "production"}})
	got := clitest.Run(t, server, namespace, clitest.Call{Command: command("reject"), Args: []string{"shop", "production"}})
	if got.Code != cli.ExitError || !strings.Contains(got.Stderr, "have not answered the request to approve revision 1.3.0") {
		t.Errorf("%+v", got)
	}
	requests := requestsIn(t, server, line)
	if len(requests) != 1 || requests[0].Action != pipelines.RequestApprove {
		t.Fatalf("asked is %+v", requests)
	}
	clitest.WriteStatus(t, server, line, func(p *pipelines.Pipeline) {
		p.Status.Requests = []pipelines.RequestStatus{{ID: requests[0].ID, Action: "approve", Time: clitest.Before(0)}}
	})
	got = clitest.Run(t, server, namespace, clitest.Call{Command: command("reject"), Args: []string{"shop", "production"}})
	if got.Code != cli.ExitOK || requestsIn(t, server, line)[0].Action != pipelines.RequestReject {
		t.Errorf("an answered request is in the way: %+v", got)
	}
}

// A decision needs the right to decide and the right to change the pipeline, in which it is written, and no more.
func TestADecisionNeedsTheUsersOwnRights(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	line := clitest.Line(t, server, namespace)
	grant := func(user string, verbs ...string) {
		t.Helper()
		name := metav1.ObjectMeta{Namespace: namespace, Name: user}
		testkit.Create(t, server,
			&rbacv1.Role{
				ObjectMeta: name,
				Rules:      []rbacv1.PolicyRule{{Verbs: verbs, APIGroups: []string{pipelines.GroupName}, Resources: []string{"pipelines"}}},
			},
			&rbacv1.RoleBinding{
				ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
				Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
			})
	}
	grant("reader", "get", "list", "watch")
	grant("editor", "get", "create", "update", "patch", "delete")
	grant("approver", "get", "patch", "approve")
	grant("mute", "get", "approve")
	got := clitest.Run(t, server, namespace, clitest.Call{
		Command: command("approve"),
		Args:    []string{"shop", "production", "--as=reader", "--as-group=system:authenticated"},
	})
	if got.Code != cli.ExitNotFound || !strings.Contains(got.Stderr, `need the right "approve"`) || len(requestsIn(t, server, line)) > 0 {
		t.Errorf("who may only read: %+v", got)
	}
	for user, told := range map[string]string{"editor": `need the right "approve"`, "mute": `need the right "patch"`} {
		got = clitest.Run(t, server, namespace, clitest.Call{
			Command: command("approve"), Args: []string{"shop", "production", "--as=" + user, "--as-group=system:authenticated"},
		})
		if got.Code != cli.ExitNotFound || !strings.Contains(got.Stderr, told) || len(requestsIn(t, server, line)) > 0 {
			t.Errorf("%s: %+v", user, got)
		}
	}
	got = clitest.Run(t, server, namespace, clitest.Call{
		Command: command("approve"),
		Args:    []string{"shop", "production", "--as=approver", "--as-group=system:authenticated"},
	})
	if requests := requestsIn(t, server, line); got.Code != cli.ExitOK || len(requests) != 1 || requests[0].By != "approver" {
		t.Errorf("who may change it: %+v, asked is %+v", got, requests)
	}
}
