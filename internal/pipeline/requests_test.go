// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

func TestPIP25_ManualPromotionWaitsForApproval(t *testing.T) {
	for name, promotion := range map[string]*pipelines.Promotion{
		"pull request": pullRequests(),
		"notification": notifications(),
		"installation": installations(),
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, manual(promotion), []Target{at("1")}, []Target{at("0")})
			s.wantPromotions()
			s.wantState("b", pipelines.PromotionUnapproved)
			s.wantHolds("b:WaitingForApproval")
			if marker := s.Status.Environments["b"].WaitingApproval.Revision; marker != "1" {
				t.Errorf("the marker is %q", marker)
			}
			s.ask(pipelines.RequestApprove, "b", "1").wantPromotions("b:1")
			if len(s.Requests) > 0 || s.Status.Environments["b"].WaitingApproval.Revision != "" {
				t.Error("the request or the marker is still there")
			}
			want := &pipelines.Approval{By: "kim", Method: pipelines.ApprovalKubernetesAPI, Decision: pipelines.DecisionApproved}
			if diff := cmp.Diff(want, s.record("b").Approval, cmpopts.IgnoreFields(pipelines.Approval{}, "Time")); diff != "" {
				t.Errorf("the approval:\n%s", diff)
			}
			if answer := s.Status.Requests[0]; !answer.Accepted || answer.Action != pipelines.RequestApprove {
				t.Errorf("the answer is %+v", answer)
			}
		})
	}
}

// The approval server writes nothing but the status, so the Event of what follows names the approver.
func TestPIP25_AnApprovalFromOutsideIsTold(t *testing.T) {
	s := newScene(t, manual(notifications()), []Target{at("1")}, []Target{at("0")})
	s.decide()
	p := &pipelines.Pipeline{Spec: s.Spec, Status: s.Status}
	if _, err := Approve(p, Ask{Environment: "b", Revision: "1", By: "key", Method: pipelines.ApprovalWebhook, Time: noon}); err != nil {
		t.Fatal(err)
	}
	s.Status = p.Status
	s.wantPromotions("b:1")
	if last := s.announced[len(s.announced)-1]; !strings.HasSuffix(last.Message, "approved by key") {
		t.Errorf("told is %q", last.Message)
	}
}

func TestPIP25_ApprovalIsVoidForANewRevision(t *testing.T) {
	s := newScene(t, manual(notifications()), []Target{at("1")}, []Target{at("0")})
	s.decide()
	s.ask(pipelines.RequestApprove, "b", "1").decide()
	s.finish(failed(false)).decide()
	s.set(0, at("2"))
	s.wantPromotions()
	s.wantState("b", pipelines.PromotionUnapproved)
	if marker := s.Status.Environments["b"].WaitingApproval.Revision; marker != "2" {
		t.Errorf("the marker is %q", marker)
	}
	s.pass(time.Second).ask(pipelines.RequestApprove, "b", "1").wantPromotions()
	if answer := s.Status.Requests[0]; answer.Accepted ||
		!slices.ContainsFunc(s.announced, func(n News) bool { return n.Reason == "RequestRefused" && n.Warning }) {
		t.Errorf("a stale approval is answered with %+v", answer)
	}
}

// A request is answered once, even if its annotation could not be removed.
func TestRequestIsCarriedOutOnce(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
	s.decide()
	s.finish(failed(false)).decide()
	s.ask(pipelines.RequestRetry, "b", "1")
	again := slices.Clone(s.Requests)
	s.wantPromotions("b:1")
	s.finish(failed(false)).decide()
	s.Requests = again
	s.wantPromotions()
	if len(s.Requests) > 0 || len(s.Status.Requests) != 1 {
		t.Errorf("requests %v, answers %v", s.Requests, s.Status.Requests)
	}
}

func TestPIP26_DecisionsAreBoundToEnvironmentRevisionAndRun(t *testing.T) {
	waiting := func() *pipelines.Pipeline {
		s := newScene(t, manual(notifications()), []Target{at("1")}, []Target{at("0")})
		s.decide()
		p := &pipelines.Pipeline{Spec: s.Spec, Status: s.Status}
		p.Namespace, p.Name = "team", "app"
		return p
	}
	good := Ask{Environment: "b", Revision: "1", Run: 1, By: "kim", Method: pipelines.ApprovalWebhook, Nonce: "n", Time: noon}
	for name, test := range map[string]struct {
		change func(*Ask, *pipelines.Pipeline)
		reason RefusalReason
	}{
		"another environment":   {func(a *Ask, _ *pipelines.Pipeline) { a.Environment = "x" }, RefusedUnknownEnvironment},
		"the first environment": {func(a *Ask, _ *pipelines.Pipeline) { a.Environment = "a" }, RefusedUnknownEnvironment},
		"another revision":      {func(a *Ask, _ *pipelines.Pipeline) { a.Revision = "0" }, RefusedStale},
		"another run":           {func(a *Ask, _ *pipelines.Pipeline) { a.Run = 2 }, RefusedStale},
		"a run that is over":    {func(_ *Ask, p *pipelines.Pipeline) { p.Status.Run.Number = 2 }, RefusedStale},
		"nothing waits":         {func(_ *Ask, p *pipelines.Pipeline) { p.Status.Environments = nil }, RefusedNothingWaits},
		"it has begun without one": {func(_ *Ask, p *pipelines.Pipeline) {
			p.Status.Environments["b"].Promotion.State = pipelines.PromotionAttempting
		}, RefusedNothingWaits},
		"somebody has rejected it": {func(_ *Ask, p *pipelines.Pipeline) {
			p.Status.Environments["b"].Promotion.State = pipelines.PromotionRejected
		}, RefusedDecided},
		"it has been superseded": {func(_ *Ask, p *pipelines.Pipeline) {
			p.Status.Environments["b"].Promotion.State = pipelines.PromotionSuperseded
		}, RefusedNothingWaits},
	} {
		t.Run(name, func(t *testing.T) {
			p, ask := waiting(), good
			test.change(&ask, p)
			before := p.Status.DeepCopy()
			_, err := Approve(p, ask)
			var refusal *Refusal
			if !errors.As(err, &refusal) || refusal.Reason != test.reason || refusal.Message == "" {
				t.Errorf("the answer is %v, want %s", err, test.reason)
			}
			if diff := cmp.Diff(*before, p.Status); diff != "" {
				t.Errorf("a refusal changes the status: %s", diff)
			}
		})
	}
	p := waiting()
	answer, err := Approve(p, good)
	if err != nil || answer.Already || p.Status.Environments["b"].Promotion.State != pipelines.PromotionUnattempted {
		t.Fatalf("the answer is %+v, %v", answer, err)
	}
	if approval := p.Status.Environments["b"].Promotion.Approval; approval.Nonce != "n" {
		t.Errorf("the approval is %+v", approval)
	}
	before := p.Status.DeepCopy()
	good.Nonce, good.Time = "other", noon.Add(time.Hour)
	if answer, err = Approve(p, good); err != nil || !answer.Already {
		t.Errorf("the same approval again: %+v, %v", answer, err)
	}
	if diff := cmp.Diff(*before, p.Status); diff != "" {
		t.Errorf("the same approval again changes the status: %s", diff)
	}
}

// What may be requested of a promotion in each state: done, already (nothing to do), or the reason of the refusal.
func TestRequestsInEachState(t *testing.T) {
	verbs := []func(*pipelines.Pipeline, Ask) (Answer, error){Approve, Reject, PromoteNow, Retry}
	for state, want := range map[pipelines.PromotionState][]string{
		pipelines.PromotionUnapproved:  {"done", "done", "done", "NothingWaits"},
		pipelines.PromotionUnattempted: {"already", "done", "done", "NothingWaits"},
		pipelines.PromotionAttempting:  {"already", "AlreadyBegun", "already", "NothingWaits"},
		pipelines.PromotionFailed:      {"already", "AlreadyBegun", "done", "done"},
		pipelines.PromotionCreated:     {"already", "AlreadyBegun", "already", "NothingWaits"},
		pipelines.PromotionSucceeded:   {"already", "AlreadyBegun", "already", "NothingWaits"},
		pipelines.PromotionComplete:    {"already", "AlreadyBegun", "already", "NothingWaits"},
		pipelines.PromotionRejected:    {"AlreadyDecided", "already", "NothingWaits", "done"},
		pipelines.PromotionAbandoned:   {"already", "AlreadyBegun", "NothingWaits", "done"},
		pipelines.PromotionStalled:     {"already", "AlreadyBegun", "NothingWaits", "done"},
		pipelines.PromotionRolledBack:  {"already", "AlreadyBegun", "NothingWaits", "done"},
		pipelines.PromotionSuperseded:  {"NothingWaits", "NothingWaits", "NothingWaits", "NothingWaits"},
	} {
		for i, ask := range verbs {
			s := newScene(t, manual(notifications()), []Target{at("2")}, []Target{at("0")})
			s.Status.Run = &pipelines.Run{Number: 2, Revision: "2"}
			recorded(s, "b", "2", state)
			p := &pipelines.Pipeline{Spec: s.Spec, Status: s.Status}
			answer, err := ask(p, Ask{Environment: "b", Revision: "2", Time: noon})
			got := "done"
			var refusal *Refusal
			if errors.As(err, &refusal) {
				got = string(refusal.Reason)
			} else if answer.Already {
				got = "already"
			}
			if got != want[i] {
				t.Errorf("verb %d in state %s: %s, want %s", i, state, got, want[i])
			}
		}
	}
}

func TestRejectionHoldsUntilARetryThatIsApprovedAgain(t *testing.T) {
	s := newScene(t, manual(notifications()), []Target{at("1")}, []Target{at("0")})
	s.decide()
	s.ask(pipelines.RequestReject, "b", "1").wantPromotions()
	s.wantState("b", pipelines.PromotionRejected)
	s.wantHolds("b:Rejected")
	s.pass(time.Second).ask(pipelines.RequestRetry, "b", "1").wantPromotions()
	s.wantState("b", pipelines.PromotionUnapproved)
	s.pass(time.Second).ask(pipelines.RequestApprove, "b", "1").wantPromotions("b:1")
}

func TestAnnotationsAreReadAsTheyAreWritten(t *testing.T) {
	request := Request{
		ID: "7", Action: pipelines.RequestApprove, Environment: "production eu", Revision: "main@sha1:abc", Run: 4, By: "kim", Message: "go",
		Time: noon,
	}
	annotation, value := request.Text()
	request.Annotation = annotation
	read := ReadRequests(map[string]string{annotation: value, "other": "x"})
	if diff := cmp.Diff([]Request{request}, read); diff != "" {
		t.Error(diff)
	}
	hold := UserHold{Environment: "b", By: "kim", Message: "audit", Time: noon}
	annotation, value = hold.Text()
	if diff := cmp.Diff([]UserHold{hold}, ReadHolds(map[string]string{annotation: value})); diff != "" {
		t.Error(diff)
	}
}

func TestRequestsThatCannotBeUnderstood(t *testing.T) {
	for value, says := range map[string]string{
		"yes":                                "not a JSON object",
		`{"action":"approve"}`:               "environment and revision must be set",
		`{"environment":"b","revision":"1"}`: "use approve, reject, promote or retry",
		`{"action":"approve","environment":"b","revision":"1","run":"x"}`: "not a JSON object",
	} {
		s := newScene(t, manual(notifications()), []Target{at("1")}, []Target{at("0")})
		s.Requests = ReadRequests(map[string]string{RequestAnnotationPrefix + "x": value})
		s.wantPromotions()
		if len(s.Status.Requests) != 1 || s.Status.Requests[0].Accepted || !strings.Contains(s.Status.Requests[0].Message, says) {
			t.Errorf("%s: the answer is %+v", value, s.Status.Requests)
		}
		if len(s.Requests) != 0 {
			t.Errorf("%s stays", value)
		}
	}
	if holds := ReadHolds(map[string]string{HoldAnnotationPrefix + "x": "yes"}); len(holds) != 1 || holds[0].Environment != "" {
		t.Errorf("a hold that cannot be understood holds %v", holds)
	}
}

func TestManyRequestsAreAllAnswered(t *testing.T) {
	s := newScene(t, manual(notifications()), []Target{at("1")}, []Target{at("0")})
	s.decide()
	for i := range 3 * pipelines.MaxRequests / 2 {
		s.Requests = append(s.Requests, Request{ID: string(rune('A' + i)), Action: pipelines.RequestApprove, Environment: "x", Revision: "1"})
	}
	s.decide()
	if len(s.Requests) > 0 || len(s.Status.Requests) != pipelines.MaxRequests {
		t.Errorf("%d requests are left, %d answers", len(s.Requests), len(s.Status.Requests))
	}
}
