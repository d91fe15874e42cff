// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

func TestPIP28_SuspensionHoldsPromotions(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
	s.Spec.Suspend = true
	s.wantPromotions()
	s.wantHolds(":Suspended")
	s.SuspendReason = "by jo: audit"
	s.decide()
	if told := s.Status.Holds[0].Message; !strings.HasPrefix(told, "the pipeline is suspended by jo: audit; it continues after espalier resume pipeline/") {
		t.Errorf("the hold says %q", told)
	}
	since := s.Status.Holds[0].Since
	s.pass(time.Hour).wantPromotions()
	if !s.Status.Holds[0].Since.Equal(&since) {
		t.Error("the hold does not keep its beginning")
	}
	s.Spec.Suspend = false
	s.wantPromotions("b:1")

	s.finish(failed(false)).decide()
	next := s.record("b").NextAttemptTime
	s.wantHolds("b:Retrying")
	if until := s.Status.Holds[0].Until; next == nil || !until.Equal(next) {
		t.Errorf("it is held until %s, and the next attempt is at %s", until, next)
	}
	s.Spec.Suspend = true
	s.decide()
	s.wantHolds(":Suspended", "b:Retrying")
	if until := s.Status.Holds[1].Until; until != nil {
		t.Errorf("a suspended pipeline attempts nothing, and is held until %s", until)
	}
	s.pass(time.Hour).wantPromotions()
	s.wantHolds(":Suspended", "b:Retrying")
	if again := Decide(s.Observed).RequeueAfter; again < time.Minute {
		t.Errorf("looks again after %s although only people can end it", again)
	}
}

// A failed promotion is not retried while its revision is not healthy in the environment before, so nothing says when.
func TestAnAttemptThatMustWaitForAnotherEnvironmentHasNoTime(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("1")}, []Target{at("0")})
	s.wantPromotions("c:1")
	s.finish(failed(false)).decide()
	s.set(1, sick("1")).decide()
	i := slices.IndexFunc(s.Status.Holds, func(h pipelines.Hold) bool { return h.Reason == pipelines.HoldRetrying })
	if i < 0 || s.Status.Holds[i].Until != nil {
		t.Errorf("the holds are %+v", s.Status.Holds)
	}
	s.set(1, at("1")).decide()
	s.wantHolds("c:Retrying")
	if s.Status.Holds[0].Until == nil {
		t.Error("nothing says when it is retried")
	}
}

func TestPIP28_PullRequestsAreFollowedDuringSuspension(t *testing.T) {
	s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
	s.decide()
	s.finish(opened(7)).decide()
	s.Spec.Suspend = true
	s.saw("b", pipelines.PullRequestMerged).decide()
	s.wantState("b", pipelines.PromotionSucceeded)
}

func TestPIP28_SoakTimeIsCountedFromTheLastBreak(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
	s.Spec.Environments[0].MinHealthy = "30m"
	s.wantPromotions()
	s.wantHolds("b:Soaking")
	hold := s.Status.Holds[0]
	if hold.Until == nil || !hold.Until.Time.Equal(noon.Add(30*time.Minute)) || Decide(s.Observed).RequeueAfter > 30*time.Minute {
		t.Errorf("the hold is %+v", hold)
	}
	s.pass(29*time.Minute).set(0, sick("1")).decide()
	s.set(0, at("1")).wantPromotions()
	s.pass(29 * time.Minute).wantPromotions()
	s.pass(time.Minute).wantPromotions("b:1")

	// The time that the target reports reveals an outage that was too short to be observed.
	s = newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
	s.Spec.Environments[0].MinHealthy = "30m"
	s.decide()
	ready := at("1")
	ready.ReadySince = s.Now.Add(20 * time.Minute)
	s.pass(30*time.Minute).set(0, ready).wantPromotions()
	s.pass(20 * time.Minute).wantPromotions("b:1")
}

func TestPIP28_Windows(t *testing.T) {
	berlin, utc := "Europe/Berlin", ""
	allow := func(schedule, duration, zone string) pipelines.Window {
		return pipelines.Window{Kind: pipelines.WindowAllow, Schedule: schedule, Duration: pipelines.Duration(duration), TimeZone: zone}
	}
	deny := func(schedule, duration, zone string) pipelines.Window {
		w := allow(schedule, duration, zone)
		w.Kind = pipelines.WindowDeny
		return w
	}
	day := func(text string) time.Time {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for name, test := range map[string]struct {
		windows []pipelines.Window
		now     string
		// until is when it opens; empty if it is open, "never" if that is not known.
		until string
	}{
		"none":             {now: "2026-03-02T12:00:00Z"},
		"within":           {windows: []pipelines.Window{allow("0 9 * * 1-5", "8h", utc)}, now: "2026-03-02T12:00:00Z"},
		"at the beginning": {windows: []pipelines.Window{allow("0 9 * * 1-5", "8h", utc)}, now: "2026-03-02T09:00:00Z"},
		"at the end": {
			windows: []pipelines.Window{allow("0 9 * * 1-5", "8h", utc)},
			now:     "2026-03-02T17:00:00Z",
			until:   "2026-03-03T09:00:00Z",
		},
		"before the weekend": {
			windows: []pipelines.Window{allow("0 9 * * 1-5", "8h", utc)},
			now:     "2026-03-06T18:00:00Z",
			until:   "2026-03-09T09:00:00Z",
		},
		"over midnight":          {windows: []pipelines.Window{allow("0 22 * * *", "4h", utc)}, now: "2026-03-03T01:59:59Z"},
		"another zone":           {windows: []pipelines.Window{allow("0 9 * * *", "1h", berlin)}, now: "2026-03-02T08:30:00Z"},
		"another zone in summer": {windows: []pipelines.Window{allow("0 9 * * *", "1h", berlin)}, now: "2026-07-02T07:30:00Z"},
		"opens over the clock change": {
			windows: []pipelines.Window{allow("0 9 * * *", "1h", berlin)},
			now:     "2026-03-28T10:00:00Z",
			until:   "2026-03-29T07:00:00Z",
		},
		"an hour that is left out": {
			windows: []pipelines.Window{allow("30 2 * * *", "30m", berlin)},
			now:     "2026-03-29T00:45:00Z",
			until:   "2026-03-30T00:30:00Z",
		},
		"denied": {
			windows: []pipelines.Window{deny("0 0 24 12 *", "72h", utc)},
			now:     "2026-12-25T00:00:00Z",
			until:   "2026-12-27T00:00:00Z",
		},
		"denied within what is allowed": {
			windows: []pipelines.Window{allow("0 9 * * *", "8h", utc), deny("0 12 * * *", "1h", utc)},
			now:     "2026-03-02T12:30:00Z",
			until:   "2026-03-02T13:00:00Z",
		},
		"denied until it is not allowed any more": {
			windows: []pipelines.Window{allow("0 9 * * *", "2h", utc), deny("0 10 * * *", "2h", utc)},
			now:     "2026-03-02T10:30:00Z",
			until:   "2026-03-03T09:00:00Z",
		},
		"denied again and again": {
			windows: []pipelines.Window{deny("0 * * * *", "90m", utc)},
			now:     "2026-03-02T10:30:00Z",
			until:   "never",
		},
		"never allowed": {
			windows: []pipelines.Window{allow("0 0 30 2 *", "1h", utc)},
			now:     "2026-03-02T10:30:00Z",
			until:   "never",
		},
		"one of several": {
			windows: []pipelines.Window{allow("0 9 * * *", "1h", utc), allow("0 12 * * *", "1h", utc)},
			now:     "2026-03-02T12:30:00Z",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
			s.Spec.Environments[1].Windows, s.Now = test.windows, day(test.now)
			if test.until == "" {
				s.wantPromotions("b:1")
				return
			}
			s.wantPromotions()
			s.wantHolds("b:OutsideWindow")
			until := s.Status.Holds[0].Until
			if test.until == "never" {
				if until != nil {
					t.Errorf("until %s", until)
				}
				return
			}
			if until == nil || !until.Time.Equal(day(test.until)) {
				t.Fatalf("until %v, want %s", until, test.until)
			}
			s.Now = until.Time
			s.wantPromotions("b:1")
		})
	}
}

func TestSpecThatCannotBeUnderstood(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*scene)
		says   string
	}{
		"minHealthy": {change: func(s *scene) { s.Spec.Environments[0].MinHealthy = "soon" }, says: "minHealthy of environment a"},
		"schedule": {change: func(s *scene) {
			s.Spec.Environments[1].Windows = []pipelines.Window{{Schedule: "x x x x x", Duration: "1h"}}
		}, says: "windows[0] of environment b"},
		"no schedule": {
			change: func(s *scene) { s.Spec.Environments[1].Windows = []pipelines.Window{{Duration: "1h"}} },
			says:   "schedule is empty",
		},
		"duration": {change: func(s *scene) {
			s.Spec.Environments[1].Windows = []pipelines.Window{{Schedule: "0 9 * * *", Duration: "0s"}}
		}, says: "must be positive"},
		"time zone": {change: func(s *scene) {
			s.Spec.Environments[1].Windows = []pipelines.Window{{Schedule: "0 9 * * *", Duration: "1h", TimeZone: "Mars/Olympus"}}
		}, says: "Mars/Olympus"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")})
			test.change(s)
			s.wantPromotions()
			s.wantHolds("b:Invalid")
			if message := s.Status.Holds[0].Message; !strings.Contains(message, test.says) {
				t.Errorf("the hold says %q", message)
			}
		})
	}
}

func TestHoldsOfPeople(t *testing.T) {
	s := newScene(t, notifications(), []Target{at("1")}, []Target{at("0")}, []Target{at("0")})
	s.UserHolds = []UserHold{{Environment: "c", By: "kim", Message: "audit", Time: noon}}
	s.wantPromotions("b:1")
	s.finish(done).set(1, at("1"))
	s.wantPromotions()
	s.wantHolds("c:Held")
	if message := s.Status.Holds[0].Message; message != "held by kim since 2026-03-02T12:00:00Z, until released: audit" {
		t.Errorf("the hold says %q", message)
	}
	s.UserHolds = []UserHold{{}}
	s.wantPromotions()
	s.wantHolds(":Held")
	s.UserHolds = nil
	s.wantPromotions("c:1")
}

func TestFirstPullRequestOfAnEnvironmentWaitsForTheListing(t *testing.T) {
	s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
	s.Status.Run = &pipelines.Run{Number: 3, Revision: "1"}
	s.Environments[1].ListingPending = true
	s.wantPromotions()
	s.wantHolds("b:LookingUp")
	s.Environments[1].ListingPending = false
	s.wantPromotions("b:1")
}

// A pipeline that has lost its status takes the number of its run from the pull requests of the previous one.
func TestRunIsNotNumberedBeforePullRequestsAreListed(t *testing.T) {
	s := newScene(t, pullRequests(), []Target{at("1")}, []Target{at("0")})
	s.Environments[1].ListingPending = true
	s.wantPromotions()
	if s.Status.Run != nil || len(s.Status.Environments) > 0 {
		t.Fatalf("concluded too early: %+v", s.Status)
	}
	// The failure is reported, and still nothing is concluded.
	s.Environments[1].ListingProblem = "the server fails"
	s.wantPromotions()
	s.wantHolds("b:LookingUp")
	if s.Status.Run != nil || s.state("b") != "" || !strings.Contains(s.Status.Holds[0].Message, "the server fails") {
		t.Fatalf("concluded from nothing: %+v", s.Status)
	}
	if lines := Why(s.Observed); len(lines) != 2 || lines[1].Reason != pipelines.HoldLookingUp {
		t.Errorf("why says %+v", lines)
	}
	s.Environments[1].ListingPending, s.Environments[1].ListingProblem = false, ""
	key := Identity{Namespace: "team", Name: "app", Environment: "b", Revision: "1", Run: 7}.Key()
	s.PullRequests = []PullRequest{{Environment: "b", Key: key, Revision: "1", Run: 7, Number: 4, State: pipelines.PullRequestOpen}}
	s.wantPromotions()
	s.wantState("b", pipelines.PromotionCreated)
	if p := s.record("b"); s.Status.Run.Number != 7 || p.Key != key || p.PullRequest.Number != 4 {
		t.Errorf("run %d, promotion %+v", s.Status.Run.Number, p)
	}
}

func TestExpeditedPromotionSkipsSoakAndWindows(t *testing.T) {
	s := newScene(t, manual(notifications()), []Target{at("1")}, []Target{at("0")})
	s.Spec.Environments[0].MinHealthy = "30m"
	s.Spec.Environments[1].Windows = []pipelines.Window{{Kind: pipelines.WindowAllow, Schedule: "0 3 * * *", Duration: "1h"}}
	s.decide()
	s.wantHolds("b:WaitingForApproval")
	s.Spec.Suspend = true
	s.ask(pipelines.RequestPromote, "b", "1").wantPromotions()
	s.wantHolds(":Suspended")
	s.Spec.Suspend = false
	s.wantPromotions("b:1")
	if p := s.record("b"); !p.Expedited || p.Approval == nil || p.Approval.By != "kim" {
		t.Errorf("the promotion is %+v", p)
	}
}
