// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// checks returns the checks of a commit, with the given numbers of passed, failed and running ones.
func checks(commit string, passed, failed, running int32) *pipelines.PullRequestChecks {
	c := &pipelines.PullRequestChecks{
		Commit: commit, URL: "https://git.example/checks", Total: passed + failed + running, Passed: passed, Failed: failed, Running: running,
	}
	switch {
	case failed > 0:
		c.State = pipelines.ChecksFailed
	case running > 0:
		c.State = pipelines.ChecksRunning
	case passed > 0:
		c.State = pipelines.ChecksPassed
	}
	for i := range min(failed, 2) {
		c.FailedNames = append(c.FailedNames, []string{"build", "lint"}[i])
	}
	return c
}

// proposed returns a pipeline that waits for its pull request to be merged.
func proposed(t *testing.T) *scene {
	s := newScene(t, pullRequests(), []Target{at("2")}, []Target{at("1")})
	s.decide()
	s.finish(opened(7)).decide()
	s.wantHolds("b:WaitingForMerge")
	return s
}

// checked reports the open pull request with these checks.
func (s *scene) checked(commit string, c *pipelines.PullRequestChecks) *scene {
	s.saw("b", pipelines.PullRequestOpen)
	s.PullRequests[0].HeadCommit, s.PullRequests[0].Checks = commit, c
	s.PullRequests[0].ClosedBy = ""
	s.decide()
	return s
}

func TestPIP22_ChecksAreToldAndDecideNothing(t *testing.T) {
	s := proposed(t)
	for words, c := range map[string]*pipelines.PullRequestChecks{
		"; its checks are running":                    checks("head", 1, 0, 2),
		"; its checks passed":                         checks("head", 3, 0, 0),
		"; its checks failed: build":                  checks("head", 2, 1, 0),
		"; its checks failed: build, lint":            checks("head", 0, 2, 1),
		"; its checks failed: build, lint and 3 more": checks("head", 0, 5, 1),
	} {
		s.checked("head", c)
		if effects := s.decide(); len(effects) > 0 {
			t.Errorf("%s: %v", words, effects)
		}
		s.wantState("b", pipelines.PromotionCreated)
		if diff := cmp.Diff(c, s.record("b").PullRequest.Checks); diff != "" {
			t.Errorf("the status (-want +got):\n%s", diff)
		}
		s.wantHolds("b:WaitingForMerge")
		if got := s.Status.Holds[0].Message; !strings.HasSuffix(got, "/pulls/1 must be merged"+words) {
			t.Errorf("the hold says %q, want %q", got, words)
		}
		if lines := Why(Recall(s.asObject(), s.Now)); !strings.HasSuffix(lines[1].Message, words) {
			t.Errorf("why says %+v, want %q", lines, words)
		}
	}
	s.saw("b", pipelines.PullRequestMerged).decide()
	s.wantState("b", pipelines.PromotionSucceeded)
	if got := s.record("b").PullRequest.Checks; got != nil {
		t.Errorf("a merged one has %+v", got)
	}
}

func TestPIP22_OnlyChecksOfTheHeadAreTold(t *testing.T) {
	s := proposed(t).checked("head", checks("head", 0, 1, 0))
	s.checked("head", nil)
	if got := s.record("b").PullRequest.Checks; got == nil || got.State != pipelines.ChecksFailed {
		t.Errorf("what is known is lost, as after a restart: %+v", got)
	}
	s.checked("next", nil)
	if got := s.record("b").PullRequest; got.Checks != nil || got.HeadCommit != "next" {
		t.Errorf("those of an older commit are told: %+v", got)
	}
	s.checked("next", checks("head", 0, 1, 0))
	if got := s.record("b").PullRequest.Checks; got != nil {
		t.Errorf("those of an older commit are told: %+v", got)
	}
	s.checked("next", checks("next", 1, 0, 0)).checked("next", &pipelines.PullRequestChecks{Commit: "next"})
	if got := s.record("b").PullRequest.Checks; got != nil {
		t.Errorf("there are none any more: %+v", got)
	}
}

// Hundreds of checks that pass one after another must not cost as many writes.
func TestPIP22_ChecksThatRunAreWrittenNowAndThen(t *testing.T) {
	s, written := proposed(t), 0
	before := ""
	for passed := range int32(101) {
		s.checked("head", checks("head", passed, 0, 100-passed))
		if now := fmt.Sprint(*s.record("b").PullRequest.Checks); now != before {
			before = now
			written++
		}
	}
	if got := s.record("b").PullRequest.Checks; written > 6 || written < 4 || got.State != pipelines.ChecksPassed || got.Passed != 100 {
		t.Errorf("written %d times, in the end %+v", written, got)
	}
	s, written, before = proposed(t), 0, ""
	tell := func(c *pipelines.PullRequestChecks) {
		s.checked("head", c)
		if now := fmt.Sprint(*s.record("b").PullRequest.Checks); now != before {
			before = now
			written++
		}
	}
	for begun := range int32(200) {
		tell(checks("head", 0, 0, begun+1))
	}
	for failed := range int32(200) {
		tell(checks("head", 0, failed+1, 199-failed))
	}
	if got := s.record("b").PullRequest.Checks; written > 40 || got.Failed != 200 || got.Running != 0 {
		t.Errorf("what begins and fails one after the other is written %d times, in the end %+v", written, got)
	}
	s = proposed(t).checked("head", checks("head", 0, 0, 3)).checked("head", checks("head", 0, 1, 2))
	if got := s.record("b").PullRequest.Checks; got.State != pipelines.ChecksFailed {
		t.Errorf("a failure waits: %+v", got)
	}
}

// A promotion that is given up does not take its checks along, neither into the history nor into the withdrawal.
func TestPIP22_ChecksEndWithTheirPromotion(t *testing.T) {
	s := proposed(t).checked("head", checks("head", 0, 1, 0))
	s.set(0, at("3")).decide()
	status := s.Status.Environments["b"]
	if status.Withdrawal == nil || status.Withdrawal.PullRequest.Checks != nil {
		t.Errorf("the withdrawal: %+v", status.Withdrawal)
	}
	s.PullRequests = nil
	s.finish(Attempt{State: AttemptDone, Result: Result{PullRequest: PullRequest{Number: 7, State: pipelines.PullRequestClosed}}}).decide()
	s.decide()
	for _, old := range s.Status.Environments["b"].History {
		if old.PullRequest != nil && old.PullRequest.Checks != nil {
			t.Errorf("the history: %+v", old.PullRequest)
		}
	}
}
