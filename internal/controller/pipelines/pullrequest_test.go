// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/externals"
)

const canary = "CANARY-5f1e"

// provider is a repository in a real Gitea with a file that pipelines p and q of a world may change.
type provider struct {
	*externals.Repository
	gitea *externals.GiteaServer
	w     *world
}

// newProvider creates the repository and the Secret with its credentials.
func (w *world) newProvider() *provider {
	w.Helper()
	gitea := externals.Gitea(w.T)
	f := &provider{gitea: gitea, w: w}
	f.Repository = gitea.Repository(w.T, map[string]string{
		"prod/app.yaml": f.content("p", "1.0.0") + f.content("q", "1.0.0"),
		"README.md":     "untouched\n",
	})
	w.Create(f.secret("git", gitea.Token))
	return f
}

func (f *provider) content(name, revision string) string {
	return fmt.Sprintf("%s:\n  version: %s # {\"$promotion\": \"%s:%s:prod\"}\n", name, revision, f.w.Namespace, name)
}

func (f *provider) secret(name, token string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.w.Namespace, Name: name}, StringData: map[string]string{
		"username": f.gitea.User, "password": token, "token": token, "caFile": string(f.gitea.CA),
	}}
}

func (f *provider) strategy() pipelines.PullRequestStrategy {
	return pipelines.PullRequestStrategy{
		Type: pipelines.GitProviderGitea, URL: f.CloneURL(), BaseBranch: "main", SecretRef: pipelines.LocalObjectReference{Name: "git"},
	}
}

// open returns the open pull requests.
func (f *provider) open() []externals.PullRequest {
	var open []externals.PullRequest
	for _, pr := range f.PullRequests(f.w.T) {
		if pr.State == "open" {
			open = append(open, pr)
		}
	}
	return open
}

// byPullRequest is a pipeline from dev, which runs 1.1.0, to prod, which runs 1.0.0.
func (f *provider) byPullRequest(name string) (builder *testkit.PipelineBuilder, at []string) {
	w := f.w
	at = w.places(2)
	w.deploy(w.Client(), at[0], "1.1.0", true)
	w.deploy(w.Client(), at[1], "1.0.0", true)
	return testkit.Pipeline(w.Namespace, name).App("helm.toolkit.fluxcd.io/v2", "HelmRelease", "app").
		Environment("dev", at[0]).Environment("prod", at[1]).PullRequest(f.strategy()), at
}

func TestPIP20_PIP22_PIP23_APullRequestIsOpenedFollowedAndMerged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.newProvider()
	builder, at := f.byPullRequest("p")
	w.Create(builder.Build())
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	promotion := p.Status.Environments["prod"].Promotion
	open := f.open()
	if len(open) != 1 {
		t.Fatalf("open %+v", open)
	}
	named := []any{promotion.PullRequest.URL, promotion.PullRequest.Number}
	if diff := cmp.Diff([]any{open[0].URL, int64(open[0].Number)}, named); diff != "" {
		t.Fatalf("pull request in the status (-want +got):\n%s", diff)
	}
	if want := "Promote " + w.Namespace + "/p in prod to 1.1.0"; open[0].Title != want {
		t.Errorf("title %q, want %q", open[0].Title, want)
	}
	if !strings.Contains(open[0].Body, "\n"+w.Namespace+"/p/prod\n") || !strings.Contains(open[0].Body, promotion.Key) {
		t.Errorf("body %q", open[0].Body)
	}
	if got, want := f.File(t, open[0].Head.Branch, "prod/app.yaml"), f.content("p", "1.1.0")+f.content("q", "1.0.0"); got != want {
		t.Errorf("the file is\n%s, want\n%s", got, want)
	}
	if !held(p, "prod", pipelines.HoldWaitingForMerge) {
		t.Errorf("holds %+v", p.Status.Holds)
	}
	merged := f.Merge(t, open[0].Number)
	p = w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
	if pr := p.Status.Environments["prod"].Promotion.PullRequest; pr.MergeCommit != merged.MergeCommit ||
		pr.State != pipelines.PullRequestMerged {
		t.Errorf("status %+v, merge commit %s", pr, merged.MergeCommit)
	}
	w.deploy(w.Client(), at[1], "1.1.0", true)
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionComplete)
	if all := f.PullRequests(t); len(all) != 1 {
		t.Errorf("there are %d pull requests", len(all))
	}
}

func TestPIP12_PIP22_ANewRevisionReplacesThePullRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.newProvider()
	builder, at := f.byPullRequest("p")
	w.Create(builder.Build())
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	old := f.open()[0]
	w.deploy(w.Client(), at[0], "1.2.0", true)
	p := w.untilState("p", "prod", "1.2.0", pipelines.PromotionCreated)
	open := f.open()
	if len(open) != 1 || open[0].Number == old.Number {
		t.Fatalf("open are %+v", open)
	}
	if closed := f.PullRequest(t, old.Number); closed.State != "closed" || closed.Merged {
		t.Errorf("the old one is %+v", closed)
	}
	var comments []struct{ Body string }
	if err := f.gitea.Call(t.Context(), http.MethodGet, fmt.Sprintf("/repos/%s/%s/issues/%d/comments", f.Owner, f.Name, old.Number), nil, &comments); err != nil {
		t.Fatal(err)
	}
	if len(comments) != 1 || !strings.Contains(comments[0].Body, "1.2.0") {
		t.Errorf("comments %+v", comments)
	}
	if branches := f.Branches(t); len(branches) != 2 {
		t.Errorf("branches %v", branches)
	}
	if history := p.Status.Environments["prod"].History; len(history) != 1 || history[0].State != pipelines.PromotionSuperseded {
		t.Errorf("history %+v", history)
	}
}

func TestPIP22_AClosedPullRequestIsAbandonedUntilARetry(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.newProvider()
	builder, _ := f.byPullRequest("p")
	w.Create(builder.Build())
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	f.Close(t, f.open()[0].Number)
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionAbandoned)
	if !held(p, "prod", pipelines.HoldAbandoned) || len(f.open()) > 0 {
		t.Errorf("holds %+v, open %+v", p.Status.Holds, f.open())
	}
	w.ask(p, map[string]any{
		"id":          "again",
		"action":      "retry",
		"environment": "prod",
		"revision":    "1.1.0",
		"by":          "ann",
		"time":        "2026-01-01T00:00:00Z",
	})
	p = w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	counts := map[string]int{
		"pull requests": len(f.PullRequests(t)), "open": len(f.open()), "retries": int(p.Status.Environments["prod"].Promotion.Retries),
	}
	if diff := cmp.Diff(map[string]int{"pull requests": 2, "open": 1, "retries": 1}, counts); diff != "" {
		t.Errorf("after the retry (-want +got):\n%s", diff)
	}
}

func TestPIP29_ADeletedPipelineClosesItsPullRequests(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.newProvider()
	builder, _ := f.byPullRequest("p")
	w.Create(builder.Build())
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	if err := w.Client().Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	testkit.EventuallyGone(t, w.APIServer, p)
	if open := f.open(); len(open) > 0 {
		t.Errorf("still open: %+v", open)
	}
	if branches := f.Branches(t); len(branches) != 1 {
		t.Errorf("branches %v", branches)
	}
	// To a new pipeline of the same name it looks as if a user had closed the pull request, since it is not recorded who did. A retry
	// continues.
	w.Create(builder.Build())
	again := w.untilState("p", "prod", "1.1.0", pipelines.PromotionAbandoned)
	w.ask(again, map[string]any{
		"id":          "again",
		"action":      "retry",
		"environment": "prod",
		"revision":    "1.1.0",
		"by":          "ann",
		"time":        "2026-01-01T00:00:00Z",
	})
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	if open := f.open(); len(open) != 1 {
		t.Errorf("open are %+v", open)
	}
}

func TestPIP20_AFailedAttemptSaysWhyAndIsRepairedByTheSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.newProvider()
	builder, _ := f.byPullRequest("p")
	p := builder.Build()
	p.Spec.Promotion.Strategy.PullRequest.SecretRef.Name = "wrong"
	wrong := f.secret("wrong", canary)
	w.Create(wrong, p)
	p = w.untilState("p", "prod", "1.1.0", pipelines.PromotionFailed)
	failed := p.Status.Environments["prod"].Promotion
	if failed.Error == nil || !failed.Error.Permanent || failed.Error.Message == "" {
		t.Errorf("error %+v, want a permanent one", failed.Error)
	}
	if !held(p, "prod", pipelines.HoldFailed) {
		t.Errorf("holds %+v", p.Status.Holds)
	}
	if text := fmt.Sprintf("%+v", p.Status); strings.Contains(text, canary) {
		t.Errorf("the status tells the token: %s", text)
	}
	repaired := f.secret("wrong", f.gitea.Token)
	repaired.ResourceVersion = ""
	if err := w.Client().Update(t.Context(), repaired); err != nil {
		t.Fatal(err)
	}
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
}

func TestPIP23_WithoutAMarkerThePromotionFailsUntilTheBaseHasOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.newProvider()
	builder, _ := f.byPullRequest("unmarked")
	w.Create(builder.Build())
	p := w.untilState("unmarked", "prod", "1.1.0", pipelines.PromotionFailed)
	if message, marker := p.Status.Environments["prod"].Promotion.Error.Message, w.Namespace+":unmarked:prod"; !strings.Contains(
		message,
		marker,
	) {
		t.Errorf("the message does not name the marker %s: %s", marker, message)
	}
	f.Commit(t, "main", map[string]string{"prod/more.yaml": f.content("unmarked", "1.0.0")})
	w.untilState("unmarked", "prod", "1.1.0", pipelines.PromotionCreated)
}

// A pipeline that has lost its status takes up the pull request that it had opened.
func TestPIP20_LostMemoryOpensNoSecondPullRequest(t *testing.T) {
	t.Parallel()
	w := idleWorld(t)
	stop := w.Manage()
	f := w.newProvider()
	builder, at := f.byPullRequest("p")
	w.Create(builder.Build())
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	w.deploy(w.Client(), at[0], "1.2.0", true)
	p := w.untilState("p", "prod", "1.2.0", pipelines.PromotionCreated)
	number, before := p.Status.Environments["prod"].Promotion.PullRequest.Number, len(f.PullRequests(t))
	stop()
	p.Status = pipelines.PipelineStatus{}
	if err := w.Client().Status().Update(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	w.Manage()
	p = w.untilState("p", "prod", "1.2.0", pipelines.PromotionCreated)
	if got := p.Status.Environments["prod"].Promotion.PullRequest.Number; got != number || len(f.PullRequests(t)) != before {
		t.Errorf("pull request %d, want %d; there are %d, want %d", got, number, len(f.PullRequests(t)), before)
	}
	f.Merge(t, int(number))
	w.untilState("p", "prod", "1.2.0", pipelines.PromotionSucceeded)
}

func TestPIP22_PipelinesShareARepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.newProvider()
	for _, name := range []string{"p", "q"} {
		builder, _ := f.byPullRequest(name)
		w.Create(builder.Build())
	}
	for _, name := range []string{"p", "q"} {
		p := w.untilState(name, "prod", "1.1.0", pipelines.PromotionCreated)
		f.Merge(t, int(p.Status.Environments["prod"].Promotion.PullRequest.Number))
		w.untilState(name, "prod", "1.1.0", pipelines.PromotionSucceeded)
	}
	if got, want := f.File(t, "main", "prod/app.yaml"), f.content("p", "1.1.0")+f.content("q", "1.1.0"); got != want {
		t.Errorf("the file is\n%s, want\n%s", got, want)
	}
}

// The base branch changes the very lines that the pull request changes: its branch is recreated, so that it can be merged.
func TestPIP22_ABaseThatMovesOnDoesNotSpoilThePullRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.newProvider()
	builder, _ := f.byPullRequest("p")
	w.Create(builder.Build())
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	before := p.Status.Environments["prod"].Promotion.PullRequest
	f.Commit(t, "main", map[string]string{"prod/app.yaml": "# by hand\n" + f.content("p", "1.0.5") + f.content("q", "2.0.0")})
	w.until("p", "a new commit on the branch", func(p *pipelines.Pipeline) bool {
		return p.Status.Environments["prod"].Promotion.PullRequest.HeadCommit != before.HeadCommit
	})
	if open := f.open(); len(open) != 1 || open[0].Number != int(before.Number) {
		t.Fatalf("open are %+v", open)
	}
	f.Merge(t, int(before.Number))
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
	if got, want := f.File(t, "main", "prod/app.yaml"), "# by hand\n"+f.content("p", "1.1.0")+f.content("q", "2.0.0"); got != want {
		t.Errorf("the file is\n%s, want\n%s", got, want)
	}
}

// Somebody works on the branch: their commits stay, and the pull request is nevertheless followed to its end.
func TestPIP22_ForeignCommitsAreRespected(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.newProvider()
	builder, _ := f.byPullRequest("p")
	w.Create(builder.Build())
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	pr := p.Status.Environments["prod"].Promotion.PullRequest
	f.Commit(t, pr.Branch, map[string]string{"prod/extra.yaml": "by: hand\n"})
	moved := f.Head(t, pr.Branch)
	f.Commit(t, "main", map[string]string{"other.yaml": "moved: on\n"})
	w.until("p", "the commit of somebody else", func(p *pipelines.Pipeline) bool {
		return p.Status.Environments["prod"].Promotion.PullRequest.HeadCommit == moved
	})
	f.Merge(t, int(pr.Number))
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
	if got := f.File(t, "main", "prod/extra.yaml"); got != "by: hand\n" {
		t.Errorf("the commit of somebody else is lost: %q", got)
	}
}

// Somebody sets another version by hand after a promotion: the next promotion does not undo it unless a user requests that.
func TestPIP22_WhatIsSetByHandIsNotUndone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	f := w.newProvider()
	builder, at := f.byPullRequest("p")
	w.Create(builder.Build())
	p := w.untilState("p", "prod", "1.1.0", pipelines.PromotionCreated)
	f.Merge(t, int(p.Status.Environments["prod"].Promotion.PullRequest.Number))
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionSucceeded)
	w.deploy(w.Client(), at[1], "1.1.0", true)
	w.untilState("p", "prod", "1.1.0", pipelines.PromotionComplete)
	f.Commit(t, "main", map[string]string{"prod/app.yaml": f.content("p", "0.9.9") + f.content("q", "1.0.0")})
	w.deploy(w.Client(), at[0], "1.2.0", true)
	p = w.untilState("p", "prod", "1.2.0", pipelines.PromotionFailed)
	failed := p.Status.Environments["prod"].Promotion.Error
	if failed.Reason != "BaseOverridden" || failed.Permanent || !strings.Contains(failed.Message, "0.9.9") {
		t.Errorf("error %+v", failed)
	}
	if open := f.open(); len(open) > 0 {
		t.Errorf("open %+v", open)
	}
	w.ask(p, map[string]any{
		"id":          "anyway",
		"action":      "promote",
		"environment": "prod",
		"revision":    "1.2.0",
		"by":          "ann",
		"time":        "2026-01-01T00:00:00Z",
	})
	w.untilState("p", "prod", "1.2.0", pipelines.PromotionCreated)
	if got, want := f.File(t, f.open()[0].Head.Branch, "prod/app.yaml"), f.content("p", "1.2.0")+f.content("q", "1.0.0"); got != want {
		t.Errorf("the file is\n%s, want\n%s", got, want)
	}
}
