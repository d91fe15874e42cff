// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"strings"
	"testing"
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit/externals"
	"espalier.dev/internal/testkit/relay"
)

// While the Git server is down, a new pipeline does not know which pull requests it has, says so, and attempts nothing. When the server is
// back, there is one pull request; and a merge that happened in the meantime is noticed afterwards.
func TestPIP20_PIP22_AGitServerThatIsAwayIsTriedAgain(t *testing.T) {
	t.Parallel()
	w, gitea := newWorld(t), externals.Gitea(t)
	repository := gitea.Repository(t, map[string]string{"app.yaml": w.marked("app", "1.0.0")})
	way := relay.New(t, gitea.URL)
	way.Close()
	w.gitSecret("git", gitea)
	builder, _, prod := w.pair("app")
	w.Create(builder.PullRequest(pipelines.PullRequestStrategy{
		Type:       pipelines.GitProviderGitea,
		URL:        way.Through(t, repository.URL),
		BaseBranch: "main",
		SecretRef:  pipelines.LocalObjectReference{Name: "git"},
	}).Build())
	w.until("app", "held until it is known which pull requests exist", func(p *pipelines.Pipeline) bool {
		return strings.Contains(holdIn(p, "prod", pipelines.HoldLookingUp), "list pull requests")
	})
	way.Open(t)
	created := w.untilState("app", "prod", "1.1.0", pipelines.PromotionCreated)
	if all := repository.PullRequests(t); len(all) != 1 || all[0].Number != int(created.PullRequest.Number) || created.Attempts != 1 {
		t.Errorf("after %d attempts the pull requests are %+v", created.Attempts, all)
	}
	way.Close()
	merged := repository.Merge(t, int(created.PullRequest.Number))
	way.Open(t)
	if seen := w.untilState("app", "prod", "1.1.0", pipelines.PromotionSucceeded); seen.PullRequest.MergeCommit != merged.MergeCommit {
		t.Errorf("the status says %+v, merged was %s", seen.PullRequest, merged.MergeCommit)
	}
	w.runs(prod, "1.1.0")
	w.untilComplete("app", "1.1.0")
}

// The polling interval is an hour, so the merge must become known by the webhook call.
func TestPIP22_ACallOfTheGitServerTellsOfTheMergeAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *manager.Options) { o.Pipelines.PollInterval = time.Hour })
	gitea := externals.Gitea(t)
	repository := gitea.Repository(t, map[string]string{"app.yaml": w.marked("app", "1.0.0")})
	repository.Webhook(t, w.approvals+"/webhook/gitea/"+w.Namespace+"/app/prod", webhookKey)
	w.gitSecret("git", gitea)
	w.Create(w.secret("calls", map[string]string{"hmac-key": approvalKey, "webhook-key": webhookKey}))
	builder, _, _ := w.pair("app")
	p := builder.PullRequest(pipelines.PullRequestStrategy{
		Type: pipelines.GitProviderGitea, URL: repository.URL, BaseBranch: "main", SecretRef: pipelines.LocalObjectReference{Name: "git"},
	}).Build()
	p.Spec.Promotion.Strategy.SecretRef = &pipelines.LocalObjectReference{Name: "calls"}
	recorder := w.record()
	w.Create(p)
	created := w.untilState("app", "prod", "1.1.0", pipelines.PromotionCreated)
	recorder.Quiet(t, 4*time.Second) // Opening the pull request also triggered a reconciliation, which has finished by then.
	repository.Merge(t, int(created.PullRequest.Number))
	w.untilState("app", "prod", "1.1.0", pipelines.PromotionSucceeded)
}
