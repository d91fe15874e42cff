// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/web/view"
)

// line returns a pipeline of the application shop with three environments: 1.3.0 is in dev and staging, 1.2.0 in production, which needs
// approvals and is open all day.
func line(change ...func(*pipelines.Pipeline)) *pipelines.Pipeline {
	p := testkit.Pipeline("shop", "shop").Notification().Environment("dev", "shop-dev").MinHealthy("1h").
		Environment("staging", "shop-staging").MinHealthy("2h").EnvironmentOn("east", "production", "shop").Build()
	manual := *p.Spec.Promotion
	manual.Manual = true
	p.Spec.Environments[2].Promotion = &manual
	p.Spec.Environments[2].Windows = []pipelines.Window{{Kind: pipelines.WindowAllow, Schedule: "0 0 * * *", Duration: "25h"}}
	p.Status.LatestRevision = "1.3.0"
	p.Status.Run = &pipelines.Run{Number: 4, Revision: "1.3.0", StartTime: *ago(20 * time.Hour)}
	p.Status.Environments = map[string]pipelines.EnvironmentStatus{}
	settle(p, "dev", "1.3.0", 20*time.Hour)
	settle(p, "staging", "1.3.0", 10*time.Hour)
	settle(p, "production", "1.2.0", 60*time.Hour)
	promote(p, "staging", pipelines.PromotionStatus{
		Revision: "1.3.0", Run: 4, State: pipelines.PromotionComplete, StartTime: *ago(20 * time.Hour), CompletionTime: ago(10 * time.Hour),
	})
	promote(p, "production", pipelines.PromotionStatus{
		Revision: "1.3.0", Run: 4, State: pipelines.PromotionUnapproved, StartTime: *ago(10 * time.Hour),
	})
	e := p.Status.Environments["production"]
	e.History = []pipelines.PromotionStatus{clitest.PromotionOf(p, "production", pipelines.PromotionStatus{
		Revision: "1.2.0", Run: 3, State: pipelines.PromotionComplete, StartTime: *ago(70 * time.Hour), CompletionTime: ago(60 * time.Hour),
		Approval: &pipelines.Approval{Decision: pipelines.DecisionApproved, By: "jo <i>", Message: "fine", Time: *ago(61 * time.Hour)},
	})}
	p.Status.Environments["production"] = e
	for _, f := range change {
		f(p)
	}
	return p
}

func settle(p *pipelines.Pipeline, environment, revision string, since time.Duration) {
	e := p.Status.Environments[environment]
	e.Targets = nil
	for _, spec := range p.Spec.Environments {
		for _, target := range spec.Targets {
			if spec.Name == environment {
				e.Targets = append(e.Targets, pipelines.TargetStatus{
					ClusterAppRef: pipelines.ClusterAppReference{AppReference: p.Spec.AppRef, ClusterRef: target.ClusterRef},
					Namespace:     target.Namespace, Ready: true, Revision: revision,
				})
			}
		}
	}
	e.Healthy = &pipelines.EnvironmentHealth{Revision: revision, Since: *ago(since)}
	e.Settled = &pipelines.Settlement{Revision: revision, Number: 1, Run: 4, Time: *ago(since)}
	p.Status.Environments[environment] = e
}

func promote(p *pipelines.Pipeline, environment string, record pipelines.PromotionStatus) {
	e := p.Status.Environments[environment]
	record = clitest.PromotionOf(p, environment, record)
	e.Promotion = &record
	p.Status.Environments[environment] = e
}

// gatesOf returns the gates before an environment with their states.
func gatesOf(e view.Environment) string {
	var parts []string
	for _, gate := range e.Gates {
		parts = append(parts, gate.Kind+" "+gate.State)
	}
	return strings.Join(parts, ", ")
}

func pageOf(p *pipelines.Pipeline) view.Pipeline { return view.NewPipeline(sceneOf(p), "shop", "shop") }

func TestAPipelineThatIsNotThere(t *testing.T) {
	page := view.NewPipeline(view.Scene{Now: now}, "a", "b")
	noNulls(t, page)
	expect(t, "verdict", page.Verdict, "There is no pipeline b in namespace a that you may see.")
}

func TestAnApprovalIsAskedFor(t *testing.T) {
	s := sceneOf(line())
	page := view.NewPipeline(s, "shop", "shop")
	noNulls(t, page)
	expect(t, "verdict", page.Verdict, "1.3.0 waits for your approval for production.")
	expect(t, "tone", page.Status.Tone, view.Person)
	production := page.Environments[2]
	expect(t, "gates", gatesOf(production), "health passed, soak passed, window passed, approval yours, strategy not-reached")
	expect(t, "coming", production.Coming+" over "+production.Revision, "1.3.0 over 1.2.0")
	expect(t, "facts", production.Approval.Facts[0].Text, "1.2.0 → 1.3.0")
	expect(t, "staging", gatesOf(page.Environments[1]), "health passed, soak passed, strategy passed")
	expect(t, "dev", len(page.Environments[0].Gates)+len(page.Environments[0].Actions), 0)
	need := view.NewOverview(s).Needs[0]
	expect(t, "need", need.Title+"; "+need.Button+"; "+need.Command, "Approve shop 1.3.0 for production; Review changes; espalier pipeline why shop -n shop")
	expect(t, "since", now.Sub(*need.Since), 10*time.Hour)
	later := s
	later.Now = now.Add(time.Minute)
	if change, changed := view.ChangeSince(view.NewOverview(s), view.NewOverview(later)); changed {
		t.Errorf("nothing has changed but the time: %+v", change)
	}
	s.Rights = without("patch pipelines")
	page = view.NewPipeline(s, "shop", "shop")
	expect(t, "verdict", page.Verdict, "1.3.0 waits for approval for production.")
	expect(t, "gate", page.Environments[2].Gates[3].State, "others")
	if d := page.Environments[2].Actions[0].Denied; !strings.Contains(d, "patch pipelines.pipelines.weave.works in namespace shop") {
		t.Errorf("denied: %q", d)
	}
	s.Rights = without("approve pipelines")
	page = view.NewPipeline(s, "shop", "shop")
	expect(t, "verdict", page.Verdict, "1.3.0 waits for approval for production.")
	for _, action := range page.Environments[2].Actions {
		if held := action.ID == "hold" || action.ID == "release"; (action.Denied == "") != held {
			t.Errorf("%s: %q", action.ID, action.Denied)
		}
	}
}

// Whoever decides sees who has approved, and how many more approvals are needed.
func TestAPromotionThatNeedsSeveralApprovals(t *testing.T) {
	page := pageOf(line(func(p *pipelines.Pipeline) {
		p.Spec.Environments[2].Promotion = p.Spec.PromotionTo(p.Spec.Environments[2]).DeepCopy()
		p.Spec.Environments[2].Promotion.Approval = &pipelines.ApprovalPolicy{Quorum: 2}
		p.Status.Environments["production"].Promotion.Approvals = []pipelines.Approval{{
			Decision: pipelines.DecisionApproved, By: "ann", Method: pipelines.ApprovalKubernetesAPI,
		}}
	}))
	production := page.Environments[2]
	told := ""
	for _, fact := range production.Approval.Facts {
		if fact.Label == "Approvals" {
			told = fact.Text
		}
	}
	expect(t, "fact", told, "It has 1 of 2 approvals (ann).")
	expect(t, "gate", production.Gates[3].Label+" "+production.Gates[3].State+": "+production.Gates[3].Detail, "Approval yours: 1 of 2 approvals (ann)")
	expect(t, "action", production.Actions[0].Unavailable, "")
}

// Gates after the approval are known before it: they come from the plan.
func TestGatesBehindTheApproval(t *testing.T) {
	page := pageOf(line(func(p *pipelines.Pipeline) {
		settle(p, "staging", "1.3.0", time.Hour)
		p.Spec.Environments[2].Windows = []pipelines.Window{{Kind: pipelines.WindowDeny, Schedule: "0 0 * * *", Duration: "25h"}}
	}))
	production := page.Environments[2]
	soak := production.Gates[1]
	expect(t, "soak", soak.State, "counting")
	expect(t, "until", soak.Until.Sub(now).Round(time.Minute), time.Hour)
	expect(t, "window", production.Gates[2].State, "counting")
	if after := production.Approval.Facts[2].Text; !strings.HasPrefix(after, "It waits at the gate Soak 2h first: ") {
		t.Errorf("after approval: %q", after)
	}
}

func TestStatesOfPromotions(t *testing.T) {
	for name, c := range map[string]struct {
		change                func(*pipelines.Pipeline)
		verdict, word, needed string
		gates                 string
	}{
		"approved": {
			func(p *pipelines.Pipeline) {
				promote(p, "production", pipelines.PromotionStatus{
					Revision: "1.3.0", Run: 4, State: pipelines.PromotionSucceeded, StartTime: *ago(time.Minute),
					StateTransitionTime: ago(time.Minute), Approval: &pipelines.Approval{Decision: pipelines.DecisionApproved, By: "jo", Time: *ago(time.Hour)},
				})
			},
			"1.3.0 is rolling out in production.", "RollingOut", "",
			"health passed, soak passed, window passed, approval passed, strategy passed",
		},
		"failed": {
			func(p *pipelines.Pipeline) {
				promote(p, "production", pipelines.PromotionStatus{
					Revision: "1.3.0", Run: 4, State: pipelines.PromotionFailed, StartTime: *ago(time.Hour), Attempts: 2,
					Error:    &pipelines.PromotionError{Reason: "Refused", Message: "no", Permanent: true},
					Approval: &pipelines.Approval{Decision: pipelines.DecisionApproved, By: "jo", Time: *ago(time.Hour)},
				})
			},
			"1.3.0 could not be promoted to production.", "Failed", "shop 1.3.0 could not be promoted to production",
			"health passed, soak passed, window passed, approval passed, strategy failed",
		},
		"rejected": {
			func(p *pipelines.Pipeline) {
				promote(p, "production", pipelines.PromotionStatus{
					Revision: "1.3.0", Run: 4, State: pipelines.PromotionRejected, StartTime: *ago(time.Hour),
					Approval: &pipelines.Approval{Decision: pipelines.DecisionRejected, By: "kim", Message: "after the sale", Time: *ago(time.Hour)},
				})
			},
			"1.3.0 was rejected for production.", "Rejected", "",
			"health passed, soak passed, window not-reached, approval failed, strategy not-reached",
		},
		"suspended": {
			func(p *pipelines.Pipeline) {
				p.Spec.Suspend = true
				promote(p, "production", pipelines.PromotionStatus{
					Revision: "1.3.0", Run: 4, State: pipelines.PromotionUnattempted, StartTime: *ago(time.Hour),
					Approval: &pipelines.Approval{Decision: pipelines.DecisionApproved, Time: *ago(time.Hour)},
				})
			},
			"The pipeline is suspended.", "Suspended", "",
			"health passed, soak passed, window passed, approval passed, hold held, strategy not-reached",
		},
		"arrived": {
			func(p *pipelines.Pipeline) {
				settle(p, "production", "1.3.0", time.Hour)
				promote(p, "production", pipelines.PromotionStatus{
					Revision: "1.3.0", Run: 4, State: pipelines.PromotionComplete, StartTime: *ago(9 * time.Hour), CompletionTime: ago(time.Hour),
				})
				p.Status.Run.CompletionTime = ago(time.Hour)
			},
			"1.3.0 has reached all environments.", "Complete", "",
			"health passed, soak passed, window passed, approval passed, strategy passed",
		},
		"unreadable": {
			func(p *pipelines.Pipeline) {
				e := p.Status.Environments["staging"]
				e.Targets[0].UnreadableSince, e.Targets[0].Error = ago(time.Hour), "no route to host"
			},
			"1.3.0 waits for your approval for production.", "WaitingForApproval",
			"Approve shop 1.3.0 for production, shop cannot be read in staging",
			"health failed, soak not-reached, window passed, approval yours, strategy not-reached",
		},
		"never seen": {
			func(p *pipelines.Pipeline) { p.Status = pipelines.PipelineStatus{} },
			"The targets of shop have not been checked yet.", "Pending", "",
			"health not-reached, soak not-reached, window not-reached, approval not-reached, strategy not-reached",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := line(c.change)
			page := pageOf(p)
			noNulls(t, page)
			expect(t, "verdict", page.Verdict, c.verdict)
			expect(t, "word", page.Status.Word, c.word)
			expect(t, "gates", gatesOf(page.Environments[2]), c.gates)
			var needed []string
			for _, need := range view.NewOverview(sceneOf(p)).Needs {
				needed = append(needed, need.Title)
			}
			expect(t, "needs", strings.Join(needed, ", "), c.needed)
		})
	}
}

func TestActionsOfPipelines(t *testing.T) {
	available := func(p *pipelines.Pipeline) string {
		var ids []string
		for _, a := range pageOf(p).Environments[2].Actions {
			if a.Unavailable == "" {
				ids = append(ids, a.ID)
			}
		}
		return strings.Join(ids, " ")
	}
	expect(t, "while one waits", available(line()), "approve reject promote hold")
	failed := line(func(p *pipelines.Pipeline) {
		promote(p, "production", pipelines.PromotionStatus{
			Revision: "1.3.0", Run: 4, State: pipelines.PromotionStalled, StartTime: *ago(time.Hour),
		})
	})
	expect(t, "after a failure", available(failed), "retry hold")
	held := line(func(p *pipelines.Pipeline) {
		name, value := pipeline.UserHold{Environment: "production", By: "kim", Time: now}.Text()
		p.Annotations = map[string]string{name: value}
	})
	expect(t, "while held", available(held), "approve reject promote release")
	page := pageOf(line())
	expect(t, "command", page.Environments[2].Actions[0].Command, "espalier approve shop production --revision 1.3.0 -n shop")
	expect(t, "release", page.Environments[2].Actions[5].Command, "espalier hold shop production --release -n shop")
	expect(t, "hold", page.Actions[0].Command, "espalier hold shop -n shop")
	hostile := pageOf(line(func(p *pipelines.Pipeline) {
		p.Status.Environments["production"].Promotion.Revision = "1\x03'; rm\u202e -rf ~\n #"
	}))
	expect(t, "hostile", hostile.Environments[2].Actions[0].Command, `espalier approve shop production --revision '1'\''; rm -rf ~ #' -n shop`)
}

func TestLanes(t *testing.T) {
	page := pageOf(line())
	var told []string
	for _, lane := range page.Lanes {
		var marks []string
		for _, mark := range lane.Marks {
			marks = append(marks, mark.Environment+" "+string(mark.Tone))
		}
		told = append(told, lane.Revision+" "+lane.Ended+": "+strings.Join(marks, ", "))
	}
	expect(t, "lanes", strings.Join(told, "; "),
		"1.3.0 moving: dev done, staging done, production person; 1.2.0 arrived: dev done, production done")
	expect(t, "lead time", page.LeadTime, int((10 * time.Hour).Seconds()))
	expect(t, "by", page.Lanes[1].Marks[1].By+": "+page.Lanes[1].Marks[1].Reason, "jo <i>: fine")
}

func TestPullRequestsAreLinks(t *testing.T) {
	for url, want := range map[string]string{"https://git.example.com/pr/7": "https://git.example.com/pr/7", "javascript:alert(1)": ""} {
		p := line(func(p *pipelines.Pipeline) {
			promote(p, "production", pipelines.PromotionStatus{
				Revision: "1.3.0", Run: 4, State: pipelines.PromotionCreated, StartTime: *ago(time.Hour),
				PullRequest: &pipelines.PullRequestStatus{URL: url, Number: 7, State: pipelines.PullRequestOpen},
			})
		})
		page := pageOf(p)
		expect(t, url, *page.Environments[2].Request, view.Request{URL: want, Number: 7, State: "open"})
		expect(t, "lane "+url, *page.Lanes[0].Marks[2].Request, *page.Environments[2].Request)
	}
}

// A pull request is shown as the status records it: who ended it and when, at the gates while the revision is on its way, and in the lane
// forever. One that has only a branch does not exist yet.
func TestStatesOfPullRequests(t *testing.T) {
	request := func(state pipelines.PromotionState, status pipelines.PullRequestStatus) view.Pipeline {
		return pageOf(line(func(p *pipelines.Pipeline) {
			promote(p, "production", pipelines.PromotionStatus{
				Revision: "1.3.0", Run: 4, State: state, StartTime: *ago(time.Hour), PullRequest: &status,
			})
		}))
	}
	closed := pipelines.PullRequestStatus{
		URL: "https://git.example.com/pr/7", Number: 7, State: pipelines.PullRequestMerged, ClosedBy: "jo", ClosedTime: ago(time.Minute),
	}
	want := view.Request{URL: closed.URL, Number: 7, State: "merged", By: "jo", Time: new(closed.ClosedTime.UTC())}
	rolling := request(pipelines.PromotionSucceeded, closed)
	expect(t, "request while it rolls out", *rolling.Environments[2].Request, want)
	arrived := request(pipelines.PromotionComplete, closed)
	expect(t, "mark", *arrived.Lanes[0].Marks[2].Request, want)
	closed.State, want.State = pipelines.PullRequestClosed, "closed"
	expect(t, "request that was closed", *request(pipelines.PromotionAbandoned, closed).Environments[2].Request, want)
	if none := request(pipelines.PromotionAttempting, pipelines.PullRequestStatus{Branch: "b"}); none.Environments[2].Request != nil {
		t.Errorf("a branch is no pull request: %+v", none.Environments[2].Request)
	}
}

// If the application is an installation of this cluster, its failure is shown at its target.
func TestTargetsThatFail(t *testing.T) {
	p := testkit.Pipeline("shop", "shop").App(lsv1alpha1.SchemeGroupVersion.String(), "Installation", "shop").
		Environment("dev", "dev").Environment("prod", "prod").Build()
	p.Spec.Promotion = &pipelines.Promotion{Manual: true, Strategy: pipelines.Strategy{Installation: &pipelines.InstallationStrategy{}}}
	p.Status.Environments = map[string]pipelines.EnvironmentStatus{}
	settle(p, "dev", "1.1.0", time.Hour)
	settle(p, "prod", "1.0.0", time.Hour)
	p.Status.Run = &pipelines.Run{Number: 1, Revision: "1.1.0", StartTime: *ago(time.Hour)}
	promote(p, "prod", pipelines.PromotionStatus{Revision: "1.1.0", Run: 1, State: pipelines.PromotionUnapproved, StartTime: *ago(time.Hour)})
	dev := p.Status.Environments["dev"]
	dev.Healthy, dev.Targets[0].Ready = nil, false
	p.Status.Environments["dev"] = dev
	app := testkit.Installation("dev", "shop").Component("example.com/shop", "1.1.0").Build()
	app.Status.RunStatus = clitest.Status(lsv1alpha1.PhaseFailed, clitest.Error("TemplateFailed", "it broke"))
	page := view.NewPipeline(sceneOf(p, app), "shop", "shop")
	expect(t, "cell", page.Environments[0].Targets[0].Status.Tone, view.Failed)
	expect(t, "environment", page.Environments[0].Status.Word, "Failing")
	const explained = "docs/reference/errors.md#templatefailed"
	expect(t, "reference", page.Environments[0].Targets[0].Status.Reference, explained)
	expect(t, "reference of the environment", page.Environments[0].Status.Reference, explained)
	expect(t, "reference of the gate", page.Environments[1].Gates[0].Reference, explained)
	expect(t, "progress", page.Environments[0].Progress, view.Progress{All: 1, Failed: 1})
	expect(t, "gate", page.Environments[1].Gates[0].State, "failed")
	expect(t, "change", page.Environments[1].Approval.Changes[0], view.FieldShift{
		Object: "Installation prod/shop", Field: "spec.componentDescriptor.ref.version", Before: "1.0.0", After: "1.1.0",
	})
}

// What is wrong with a promotion leads to what explains it: the error says more than the hold.
func TestGatesLeadToTheDocumentation(t *testing.T) {
	page := pageOf(line(func(p *pipelines.Pipeline) {
		e := p.Status.Environments["staging"]
		e.Targets[0].UnreadableSince, e.Targets[0].Reason, e.Targets[0].Error = ago(time.Hour), "TargetUnreachable", "no route to host"
		promote(p, "production", pipelines.PromotionStatus{
			Revision: "1.3.0", Run: 4, State: pipelines.PromotionFailed, StartTime: *ago(time.Hour), Attempts: 2,
			Error:    &pipelines.PromotionError{Reason: "BranchNotOurs", Message: "no", Permanent: true},
			Approval: &pipelines.Approval{Decision: pipelines.DecisionApproved, By: "jo", Time: *ago(time.Hour)},
		})
	}))
	staging, gates := page.Environments[1], page.Environments[2].Gates
	expect(t, "target", staging.Targets[0].Status.Reference, "docs/reference/errors.md#targetunreachable")
	expect(t, "environment", staging.Status.Reference, "docs/reference/errors.md#targetunreachable")
	expect(t, "strategy", gates[len(gates)-1].Reference, "docs/reference/errors.md#branchnotours")
	expect(t, "approval", gates[3].Reference, "")
}

func TestThePipelineOfTheExample(t *testing.T) {
	text, err := os.ReadFile("../../../examples/promotion/pipeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "\n---\n") {
		p := &pipelines.Pipeline{}
		if err := yaml.Unmarshal([]byte(part), p); err != nil || p.Kind != "Pipeline" {
			continue
		}
		p.CreationTimestamp = metav1.NewTime(now)
		page := view.NewPipeline(sceneOf(p), p.Namespace, p.Name)
		noNulls(t, page)
		expect(t, "environments", len(page.Environments), len(p.Spec.Environments))
		return
	}
	t.Fatal("the example has no pipeline")
}

// withChecks returns a pipeline whose promotion to production waits for a pull request with these checks.
func withChecks(checks *pipelines.PullRequestChecks, state pipelines.PullRequestState) view.Pipeline {
	return pageOf(line(func(p *pipelines.Pipeline) {
		promote(p, "production", pipelines.PromotionStatus{
			Revision: "1.3.0", Run: 4, State: pipelines.PromotionCreated, StartTime: *ago(time.Hour), Strategy: pipelines.StrategyPullRequest,
			Attempts: 1, Approval: &pipelines.Approval{Decision: pipelines.DecisionApproved, Time: *ago(time.Hour)},
			PullRequest: &pipelines.PullRequestStatus{
				Number: 7, URL: "https://git.example/pulls/7", State: state, HeadCommit: "abc", Checks: checks,
			},
		})
	}))
}

func TestChecksStandBesideThePullRequest(t *testing.T) {
	checks := pipelines.PullRequestChecks{
		State: pipelines.ChecksFailed, Commit: "abc", URL: "https://git.example/pulls/7/checks", Total: 5, Passed: 2, Failed: 2, Running: 1,
		FailedNames: []string{"build", "lint"},
	}
	page := withChecks(&checks, pipelines.PullRequestOpen)
	noNulls(t, page)
	got := page.Environments[2].Request.Checks
	want := &view.RequestChecks{
		State: "failed", URL: checks.URL, Total: 5, Passed: 2, Failed: 2, Running: 1, FailedNames: []string{"build", "lint"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	if detail := page.Environments[2].Gates[len(page.Environments[2].Gates)-1].Detail; !strings.HasSuffix(detail, "its checks failed: build, lint") {
		t.Errorf("the gate says %q", detail)
	}
	passed := pipelines.PullRequestChecks{State: pipelines.ChecksPassed, Commit: "abc", URL: "javascript:alert(1)", Total: 1, Passed: 1}
	page = withChecks(&passed, pipelines.PullRequestOpen)
	noNulls(t, page)
	expect(t, "an address to run", page.Environments[2].Request.Checks.URL, "")
	old := checks
	old.Commit = "older"
	for name, page := range map[string]view.Pipeline{
		"none":               withChecks(nil, pipelines.PullRequestOpen),
		"of an older commit": withChecks(&old, pipelines.PullRequestOpen),
		"of a merged one":    withChecks(&checks, pipelines.PullRequestMerged),
	} {
		if request := page.Environments[2].Request; request == nil || request.Checks != nil {
			t.Errorf("%s: %+v", name, request)
		}
	}
}
