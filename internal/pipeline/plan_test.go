// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

func TestPIP10_FirstEnvironmentSettles(t *testing.T) {
	for name, test := range map[string]struct {
		targets []Target
		hold    string
		settled bool
	}{
		"healthy at one revision":  {targets: []Target{at("1"), at("1")}, settled: true},
		"two revisions":            {targets: []Target{at("1"), at("2")}, hold: "a:Unsettled"},
		"one is sick":              {targets: []Target{at("1"), sick("1")}, hold: "a:Unsettled"},
		"healthy without revision": {targets: []Target{at("")}, hold: "a:Unsettled"},
		"one cannot be read":       {targets: []Target{at("1"), unseen}, hold: "a:TargetNotReadable"},
		"no targets":               {targets: []Target{}, hold: "a:NoTargets"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, notifications(), test.targets, []Target{at("0")})
			begun := promotions(s.decide())
			pending := meta.IsStatusConditionTrue(s.Status.Conditions, pipelines.ConditionPromotionPending)
			if pending == test.settled {
				t.Errorf("PromotionPending is %v", pending)
			}
			if test.settled {
				if !slices.Equal(begun, []string{"b:1"}) || s.Status.LatestRevision != "1" || s.Status.Run.Number != 1 {
					t.Errorf("begun %q, latest revision %q", begun, s.Status.LatestRevision)
				}
				return
			}
			s.wantHolds(test.hold)
			if len(begun) > 0 || s.Status.LatestRevision != "" {
				t.Errorf("begun %q, latest revision %q", begun, s.Status.LatestRevision)
			}
		})
	}
}

func TestPIP11_WalkStopsWhereARevisionIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		b, c  []Target
		begun []string
		holds []string
	}{
		"both need it, the first gets it": {b: []Target{at("1")}, c: []Target{at("1")}, begun: []string{"b:2"}},
		"b has it":                        {b: []Target{at("2")}, c: []Target{at("1")}, begun: []string{"c:2"}},
		"both have it":                    {b: []Target{at("2")}, c: []Target{at("2")}},
		"one target of b has it":          {b: []Target{at("2"), at("1")}, c: []Target{at("1")}, holds: []string{"b:RollingOut"}},
		"b has it and is sick":            {b: []Target{sick("2")}, c: []Target{at("1")}, holds: []string{"b:RollingOut"}},
		"b is sick at another":            {b: []Target{sick("1")}, c: []Target{at("1")}, begun: []string{"b:2"}},
		"a target of b cannot be read":    {b: []Target{at("1"), unseen}, c: []Target{at("1")}, holds: []string{"b:TargetNotReadable"}},
		"c cannot be read":                {b: []Target{at("2")}, c: []Target{unseen}, holds: []string{"c:TargetNotReadable"}},
		"c has it and b has not":          {b: []Target{at("1")}, c: []Target{at("2")}, begun: []string{"b:2"}},
		"b has no targets":                {b: []Target{}, c: []Target{at("1")}, holds: []string{"b:NoTargets"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, notifications(), []Target{at("2")}, test.b, test.c)
			s.wantPromotions(test.begun...)
			s.wantHolds(test.holds...)
		})
	}
}

func TestPIP12_NewRevisionSupersedesEverywhere(t *testing.T) {
	s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("1")}, []Target{at("0")})
	s.wantPromotions("c:1")
	s.finish(opened(7)).decide()
	s.wantState("c", pipelines.PromotionCreated)

	s.set(0, at("2"))
	effects := s.decide()
	if !slices.Equal(promotions(effects), []string{"b:2"}) {
		t.Fatalf("begun %v", effects)
	}
	i := slices.IndexFunc(effects, func(e Effect) bool { _, ok := e.(Withdraw); return ok })
	if i < 0 || effects[i].(Withdraw).PullRequest.Number != 7 {
		t.Fatalf("the old pull request is not closed at once: %v", effects)
	}
	s.wantState("c", pipelines.PromotionSuperseded)
	if s.Status.Run.Number != 2 {
		t.Errorf("run %d", s.Status.Run.Number)
	}

	// When the revision arrives there, a new pull request waits for the old one to be closed.
	s.set(1, at("2"))
	s.wantPromotions()
	s.wantHolds("c:Withdrawing")
	closed := Attempt{State: AttemptDone, Result: Result{PullRequest: PullRequest{Number: 7, State: pipelines.PullRequestClosed}}}
	s.finish(closed)
	s.wantPromotions("c:2")
	if old := s.Status.Environments["c"].History[0]; old.PullRequest.State != pipelines.PullRequestClosed ||
		old.State != pipelines.PromotionSuperseded {
		t.Errorf("the old record is %+v", old)
	}
}

func TestPIP12_MergeDuringSupersessionIsAccepted(t *testing.T) {
	s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
	s.decide()
	s.finish(opened(7)).decide()
	s.set(0, at("2")).decide()
	s.finish(Attempt{State: AttemptDone, Result: Result{PullRequest: PullRequest{Number: 7, State: pipelines.PullRequestMerged}}})
	s.set(1, at("1"))
	s.wantPromotions("b:2")
	if old := s.Status.Environments["b"].History[0]; old.PullRequest.State != pipelines.PullRequestMerged {
		t.Errorf("the old record is %+v", old)
	}
}

func TestPIP12_RunBeginsAgainWithAnOldRevision(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1.0.0")}, []Target{at("1.0.0")})
	s.decide()
	s.set(0, at("1.1.0"))
	s.wantPromotions("b:1.1.0")
	s.finish(done).set(1, at("1.1.0")).decide()
	s.wantState("b", pipelines.PromotionComplete)
	s.set(0, at("1.0.0"))
	s.wantPromotions("b:1.0.0")
	if p := s.record("b"); !p.Downgrade || p.Run != 3 {
		t.Errorf("the promotion is %+v, want a downgrade of run 3", p)
	}
}

func TestPIP13_PairwiseFinishesWhatIsOutstanding(t *testing.T) {
	s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")}, []Target{at("0")})
	s.Spec.Mode = pipelines.ModePairwise
	s.wantPromotions("b:1")
	s.finish(opened(7)).decide()

	s.set(0, at("2"))
	s.wantPromotions()
	s.wantState("b", pipelines.PromotionCreated)
	s.wantHolds("b:WaitingForMerge")
	if message := s.Status.Holds[0].Message; !strings.Contains(message, "revision 2 is next") {
		t.Errorf("the hold says %q", message)
	}

	s.saw("b", pipelines.PullRequestMerged)
	s.wantPromotions()
	s.wantState("b", pipelines.PromotionSucceeded)
	s.set(1, at("1"))
	s.wantPromotions("b:2", "c:1")
}

func TestPIP13_PairwiseContinuesBehindAnUnhealthyEnvironment(t *testing.T) {
	s := newScene(t, notifications(), []Target{sick("3")}, []Target{at("2")}, []Target{at("1")})
	s.Spec.Mode = pipelines.ModePairwise
	s.wantPromotions("c:2")
	s.wantHolds("a:Unsettled")

	s = newScene(t, notifications(), []Target{sick("3")}, []Target{at("2")}, []Target{at("1")})
	s.wantPromotions()
}

func TestPIP14_PlanNeedsNothingButFacts(t *testing.T) {
	s := newScene(t, manual(pullRequests()), []Target{at("1")}, []Target{at("0")})
	first, second := Plan(s.Observed), Plan(s.Observed)
	if diff := cmp.Diff(first, second); diff != "" {
		t.Error(diff)
	}
	want := Outlook{Revision: "1", Run: 1, Holds: []pipelines.Hold{{
		Environment: "b",
		Reason:      pipelines.HoldWaitingForApproval,
		Revision:    "1",
		Since:       metav1.NewTime(s.Now),
	}}}
	unsaid := []cmp.Option{cmpopts.IgnoreFields(Outlook{}, "Status"), cmpopts.IgnoreFields(pipelines.Hold{}, "Message")}
	if diff := cmp.Diff(want, first, unsaid...); diff != "" {
		t.Errorf("the plan (-want +got):\n%s", diff)
	}
	if len(s.Status.Environments) != 0 {
		t.Error("the plan has changed the facts")
	}
}

func TestPIP06_UnreadableTargetKeepsItsLastRevision(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("1")})
	s.decide()
	lost := s.Now.Add(time.Minute)
	s.pass(5*time.Minute).set(1, Target{
		Problem: Problem{Reason: pipelines.ReasonTargetClusterNotReady, Message: "cluster prod does not answer"}, UnreadableSince: lost,
	})
	s.decide()
	target := s.Status.Environments["b"].Targets[0]
	want := target
	want.Revision, want.UnreadableSince, want.Ready = "1", &metav1.Time{Time: lost}, false
	if diff := cmp.Diff(want, target); diff != "" {
		t.Errorf("the target:\n%s", diff)
	}
	ready := meta.FindStatusCondition(s.Status.Conditions, pipelines.ConditionReady)
	if ready.Reason != pipelines.ReasonTargetClusterNotReady || !strings.Contains(ready.Message, "cluster prod does not answer") {
		t.Errorf("Ready is %+v", ready)
	}
	s.wantHolds("b:TargetNotReadable")

	before := *s.Status.DeepCopy()
	s.pass(time.Hour).decide()
	if diff := cmp.Diff(before, s.Status); diff != "" {
		t.Errorf("time alone has changed the status: %s", diff)
	}
}

// The Event about a target names the kind of its problem, so that a user knows whether to look at the cluster or at the application.
func TestPIP06_AProblemOfATargetIsAnnouncedByItsKind(t *testing.T) {
	for reason, want := range map[string]string{
		pipelines.ReasonTargetClusterNotFound: "GetClusterError",
		pipelines.ReasonTargetClusterNotReady: "GetClusterError",
		pipelines.ReasonTargetNotReadable:     "GetAppError",
		pipelines.ReasonReferenceNotPermitted: pipelines.ReasonReferenceNotPermitted,
		pipelines.ReasonKindNotPermitted:      pipelines.ReasonKindNotPermitted,
	} {
		s := newScene(t, notifications(), []Target{at("1")}, []Target{{Problem: Problem{Reason: reason, Message: "why it is so"}}})
		s.decide()
		news := slices.DeleteFunc(slices.Clone(s.announced), func(n News) bool { return !n.Warning })
		if len(news) != 1 || news[0].Reason != want || !strings.Contains(news[0].Message, "why it is so") {
			t.Errorf("%s is announced as %+v, want %s", reason, news, want)
		}
	}
}

func TestNothingIsConcludedFromTargetsThatWereNotLookedAt(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("1")})
	s.decide()
	before := *s.Status.DeepCopy()
	s.set(1, Target{Problem: Problem{Starting: true, Reason: pipelines.ReasonTargetNotReadable, Message: "is being looked at"}})
	if effects := s.decide(); len(effects) > 0 {
		t.Errorf("effects %v", effects)
	}
	if diff := cmp.Diff(before, s.Status); diff != "" {
		t.Error(diff)
	}
}

func TestUnchangedWorldGivesTheSameStatus(t *testing.T) {
	for name, targets := range map[string][]Target{"waiting": {at("0")}, "unreadable": {unseen}, "sick": {sick("1")}, "current": {at("1")}} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, manual(pullRequests()), []Target{at("1")}, targets)
			s.decide()
			before := *s.Status.DeepCopy()
			s.pass(20 * time.Minute).decide()
			if diff := cmp.Diff(before, s.Status); diff != "" || len(s.announced) > 0 {
				t.Errorf("announced %v, changed %s", s.announced, diff)
			}
		})
	}
}

func TestNewsAreToldOncePerTransition(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
	tell := func() (reasons []string) {
		s.decide()
		for _, news := range s.announced {
			reasons = append(reasons, news.Reason)
		}
		return reasons
	}
	for i, want := range [][]string{{"RunStarted", "PromotionUnattempted", "PromotionAttempting"}, nil} {
		if diff := cmp.Diff(want, tell()); diff != "" {
			t.Errorf("look %d: %s", i, diff)
		}
	}
	s.finish(done)
	if diff := cmp.Diff([]string{"PromotionSucceeded"}, tell()); diff != "" {
		t.Error(diff)
	}
	s.set(1, at("1"))
	if diff := cmp.Diff([]string{"PromotionComplete", "RunCompleted"}, tell()); diff != "" {
		t.Error(diff)
	}
}
