// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
)

// Everything is real but the users: Flux in two leaf clusters, and Gitea.
func TestWithFlux(t *testing.T) {
	t.Parallel()
	l := newLeaves(t)
	t.Run("all at once", func(t *testing.T) {
		t.Run("PIP-01, PIP-11, PIP-12, PIP-22, PIP-25, PIP-26 from a push to production", func(t *testing.T) { fromPushToProduction(t, l) })
		t.Run("PIP-04, PIP-11 a release that is rolled back goes no further", func(t *testing.T) { rolledBack(t, l) })
		t.Run("PIP-11, PIP-12 who goes back is respected", func(t *testing.T) { wentBack(t, l) })
		t.Run("PIP-01, PIP-04, PIP-23 commits are promoted, too", func(t *testing.T) { byCommit(t, l) })
	})
	t.Run("PIP-06, PIP-11 a leaf that is away holds its environment only", func(t *testing.T) { leafAway(t, l) })
}

func fromPushToProduction(t *testing.T, l leaves) {
	t.Parallel()
	e := newEstate(t, l)
	recorder := e.record()
	e.carry(e.strategy())

	e.publish("1.1.0")
	e.push("1.1.0")
	e.mergeInto("staging", "1.1.0")
	e.expectApprovalIsAwaited("1.1.0")
	answer := e.approve("app", "prod", "1.1.0")
	opened := e.opened("prod", "1.1.0")
	// An answer without the address is for machines that are too slow to have opened the pull request yet.
	if location := answer.Header.Get("Location"); answer.StatusCode != http.StatusNoContent &&
		(answer.StatusCode != http.StatusCreated || location != opened.URL) {
		t.Errorf("the answer is %s with location %q, want %s", answer.Status, location, opened.URL)
	}
	e.mergeInto("prod", "1.1.0")
	done := e.untilComplete("app", "1.1.0")
	approval := done.Status.Environments["prod"].Promotion.Approval
	want := &pipelines.Approval{Decision: pipelines.DecisionApproved, Method: pipelines.ApprovalWebhook, By: "approvals"}
	if diff := cmp.Diff(want, approval, cmpopts.IgnoreFields(pipelines.Approval{}, "Time", "Nonce")); diff != "" || approval.Nonce == "" {
		t.Errorf("the approval is recorded as %v:\n%s", approval, diff)
	}
	e.expect("1.1.0", "1.1.0", "1.1.0")

	e.publish("1.2.0")
	e.push("1.2.0")
	e.mergeInto("staging", "1.2.0")
	e.expectApprovalIsAwaited("1.2.0")
	e.ask("app", map[string]string{
		"id":          "first",
		"action":      "approve",
		"environment": "prod",
		"revision":    "1.2.0",
		"by":          "ann",
		"message":     "looks fine",
	})
	old := e.opened("prod", "1.2.0")
	e.expect("1.2.0", "1.2.0", "1.1.0")

	// It is not merged when the next version comes.
	e.publish("1.3.0")
	e.push("1.3.0")
	e.mergeInto("staging", "1.3.0")
	e.expectApprovalIsAwaited("1.3.0")
	if closed := e.repository.PullRequest(t, old.Number); closed.State != "closed" || closed.Merged {
		t.Errorf("the old pull request is %+v", closed)
	}
	e.ask("app", map[string]string{"id": "second", "action": "approve", "environment": "prod", "revision": "1.3.0", "by": "bob"})
	e.mergeInto("prod", "1.3.0")
	done = e.untilComplete("app", "1.3.0")
	e.expect("1.3.0", "1.3.0", "1.3.0")
	e.expectPullRequests("staging to 1.1.0: merged", "prod to 1.1.0: merged", "staging to 1.2.0: merged", "prod to 1.2.0: closed",
		"staging to 1.3.0: merged", "prod to 1.3.0: merged")
	if branches := e.repository.Branches(t); len(branches) != 6 {
		t.Errorf("the branches are %q: main and those of merged pull requests, which belong to the people who merged them", branches)
	}
	e.expectRecords(done)
	e.expectRest(recorder, func() { e.stir() })
	if !slices.ContainsFunc(
		recorder.History(),
		func(r testkit.Revision) bool { return strings.HasSuffix(r.Field("message"), "approved by approvals") },
	) {
		t.Error("no Event tells of the approval over HTTP")
	}
	if diff := cmp.Diff(wholeStory(), withoutRetries(told(recorder, "app"))); diff != "" {
		t.Errorf("the Events are not one for each transition (-want +got):\n%s", diff)
	}
}

// withoutRetries omits failed attempts, each of which is reported and followed by another one: a machine may be so busy that Gitea does not
// answer in time.
func withoutRetries(story []string) []string {
	for i := 0; i < len(story); i++ {
		promotion, failed := strings.CutPrefix(story[i], "PromotionFailed: ")
		if attempt := slices.Index(story, "PromotionAttempting: "+promotion); failed && attempt >= 0 {
			story = slices.Delete(slices.Delete(story, i, i+1), attempt, attempt+1)
			i -= 2
		}
	}
	return story
}

// wholeStory returns the Events of fromPushToProduction, sorted.
func wholeStory() []string {
	var story []string
	for i, version := range []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0"} {
		story = append(story, fmt.Sprintf("RunStarted: run %d started", i+1))
		if version != "1.2.0" {
			story = append(story, fmt.Sprintf("RunCompleted: run %d", i+1))
		}
		if version == "1.0.0" {
			continue
		}
		states := map[string][]string{
			"staging": {"Attempting", "Created", "Succeeded", "Complete"},
			"prod":    {"Unapproved", "Attempting", "Created", "Succeeded", "Complete"},
		}
		if version == "1.2.0" {
			states["prod"] = []string{"Unapproved", "Attempting", "Created", "Superseded"}
		}
		for environment, reached := range states {
			for _, state := range reached {
				story = append(story, fmt.Sprintf("Promotion%s: promotion of revision %s to environment %s", state, version, environment))
			}
		}
	}
	story = append(story, "RequestAccepted: request to approve by ann", "RequestAccepted: request to approve by bob")
	slices.Sort(story)
	return story
}

// expectApprovalIsAwaited waits until a version waits for approval before production, and checks that its promotion there has not started.
func (e *estate) expectApprovalIsAwaited(version string) {
	e.Helper()
	e.untilState("app", "prod", version, pipelines.PromotionUnapproved)
	p := e.until("app", "waiting for approval", func(p *pipelines.Pipeline) bool {
		return p.Status.Environments["prod"].WaitingApproval.Revision == version && holdIn(p, "prod", pipelines.HoldWaitingForApproval) != ""
	})
	if p.Status.Environments["prod"].Promotion.PullRequest != nil {
		e.Errorf("there is a pull request already: %+v", p.Status.Environments["prod"].Promotion.PullRequest)
	}
	for _, pr := range e.repository.PullRequests(e.T) {
		if pr.Title == fmt.Sprintf("Promote %s/app in prod to %s", e.Namespace, version) {
			e.Errorf("there is a pull request already: %+v", pr)
		}
	}
}

// expectRecords checks the records of three runs in the status.
func (e *estate) expectRecords(p *pipelines.Pipeline) {
	e.Helper()
	type record struct {
		Revision string
		Run      int64
		State    pipelines.PromotionState
		By       string
	}
	got := map[string][]record{}
	keys := map[string]bool{}
	for name, environment := range p.Status.Environments {
		if environment.Promotion == nil {
			continue
		}
		for _, promotion := range append([]pipelines.PromotionStatus{*environment.Promotion}, environment.History...) {
			r := record{Revision: promotion.Revision, Run: promotion.Run, State: promotion.State}
			if promotion.Approval != nil {
				r.By = promotion.Approval.By
			}
			got[name] = append(got[name], r)
			keys[promotion.Key] = true
		}
	}
	want := map[string][]record{
		"staging": {
			{"1.3.0", 4, pipelines.PromotionComplete, ""},
			{"1.2.0", 3, pipelines.PromotionComplete, ""},
			{"1.1.0", 2, pipelines.PromotionComplete, ""},
		},
		"prod": {
			{"1.3.0", 4, pipelines.PromotionComplete, "bob"}, {"1.2.0", 3, pipelines.PromotionSuperseded, "ann"},
			{"1.1.0", 2, pipelines.PromotionComplete, "approvals"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("the status remembers (-want +got):\n%s", diff)
	}
	if len(keys) != 6 {
		e.Errorf("the keys of six promotions are %v", keys)
	}
	if p.Status.Run.Number != 4 || p.Status.LatestRevision != "1.3.0" || len(p.Status.Holds) > 0 {
		e.Errorf("run %+v, latest %s, holds %+v", p.Status.Run, p.Status.LatestRevision, p.Status.Holds)
	}
}

// stir makes Flux apply a commit that changes no release, touches a release, and makes the controller reconcile.
func (e *estate) stir() {
	e.Helper()
	sha := e.repository.Commit(e.T, "main", map[string]string{"README.md": "Nobody.\n"})
	for _, environment := range environments {
		e.places[environment].appliedCommit(e.T, "apps", sha)
		e.places[environment].mark(e.T, e.places[environment].release())
	}
}
