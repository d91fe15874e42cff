// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"net/http"
	"strings"
	"testing"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// checksOf are those of the pull request to prod; an empty value if there are none.
func checksOf(p *pipelines.Pipeline) pipelines.PullRequestChecks {
	promotion := p.Status.Environments["prod"].Promotion
	if promotion == nil || promotion.PullRequest == nil || promotion.PullRequest.Checks == nil {
		return pipelines.PullRequestChecks{}
	}
	return *promotion.PullRequest.Checks
}

// checkAgain has the checks asked for now.
func (w *world) checkAgain(p *pipelines.Pipeline, when string) {
	w.Helper()
	w.annotate(p, "reconcile.fluxcd.io/requestedAt", when)
}

// What builds say of a pull request is told in the status, and neither that they fail nor that they cannot be read keeps anything.
func TestPIP22_ChecksAreToldAndMergingDoesNotWaitForThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.newHub(pipelines.GitProviderBitbucketServer)
	builder, at := h.pipeline()
	w.Create(builder.Build())
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	h.build(1, "build", "INPROGRESS")
	w.checkAgain(p, "once")
	p = w.until("p", "checks that run", func(p *pipelines.Pipeline) bool { return checksOf(p).State == pipelines.ChecksRunning })
	if got := checksOf(p); got.Total != 1 || got.Running != 1 || got.Commit != p.Status.Environments["prod"].Promotion.PullRequest.HeadCommit {
		t.Errorf("checks %+v", got)
	}
	h.build(1, "lint", "FAILED")
	w.checkAgain(p, "twice")
	p = w.until("p", "a check that fails", func(p *pipelines.Pipeline) bool { return checksOf(p).State == pipelines.ChecksFailed })
	if got := checksOf(p); got.Failed != 1 || len(got.FailedNames) != 1 || got.FailedNames[0] != "lint" || !strings.HasSuffix(got.URL, "/pull-requests/1/builds") {
		t.Errorf("checks %+v", got)
	}
	if hold := p.Status.Holds[0]; hold.Reason != pipelines.HoldWaitingForMerge || !strings.HasSuffix(hold.Message, "; its checks have failed: lint") {
		t.Errorf("hold %+v", hold)
	}
	h.fail("builds", http.StatusInternalServerError)
	h.merge(1)
	p = w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
	if got := checksOf(p); got.State != "" {
		t.Errorf("of a merged one: %+v", got)
	}
	w.deploy(w.Client(), at[1], "1.1.0", true)
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionComplete)
}

// A token that may not see builds is as good as any: the promotion goes on, and says nothing of them.
func TestPIP22_ChecksThatMayNotBeSeenAreNoProblem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	h := w.newHub(pipelines.GitProviderBitbucketServer)
	h.fail("builds", http.StatusForbidden)
	builder, _ := h.pipeline()
	w.Create(builder.Build())
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	h.build(1, "lint", "FAILED")
	h.merge(1)
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
	if got := checksOf(p); got.State != "" {
		t.Errorf("checks %+v", got)
	}
}
