// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

func TestPIP24_InstallationStrategyNamesTheTargets(t *testing.T) {
	s := newScene(t, installations(), []Target{at("1")}, []Target{at("0"), at("0")})
	effects := s.decide()
	i := slices.IndexFunc(effects, func(e Effect) bool { _, ok := e.(Promote); return ok })
	if i < 0 {
		t.Fatalf("nothing is promoted: %v", effects)
	}
	if p := effects[i].(Promote); p.Strategy.Installation == nil || len(p.Targets) != 2 || p.Value != "1" {
		t.Errorf("the effect is %+v", p)
	}
}

func TestManualRollbackInALaterEnvironmentIsRespected(t *testing.T) {
	for name, prepare := range map[string]func(*scene){
		"promoted": func(s *scene) {
			s.wantPromotions("b:1")
			s.finish(done).set(1, at("1")).decide()
		},
		"was there before": func(s *scene) { s.set(1, at("1")).decide() },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
			prepare(s)
			s.set(1, sick("0"))
			s.wantPromotions()
			s.wantState("b", pipelines.PromotionRolledBack)
			s.set(1, at("0"))
			s.wantPromotions()
			s.wantHolds("b:RolledBack")

			s.ask(pipelines.RequestRetry, "b", "1").wantPromotions("b:1")
			s.finish(done).decide()
			s.wantState("b", pipelines.PromotionSucceeded)
			s.set(1, at("1")).decide()
			s.wantState("b", pipelines.PromotionComplete)

			s.set(1, at("0")).decide()
			s.wantState("b", pipelines.PromotionRolledBack)
			s.set(0, at("2")).wantPromotions("b:2")
		})
	}
}

func TestHelmRemediationIsToldAndNotPromotedAgain(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
	s.decide()
	back := sick("0")
	back.AttemptedRevision, back.Failing = "1", true
	s.finish(done).set(1, back)
	s.wantPromotions()
	s.wantState("b", pipelines.PromotionStalled)
	s.wantHolds("b:RolledBack")
	s.set(1, at("1")).decide()
	s.wantState("b", pipelines.PromotionComplete)
}

// Not every kind reports that it has failed for good. Then only the deadline reveals it.
func TestHelmRemediationThatIsNotSaidIsToldAtTheDeadline(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
	s.decide()
	trying := sick("0")
	trying.AttemptedRevision = "1"
	s.finish(done).set(1, trying).decide()
	s.wantState("b", pipelines.PromotionSucceeded)
	s.pass(DefaultRolloutDeadline).decide()
	s.wantHolds("b:RolledBack")
}

func TestRolloutThatTakesTooLongIsStalled(t *testing.T) {
	s := newScene(t, installations(), []Target{at("1")}, []Target{at("0")})
	s.decide()
	s.finish(done).set(1, sick("1")).decide()
	s.wantHolds("b:RollingOut")
	s.pass(DefaultRolloutDeadline).decide()
	s.wantHolds("b:Stalled")
	s.set(1, at("1")).decide()
	s.wantHolds()
	s.wantState("b", pipelines.PromotionComplete)
}

func TestPromotionThatDoesNotArriveIsStalled(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
	s.decide()
	s.finish(done).decide()
	d := Decide(s.Observed)
	if d.RequeueAfter > safetyRecheck {
		t.Errorf("looks again after %s", d.RequeueAfter)
	}
	s.pass(DefaultRolloutDeadline - time.Second).wantPromotions()
	s.wantState("b", pipelines.PromotionSucceeded)
	s.pass(time.Second).wantPromotions()
	s.wantState("b", pipelines.PromotionStalled)
	s.wantHolds("b:Stalled")
	if message := s.Status.Holds[0].Message; !strings.Contains(message, "target apps is healthy at 0") {
		t.Errorf("the hold says %q", message)
	}
}

func TestEnvironmentThatIsRemovedOrRenamed(t *testing.T) {
	s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
	s.decide()
	s.finish(opened(7)).decide()
	s.Spec.Environments[1].Name, s.Generation = "z", 2
	effects := s.decide()
	if !slices.ContainsFunc(effects, func(e Effect) bool {
		w, ok := e.(Withdraw)
		return ok && w.PullRequest.Number == 7 && w.PullRequest.Repository != nil
	}) {
		t.Fatalf("the pull request of the old name stays: %v", effects)
	}
	if !slices.Equal(promotions(effects), []string{"z:1"}) {
		t.Errorf("begun %v", effects)
	}
	for id := range s.Attempts {
		if id.Verb == VerbWithdraw {
			s.Attempts[id] = Attempt{State: AttemptDone}
		}
	}
	s.decide()
	if _, found := s.Status.Environments["b"]; found {
		t.Error("the environment is still in the status")
	}
}

func TestEnvironmentThatBecomesTheFirst(t *testing.T) {
	s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
	s.decide()
	s.finish(opened(7)).decide()
	slices.Reverse(s.Spec.Environments)
	slices.Reverse(s.Environments)
	effects := s.decide()
	if !slices.ContainsFunc(effects, func(e Effect) bool { _, ok := e.(Withdraw); return ok }) ||
		!slices.Equal(promotions(effects), []string{"a:0"}) {
		t.Errorf("effects %v", effects)
	}
}

// As long as other pull requests will be opened in the repository, the old one must be closed first, however long that takes.
func TestOldPullRequestIsClosedBeforeANewOneHoweverLongItTakes(t *testing.T) {
	s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
	s.decide()
	s.finish(opened(7)).decide()
	s.set(0, at("2"))
	for range 3 * MaxWithdrawals {
		s.wantPromotions()
		s.finish(failed(true)).decide()
		s.wantHolds("b:Withdrawing")
		s.pass(longestTry * 2)
	}
	if message := s.Status.Holds[0].Message; !strings.Contains(message, "the server said no") {
		t.Errorf("the hold says %q", message)
	}
	s.decide()
	s.finish(done).wantPromotions("b:2")
}

func TestStrategyThatChanges(t *testing.T) {
	s := newScene(t, manual(pullRequests()), []Target{at("1")}, []Target{at("0")})
	s.decide()
	s.ask(pipelines.RequestApprove, "b", "1").decide()
	s.finish(opened(7)).decide()
	s.wantState("b", pipelines.PromotionCreated)

	s.Spec.Promotion, s.Generation = manual(notifications()), 2
	effects := s.decide()
	if !slices.ContainsFunc(effects, func(e Effect) bool { _, ok := e.(Withdraw); return ok }) || len(promotions(effects)) > 0 {
		t.Errorf("effects %v", effects)
	}
	s.finish(done).wantPromotions("b:1")
	if p := s.record("b"); p.Strategy != pipelines.StrategyNotification || !approved(p) {
		t.Errorf("the promotion is %+v", p)
	}

	s.Spec.Promotion = nil
	s.finish(failed(false)).decide()
	s.wantHolds("b:NoStrategy")
}

func TestManualThatIsSwitchedOnAndOff(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
	s.Spec.Suspend = true
	s.decide()
	s.wantState("b", pipelines.PromotionUnattempted)
	s.Spec.Promotion.Manual, s.Spec.Suspend = true, false
	s.wantPromotions()
	s.wantState("b", pipelines.PromotionUnapproved)
	s.Spec.Promotion.Manual = false
	s.wantPromotions("b:1")
}

// An attempt that was cut off after reaching some of the targets is repeated, although the revision is rolling out there.
func TestPIP24_AnAttemptThatWasCutOffReachesAllTargets(t *testing.T) {
	for name, cutOff := range map[string]func(*scene){
		"by a crash":     func(s *scene) { clear(s.Attempts) },
		"by the network": func(s *scene) { s.finish(failed(false)).decide(); s.pass(longestTry) },
		"by a network that took its time": func(s *scene) {
			s.pass(time.Minute).finish(failed(false)).decide()
			s.pass(Decide(s.Observed).RequeueAfter)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, installations(), []Target{at("1")}, []Target{at("0"), at("0")})
			s.wantPromotions("b:1")
			s.set(1, sick("1"), at("0"))
			cutOff(s)
			s.wantPromotions("b:1")
			s.finish(done).decide()
			s.wantState("b", pipelines.PromotionSucceeded)
		})
	}
	t.Run("but none begins then", func(t *testing.T) {
		s := newScene(t, installations(), []Target{at("1")}, []Target{sick("1"), at("0")})
		s.wantPromotions()
	})
}

// An attempt to withdraw that was cut off after closing the pull request has left the branch behind.
func TestPIP22_AClosedPullRequestStillHasABranch(t *testing.T) {
	withdrawing := func(t *testing.T) *scene {
		s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
		s.decide()
		s.finish(opened(7)).decide()
		s.set(0, at("2")).saw("b", pipelines.PullRequestOpen).decide()
		if s.Status.Environments["b"].Withdrawal == nil {
			t.Fatal("nothing is withdrawn")
		}
		s.PullRequests[0].State = pipelines.PullRequestClosed
		return s
	}
	for name, cutOff := range map[string]func(*scene){
		"by a crash":     func(s *scene) { clear(s.Attempts) },
		"by the network": func(s *scene) { s.finish(failed(false)).decide(); s.pass(longestTry) },
		"by a network that took its time": func(s *scene) {
			s.pass(time.Minute).finish(failed(false)).decide()
			s.pass(Decide(s.Observed).RequeueAfter)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := withdrawing(t)
			cutOff(s)
			if effects := s.decide(); !slices.ContainsFunc(effects, func(e Effect) bool { _, ok := e.(Withdraw); return ok }) {
				t.Fatalf("the branch is left: %v", effects)
			}
			s.finish(done)
			s.wantPromotions("b:2")
		})
	}
	t.Run("but nobody waits forever", func(t *testing.T) {
		s := withdrawing(t)
		s.finish(failed(true))
		s.wantPromotions("b:2")
	})
	t.Run("and what was merged is left alone", func(t *testing.T) {
		s := withdrawing(t)
		clear(s.Attempts)
		s.PullRequests[0].State = pipelines.PullRequestMerged
		s.wantPromotions("b:2")
	})
}

func TestPIP29_DeletionClosesPullRequests(t *testing.T) {
	deleted := func(t *testing.T) *scene {
		s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
		s.decide()
		s.finish(opened(7)).decide()
		s.Deleted = true
		return s
	}
	closing := func(effects []Effect) bool {
		return slices.ContainsFunc(effects, func(e Effect) bool { _, ok := e.(Withdraw); return ok })
	}
	t.Run("closed", func(t *testing.T) {
		s := deleted(t)
		if !closing(s.decide()) || !s.Finalizer {
			t.Fatal("the pull request is not closed first")
		}
		s.finish(done).decide()
		if s.Finalizer {
			t.Error("the pipeline does not go")
		}
	})
	t.Run("told", func(t *testing.T) {
		s := deleted(t)
		s.RequestedAt = "now"
		s.decide()
		ready := meta.FindStatusCondition(s.Status.Conditions, pipelines.ConditionReady)
		if ready.Status != metav1.ConditionFalse || ready.Reason != ReasonDeleting || !strings.Contains(ready.Message, "pulls/1 for revision 1 is being closed") {
			t.Errorf("Ready is %+v", ready)
		}
		if handled := s.Status.LastHandledReconcileAt; handled != "now" {
			t.Errorf("the request to reconcile is not answered, but %q", handled)
		}
		s.finish(failed(true)).decide()
		ready = meta.FindStatusCondition(s.Status.Conditions, pipelines.ConditionReady)
		if ready.Reason != ReasonDeleting || !strings.Contains(ready.Message, "close it yourself") {
			t.Errorf("with a pull request that stays, Ready is %+v", ready)
		}
		s = newScene(t, notifications(), []Target{at("1")}, []Target{at("1")})
		s.decide()
		s.Deleted, s.Finalizer = true, true
		s.decide()
		if ready := meta.FindStatusCondition(s.Status.Conditions, pipelines.ConditionReady); ready.Message != "being deleted" {
			t.Errorf("with nothing to wait for, Ready is %+v", ready)
		}
	})
	t.Run("bounded attempts", func(t *testing.T) {
		s := deleted(t)
		attempts := 0
		for s.Finalizer && attempts < 20 {
			if closing(s.decide()) {
				attempts++
			}
			s.finish(failed(false)).decide()
			s.pass(longestTry * 2)
		}
		if attempts != MaxWithdrawals || s.Finalizer {
			t.Errorf("%d attempts, finalizer %v", attempts, s.Finalizer)
		}
		if !slices.ContainsFunc(
			s.announced,
			func(n News) bool { return n.Reason == "PullRequestLeftOpen" && strings.Contains(n.Message, "pulls/1") },
		) {
			t.Errorf("nobody is told: %v", s.announced)
		}
	})
	t.Run("credentials are gone", func(t *testing.T) {
		s := deleted(t)
		s.decide()
		s.finish(failed(true)).decide()
		if s.Finalizer {
			t.Error("the pipeline does not go")
		}
	})
	for name, reason := range map[string]string{
		"the Secret is gone": ReasonNoCredentials, "the Secret may not be read": ReasonCredentialsDenied,
	} {
		t.Run(name, func(t *testing.T) {
			s := deleted(t)
			s.decide()
			s.finish(Attempt{State: AttemptFailed, Error: AttemptError{Reason: reason, Message: "there is no Secret"}}).decide()
			if s.Finalizer {
				t.Error("the pipeline does not go")
			}
			if !slices.ContainsFunc(s.announced, func(n News) bool { return n.Reason == ReasonLeftOpen && strings.Contains(n.Message, "pulls/1") }) {
				t.Errorf("nobody is told: %v", s.announced)
			}
			s.wantHolds("b:LeftOpen")
			if record := s.record("b"); record.Error == nil || !strings.Contains(record.Error.Message, "pulls/1") {
				t.Errorf("the record does not name what stays: %+v", record.Error)
			}
		})
	}
	t.Run("closed, and the branch stays", func(t *testing.T) {
		s := deleted(t)
		s.decide()
		stays := failed(true)
		stays.Result.PullRequest = PullRequest{Number: 7, State: pipelines.PullRequestClosed}
		s.finish(stays).decide()
		if s.Finalizer || s.record("b").PullRequest.State != pipelines.PullRequestClosed {
			t.Errorf("finalizer %v, pull request %+v", s.Finalizer, s.record("b").PullRequest)
		}
		if len(s.announced) != 1 || s.announced[0].Reason != "BranchLeft" ||
			!strings.Contains(s.announced[0].Message, s.record("b").PullRequest.Branch) {
			t.Errorf("told is %v", s.announced)
		}
	})
	t.Run("and says what it waits for", func(t *testing.T) {
		s := deleted(t)
		s.decide()
		s.wantHolds("b:Withdrawing")
		s.finish(failed(false)).decide()
		for place, message := range map[string]string{
			"the status":    s.Status.Holds[0].Message,
			"the condition": meta.FindStatusCondition(s.Status.Conditions, pipelines.ConditionReconciling).Message,
			"why":           Why(s.Observed)[0].Message,
		} {
			if !strings.Contains(message, "pulls/1") || !strings.Contains(message, "the server said no") {
				t.Errorf("%s says %q", place, message)
			}
		}
		if s.Status.Holds[0].Until == nil ||
			meta.FindStatusCondition(s.Status.Conditions, pipelines.ConditionReconciling).Reason != ReasonDeleting {
			t.Errorf("holds %+v, conditions %+v", s.Status.Holds, s.Status.Conditions)
		}
	})
	t.Run("pull requests are to stay", func(t *testing.T) {
		s := deleted(t)
		s.KeepPullRequests = true
		if closing(s.decide()) || s.Finalizer {
			t.Error("the pull request is closed, or the pipeline stays")
		}
	})
	t.Run("while an attempt is running", func(t *testing.T) {
		s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
		s.decide()
		s.Deleted = true
		if closing(s.decide()) || !s.Finalizer {
			t.Fatal("the attempt is not waited for")
		}
		s.finish(opened(7))
		if !closing(s.decide()) {
			t.Error("what the attempt has opened is not closed")
		}
	})
}

func TestDuplicateEnvironments(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")}, []Target{at("0")})
	s.Spec.Environments[2].Name = "b"
	s.wantPromotions("b:1")
	s.wantHolds("b:Invalid")
}

func TestEmptyPipeline(t *testing.T) {
	s := newScene(t, nil)
	s.decide()
	s.wantHolds(":NoTargets")
}

func TestPromotionBlockOfTheEnvironmentReplacesTheOther(t *testing.T) {
	s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
	s.Spec.Environments[1].Promotion = notifications()
	effects := s.decide()
	if p := s.record("b"); p.Strategy != pipelines.StrategyNotification {
		t.Errorf("%s: %v", p.Strategy, effects)
	}
	s = newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
	s.Spec.Promotion.Strategy.Notification = &pipelines.NotificationStrategy{}
	s.decide()
	if p := s.record("b"); p.Strategy != pipelines.StrategyPullRequest {
		t.Errorf("of two strategies %s counts", p.Strategy)
	}
}

func TestHistoryIsBounded(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("0")}, []Target{at("x")})
	for i := range 2 * pipelines.MaxHistory {
		s.set(0, at(string(rune('a'+i)))).decide()
		s.finish(failed(true)).decide()
	}
	history := s.Status.Environments["b"].History
	if len(history) != pipelines.MaxHistory || history[0].Run < history[1].Run {
		t.Errorf("%d records: %+v", len(history), history)
	}
}

func TestMessagesAreBounded(t *testing.T) {
	long := strings.Repeat("ä", 5000)
	s := newScene(t, notifications(), []Target{at("1")}, []Target{{
		Revision: "0",
		Message:  long,
	}}, []Target{{Problem: Problem{Reason: "Bad", Message: long}}})
	s.decide()
	s.finish(Attempt{State: AttemptFailed, Error: AttemptError{Reason: "Refused", Message: long}}).decide()
	for _, hold := range s.Status.Holds {
		if len(hold.Message) > maxMessage {
			t.Errorf("hold %s has %d bytes", hold.Reason, len(hold.Message))
		}
	}
	for _, c := range s.Status.Conditions {
		if len(c.Message) > maxMessage+100 {
			t.Errorf("condition %s has %d bytes", c.Type, len(c.Message))
		}
	}
	if p := s.record("b"); len(p.Error.Message) > maxMessage || !strings.HasSuffix(p.Error.Message, "...") {
		t.Errorf("the error has %d bytes", len(p.Error.Message))
	}
	if target := s.Status.Environments["c"].Targets[0]; len(target.Error) > maxMessage {
		t.Errorf("the target has %d bytes", len(target.Error))
	}
}

func TestSettleKeepsTheStatusOnErrors(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
	s.decide()
	p := &pipelines.Pipeline{Status: *s.Status.DeepCopy()}
	s.set(0, at("2"))
	Settle(p, s.Observed, Decision{}, errTest)
	if diff := cmp.Diff(s.Status, p.Status); diff != "" {
		t.Error(diff)
	}
}

var errTest = &Refusal{Message: "broken"}
