// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"strings"
	"testing"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit/externals"
)

// The promotion of an environment replaces that of the pipeline; of two strategies, the pull request wins.
func TestPIP20_WhichStrategyCounts(t *testing.T) {
	t.Parallel()
	w, gitea := newWorld(t), externals.Gitea(t)
	repository := gitea.Repository(
		t,
		map[string]string{"app.yaml": w.marked("both", "1.0.0") + w.marked("override", "1.0.0") + w.marked("only-there", "1.0.0")},
	)
	w.gitSecret("git", gitea)
	pull := pipelines.PullRequestStrategy{
		Type: pipelines.GitProviderGitea, URL: repository.URL, BaseBranch: "main", SecretRef: pipelines.LocalObjectReference{Name: "git"},
	}
	wrong := pull
	wrong.SecretRef.Name = "nowhere"
	both, _, _ := w.pair("both")
	override, _, _ := w.pair("override")
	there, _, _ := w.pair("only-there")
	none, _, _ := w.pair("none")
	empty, _, _ := w.pair("empty")
	w.Create(
		both.PullRequest(pull).Notification().Build(),
		override.PullRequest(wrong).
			Promotion(pipelines.Promotion{Strategy: pipelines.Strategy{Notification: &pipelines.NotificationStrategy{}}}).
			Build(),
		there.Promotion(pipelines.Promotion{Strategy: pipelines.Strategy{PullRequest: &pull}}).Build(),
		none.Build(),
		empty.Promotion(pipelines.Promotion{}).Build(),
	)
	for _, name := range []string{"both", "only-there"} {
		if p := w.untilState(name, "prod", "1.1.0", pipelines.PromotionCreated); p.Strategy != pipelines.StrategyPullRequest {
			t.Errorf("%s: promoted by %s", name, p.Strategy)
		}
		w.expectEvents(name)
	}
	if p := w.untilState("override", "prod", "1.1.0", pipelines.PromotionSucceeded); p.Strategy != pipelines.StrategyNotification {
		t.Errorf("override: promoted by %s", p.Strategy)
	}
	for _, name := range []string{"none", "empty"} {
		p := w.until(name, "held", func(p *pipelines.Pipeline) bool { return holdIn(p, "prod", pipelines.HoldNoStrategy) != "" })
		if p.Status.Environments["prod"].Promotion != nil || !strings.Contains(holdIn(p, "prod", pipelines.HoldNoStrategy), "strategy") {
			t.Errorf("%s: %+v", name, p.Status)
		}
	}
	if opened := repository.PullRequests(t); len(opened) != 2 {
		t.Errorf("opened were %+v", opened)
	}
}
