// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines_test

import (
	"fmt"
	"testing"
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit/parts"
)

// A Git server that is away is tried again after a while, then after a longer one. When it is back, there is one pull request; and a merge
// that happened while it could not be asked is seen afterwards.
func TestPIP20_PIP22_AGitServerThatIsAwayIsTriedAgain(t *testing.T) {
	t.Parallel()
	w, gitea := newWorld(t), parts.Gitea(t)
	repository := gitea.Repository(t, map[string]string{"app.yaml": w.marked("app", "1.0.0")})
	way := newRelay(t, gitea.URL)
	w.gitSecret("git", gitea)
	builder, _, prod := w.pair("app")
	w.create(builder.PullRequest(pipelines.PullRequestStrategy{
		Type: pipelines.GitProviderGitea, URL: way.through(t, repository.URL), BaseBranch: "main", SecretRef: pipelines.LocalObjectReference{Name: "git"},
	}).Build())
	var pauses []time.Duration
	for attempt := int32(1); attempt <= 2; attempt++ {
		p := w.until("app", fmt.Sprintf("failed %d times", attempt), func(p *pipelines.Pipeline) bool {
			promotion := p.Status.Environments["prod"].Promotion
			return promotion != nil && promotion.State == pipelines.PromotionFailed && promotion.Attempts == attempt && holdIn(p, "prod", pipelines.HoldRetrying) != ""
		})
		failed := p.Status.Environments["prod"].Promotion
		if failed.Error == nil || failed.Error.Permanent || failed.NextAttemptTime == nil {
			t.Fatalf("attempt %d: %+v", attempt, failed)
		}
		pauses = append(pauses, failed.NextAttemptTime.Sub(failed.StateTransitionTime.Time))
	}
	if pauses[1] <= pauses[0] {
		t.Errorf("the pauses do not grow: %v", pauses)
	}
	way.open(t)
	created := w.untilState("app", "prod", "1.1.0", pipelines.PromotionCreated)
	if all := repository.PullRequests(t); len(all) != 1 || all[0].Number != int(created.PullRequest.Number) || created.Attempts != 3 {
		t.Errorf("after %d attempts the pull requests are %+v", created.Attempts, all)
	}
	way.close()
	merged := repository.Merge(t, int(created.PullRequest.Number))
	way.open(t)
	if seen := w.untilState("app", "prod", "1.1.0", pipelines.PromotionSucceeded); seen.PullRequest.MergeCommit != merged.MergeCommit {
		t.Errorf("the status says %+v, merged was %s", seen.PullRequest, merged.MergeCommit)
	}
	w.runs(prod, "1.1.0")
	w.untilComplete("app", "1.1.0")
}

// Nobody asks the Git server within an hour, so it must be its call that tells of the merge.
func TestPIP22_ACallOfTheGitServerTellsOfTheMergeAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *manager.Options) { o.Pipelines.PollInterval = time.Hour })
	gitea := parts.Gitea(t)
	repository := gitea.Repository(t, map[string]string{"app.yaml": w.marked("app", "1.0.0")})
	repository.Webhook(t, w.approvals+"/webhook/gitea/"+w.namespace+"/app/prod", webhookKey)
	w.gitSecret("git", gitea)
	w.create(w.secret("calls", map[string]string{"hmac-key": approvalKey, "webhook-key": webhookKey}))
	builder, _, _ := w.pair("app")
	p := builder.PullRequest(pipelines.PullRequestStrategy{
		Type: pipelines.GitProviderGitea, URL: repository.URL, BaseBranch: "main", SecretRef: pipelines.LocalObjectReference{Name: "git"},
	}).Build()
	p.Spec.Promotion.Strategy.SecretRef = &pipelines.LocalObjectReference{Name: "calls"}
	recorder := w.record()
	w.create(p)
	created := w.untilState("app", "prod", "1.1.0", pipelines.PromotionCreated)
	recorder.Quiet(t, 4*time.Second) // Opening the pull request made the controller look as well; that is over now.
	repository.Merge(t, int(created.PullRequest.Number))
	w.untilState("app", "prod", "1.1.0", pipelines.PromotionSucceeded)
}
