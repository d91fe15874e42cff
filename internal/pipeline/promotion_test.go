// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

func TestPIP21_NotificationStates(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
	s.wantPromotions("b:1")
	s.wantState("b", pipelines.PromotionAttempting)
	if s.Finalizer {
		t.Error("a notification needs no finalizer")
	}
	s.finish(failed(false)).decide()
	s.wantState("b", pipelines.PromotionFailed)
	s.wantHolds("b:Retrying")
	p := s.record("b")
	if p.Attempts != 1 || p.Error.Message != "the server said no" || s.Status.Holds[0].Until == nil {
		t.Errorf("the promotion is %+v", p)
	}
	key := p.Key
	s.Now = p.NextAttemptTime.Add(-time.Second)
	s.wantPromotions()
	s.Now = p.NextAttemptTime.Time
	s.wantPromotions("b:1")
	if p := s.record("b"); p.Key != key || p.Attempts != 2 {
		t.Errorf("the second attempt is %+v", p)
	}
	s.finish(done)
	s.wantPromotions()
	s.wantState("b", pipelines.PromotionSucceeded)
	s.wantHolds("b:RollingOut")
	s.set(0, at("2"))
	s.wantPromotions("b:2")
	if p := s.record("b"); p.Attempts != 1 || p.Run != 2 || p.Key == key {
		t.Errorf("a new revision does not begin anew: %+v", p)
	}
}

// The base branch was changed by hand while the response to an attempt was lost: its pull request no longer changes anything.
func TestPIP22_APullRequestOfNoUseIsClosed(t *testing.T) {
	s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
	s.decide()
	of := opened(7)
	of.Result.Present = true
	effects := s.finish(of).decide()
	s.wantState("b", pipelines.PromotionSucceeded)
	withdrawn := slices.ContainsFunc(effects, func(e Effect) bool { w, ok := e.(Withdraw); return ok && w.PullRequest.Number == 7 })
	if !withdrawn || !s.Finalizer {
		t.Errorf("it stays open: %v, finalizer %v", effects, s.Finalizer)
	}
	s.finish(Attempt{State: AttemptDone, Result: Result{PullRequest: PullRequest{Number: 7, State: pipelines.PullRequestClosed}}}).decide()
	s.wantState("b", pipelines.PromotionSucceeded)
	s.set(1, at("1")).decide()
	s.wantState("b", pipelines.PromotionComplete)
}

func TestPIP22_PullRequestStates(t *testing.T) {
	open := func(t *testing.T) *scene {
		s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
		effects := s.decide()
		if _, first := effects[0].(AddFinalizer); !first || !s.Finalizer {
			t.Fatalf("the finalizer does not come first: %v", effects)
		}
		if p := s.record("b"); p.PullRequest.Branch != "promotion-team-app-b-"+p.Key[:8] || p.PullRequest.Repository == nil {
			t.Errorf("the intent is %+v", p.PullRequest)
		}
		s.finish(opened(7)).decide()
		s.wantState("b", pipelines.PromotionCreated)
		s.wantHolds("b:WaitingForMerge")
		if p := s.record("b"); p.PullRequest.Number != 7 || p.PullRequest.BaseCommit != "base" {
			t.Errorf("the pull request is %+v", p.PullRequest)
		}
		return s
	}
	t.Run("merged and deployed", func(t *testing.T) {
		s := open(t)
		s.saw("b", pipelines.PullRequestMerged)
		s.wantPromotions()
		s.wantState("b", pipelines.PromotionSucceeded)
		if s.Finalizer {
			t.Error("the finalizer stays without a pull request")
		}
		s.set(1, at("1")).decide()
		s.wantState("b", pipelines.PromotionComplete)
		if p := s.record("b"); p.CompletionTime == nil || p.PullRequest.ClosedBy != "kim" || s.Status.Run.CompletionTime == nil {
			t.Errorf("the end is not recorded: %+v", p)
		}
	})
	t.Run("deployed before the merge is seen", func(t *testing.T) {
		s := open(t)
		s.set(1, at("1")).decide()
		s.wantState("b", pipelines.PromotionCreated)
		s.saw("b", pipelines.PullRequestMerged).decide()
		s.wantState("b", pipelines.PromotionComplete)
	})
	t.Run("closed without merging", func(t *testing.T) {
		s := open(t)
		s.saw("b", pipelines.PullRequestClosed)
		s.wantPromotions()
		s.wantState("b", pipelines.PromotionAbandoned)
		s.wantHolds("b:Abandoned")
		s.pass(24 * time.Hour).wantPromotions()
		if !meta.IsStatusConditionTrue(s.Status.Conditions, pipelines.ConditionStalled) {
			t.Error("not stalled")
		}
		key := s.record("b").Key
		s.ask(pipelines.RequestRetry, "b", "1").wantPromotions("b:1")
		if p := s.record("b"); p.Key == key || p.Retries != 1 {
			t.Errorf("the retry is %+v", p)
		}
	})
	t.Run("closed, then opened again", func(t *testing.T) {
		s := open(t)
		s.saw("b", pipelines.PullRequestClosed).decide()
		s.saw("b", pipelines.PullRequestOpen).decide()
		s.wantState("b", pipelines.PromotionCreated)
	})
	t.Run("another revision after it was closed", func(t *testing.T) {
		s := open(t)
		s.saw("b", pipelines.PullRequestClosed).decide()
		s.set(0, at("2")).wantPromotions("b:2")
	})
	t.Run("health is lost meanwhile", func(t *testing.T) {
		s := open(t)
		s.set(0, sick("1")).decide()
		s.wantState("b", pipelines.PromotionCreated)
		s.wantHolds("a:Unsettled", "b:WaitingForMerge")
	})
	t.Run("the base branch already has the revision", func(t *testing.T) {
		s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
		s.decide()
		s.finish(done).decide()
		s.wantState("b", pipelines.PromotionSucceeded)
		s.wantPromotions()
		if s.record("b").PullRequest != nil {
			t.Error("there is a pull request")
		}
	})
	t.Run("failed for good", func(t *testing.T) {
		s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
		s.Environments[1].Inputs = "1"
		s.decide()
		s.finish(failed(true)).decide()
		s.wantHolds("b:Failed")
		s.pass(24 * time.Hour).wantPromotions()
		s.Environments[1].Inputs = "2"
		s.wantPromotions("b:1")
		s.Environments[1].Inputs = "1"
		s.finish(failed(true)).decide()
		s.wantHolds("b:Failed")
		s.Generation++
		s.wantPromotions()
		s.pass(Decide(s.Observed).RequeueAfter).wantPromotions("b:1")
	})
}
