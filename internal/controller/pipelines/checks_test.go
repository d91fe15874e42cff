// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// checksOf returns the checks of the pull request to prod, or an empty value if there are none.
func checksOf(p *pipelines.Pipeline) pipelines.PullRequestChecks {
	promotion := p.Status.Environments["prod"].Promotion
	if promotion == nil || promotion.PullRequest == nil || promotion.PullRequest.Checks == nil {
		return pipelines.PullRequestChecks{}
	}
	return *promotion.PullRequest.Checks
}

// checkAgain requests the checks now.
func (w *world) checkAgain(p *pipelines.Pipeline, when string) {
	w.Helper()
	w.annotate(p, "reconcile.fluxcd.io/requestedAt", when)
}

// The status reports the builds of a pull request. Neither a failed nor an unreadable build holds anything up.
// unlocated ignores the URL of checks.
var unlocated = cmpopts.IgnoreFields(pipelines.PullRequestChecks{}, "URL")

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
	head := p.Status.Environments["prod"].Promotion.PullRequest.HeadCommit
	want := pipelines.PullRequestChecks{State: pipelines.ChecksRunning, Total: 1, Running: 1, Commit: head}
	if diff := cmp.Diff(want, checksOf(p), unlocated); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	h.build(1, "lint", "FAILED")
	w.checkAgain(p, "twice")
	p = w.until("p", "a check that fails", func(p *pipelines.Pipeline) bool { return checksOf(p).State == pipelines.ChecksFailed })
	want = pipelines.PullRequestChecks{
		State: pipelines.ChecksFailed, Total: 2, Running: 1, Failed: 1, FailedNames: []string{"lint"}, Commit: head,
	}
	if diff := cmp.Diff(want, checksOf(p), unlocated); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	if url := checksOf(p).URL; !strings.HasSuffix(url, "/pull-requests/1/builds") {
		t.Errorf("the checks are at %s", url)
	}
	if hold := p.Status.Holds[0]; hold.Reason != pipelines.HoldWaitingForMerge ||
		!strings.HasSuffix(hold.Message, "; its checks failed: lint") {
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

// A token that may not read builds is as good as any other: the promotion continues, and does not mention them.
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
