// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"testing"
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// pullRequests returns a promotion by pull request.
func pullRequests() *pipelines.Promotion {
	return &pipelines.Promotion{Strategy: pipelines.Strategy{PullRequest: &pipelines.PullRequestStrategy{
		Type: pipelines.GitProviderGitea, URL: "https://git.example/team/apps", BaseBranch: "main",
		SecretRef: pipelines.LocalObjectReference{Name: "git"},
	}}}
}

func notifications() *pipelines.Promotion {
	return &pipelines.Promotion{Strategy: pipelines.Strategy{Notification: &pipelines.NotificationStrategy{}}}
}

func installations() *pipelines.Promotion {
	return &pipelines.Promotion{Strategy: pipelines.Strategy{Installation: &pipelines.InstallationStrategy{}}}
}

func manual(p *pipelines.Promotion) *pipelines.Promotion {
	p.Manual = true
	return p
}

// at returns a healthy target.
func at(revision string) Target { return Target{Healthy: true, Revision: revision} }

// sick returns a target that runs a revision and is unhealthy.
func sick(revision string) Target { return Target{Revision: revision, Message: "pods are missing"} }

var unseen = Target{Problem: Problem{Reason: pipelines.ReasonTargetNotReadable, Message: "cannot be read"}}

// scene is a pipeline with environments called a, b and c that runs pass by pass.
type scene struct {
	t testing.TB
	Observed
	announced []News
}

// newScene returns a scene with one environment per list of targets.
func newScene(t testing.TB, promotion *pipelines.Promotion, environments ...[]Target) *scene {
	s := &scene{t: t}
	s.Namespace, s.Name, s.Generation, s.Now = "team", "app", 1, noon
	s.Spec.AppRef = pipelines.AppReference{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "HelmRelease", Name: "app"}
	s.Spec.Promotion = promotion
	s.Status.ObservedGeneration = -1
	s.Attempts = map[AttemptID]Attempt{}
	for i, targets := range environments {
		spec := pipelines.Environment{Name: string(rune('a' + i))}
		for range targets {
			spec.Targets = append(spec.Targets, pipelines.Target{Namespace: "apps"})
		}
		s.Spec.Environments = append(s.Spec.Environments, spec)
		s.Environments = append(s.Environments, Environment{Targets: targets})
	}
	return s
}

// maxPass is the maximum number of decisions per pass here; the loop allows four times as many.
const maxPass = 8

// decide runs one pass like the loop, with effects that take place at once. It returns all effects but news.
func (s *scene) decide() []Effect {
	s.t.Helper()
	s.announced = nil
	p := &pipelines.Pipeline{Status: *s.Status.DeepCopy()}
	var done []Effect
	for range maxPass {
		d := Decide(s.Observed)
		for _, effect := range d.Do {
			if s.act(effect) {
				done = append(done, effect)
			}
		}
		s.Observed = Settle(p, s.Observed, d, nil)
		if !d.Wait {
			continue
		}
		if d.Why.Code == "" || d.Why.Message == "" {
			s.t.Fatalf("a wait without a reason: %+v", d)
		}
		if d.RequeueAfter <= 0 && !s.Deleted {
			s.t.Fatalf("a wait without a safety net: %+v", d)
		}
		wantAwakeInTime(s.t, s.Observed, d)
		return done
	}
	s.t.Fatalf("no end after %d decisions; the last was %v", maxPass, done)
	return nil
}

// wantAwakeInTime checks that a pipeline does not sleep past a time at which it would act.
func wantAwakeInTime(t testing.TB, o Observed, d Decision) {
	t.Helper()
	if d.RequeueAfter <= soonest {
		return
	}
	o.Now = o.Now.Add(d.RequeueAfter - time.Nanosecond)
	if late := Decide(o); !late.Wait {
		t.Fatalf("it sleeps for %s, and would have had to do something in that time: %+v", d.RequeueAfter, late)
	}
}

func (s *scene) act(effect Effect) bool {
	switch e := effect.(type) {
	case AddFinalizer:
		s.Finalizer = true
	case RemoveFinalizer:
		s.Finalizer = false
	case RemoveRequest:
		s.Requests = slices.DeleteFunc(slices.Clone(s.Requests), func(r Request) bool { return r.ID == e.ID })
	case Promote:
		s.Attempts[e.ID] = Attempt{State: AttemptRunning}
	case Withdraw:
		s.Attempts[e.ID] = Attempt{State: AttemptRunning}
	case Announce:
		s.announced = append(s.announced, e.News...)
		return false
	}
	return true
}

// pass advances the time.
func (s *scene) pass(d time.Duration) *scene {
	s.Now = s.Now.Add(d)
	return s
}

// set replaces the targets of an environment.
func (s *scene) set(environment int, targets ...Target) *scene {
	s.Environments[environment].Targets = targets
	return s
}

// finish ends all running attempts.
func (s *scene) finish(with Attempt) *scene {
	for id, attempt := range s.Attempts {
		if attempt.State == AttemptRunning {
			s.Attempts[id] = with
		}
	}
	return s
}

// opened returns an attempt that has opened a pull request.
func opened(number int64) Attempt {
	return Attempt{State: AttemptDone, Result: Result{BaseCommit: "base", PullRequest: PullRequest{
		Number: number, URL: "https://git.example/team/apps/pulls/1", State: pipelines.PullRequestOpen, HeadCommit: "head",
	}}}
}

var done = Attempt{State: AttemptDone}

func failed(permanent bool) Attempt {
	return Attempt{
		State: AttemptFailed,
		Error: AttemptError{Reason: "Refused", Message: "the server said no", Permanent: permanent, Inputs: "1"},
	}
}

// saw sets the observed state of the pull request of an environment.
func (s *scene) saw(environment string, state pipelines.PullRequestState) *scene {
	p := s.Status.Environments[environment].Promotion
	s.PullRequests = []PullRequest{{
		Environment: environment, Key: p.Key, Revision: p.Revision, Run: p.Run, Number: p.PullRequest.Number, URL: p.PullRequest.URL,
		State: state, ClosedBy: "kim", ClosedTime: s.Now,
	}}
	return s
}

// state returns the state of the promotion to an environment.
func (s *scene) state(environment string) pipelines.PromotionState {
	if p := s.Status.Environments[environment].Promotion; p != nil {
		return p.State
	}
	return ""
}

func (s *scene) record(environment string) *pipelines.PromotionStatus {
	s.t.Helper()
	p := s.Status.Environments[environment].Promotion
	if p == nil {
		s.t.Fatalf("there is no promotion to %s", environment)
	}
	return p
}

func (s *scene) wantState(environment string, want pipelines.PromotionState) {
	s.t.Helper()
	if got := s.state(environment); got != want {
		s.t.Fatalf("the promotion to %s is %q, want %q; holds %v", environment, got, want, s.holds())
	}
}

// holds returns the environments and reasons of all holds.
func (s *scene) holds() []string {
	var texts []string
	for _, hold := range s.Status.Holds {
		texts = append(texts, hold.Environment+":"+string(hold.Reason))
	}
	return texts
}

func (s *scene) wantHolds(want ...string) {
	s.t.Helper()
	if got := s.holds(); !slices.Equal(got, want) {
		s.t.Fatalf("holds are %q, want %q\n%+v", got, want, s.Status.Holds)
	}
}

// promotions returns the environments and revisions of started promotions.
func promotions(effects []Effect) []string {
	var texts []string
	for _, effect := range effects {
		if e, ok := effect.(Promote); ok {
			texts = append(texts, e.ID.Environment+":"+e.Revision)
		}
	}
	return texts
}

func (s *scene) wantPromotions(want ...string) {
	s.t.Helper()
	if got := promotions(s.decide()); !slices.Equal(got, want) {
		s.t.Fatalf("promotions are %q, want %q; holds %v", got, want, s.Status.Holds)
	}
}

// ask makes a request.
func (s *scene) ask(action pipelines.RequestAction, environment, revision string) *scene {
	s.Requests = append(s.Requests, Request{
		Annotation:  "request/" + environment,
		ID:          string(action) + s.Now.String(),
		Action:      action,
		Environment: environment,
		Revision:    revision,
		By:          "kim",
	})
	return s
}
