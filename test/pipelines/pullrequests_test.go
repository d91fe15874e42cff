// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"fmt"
	"strings"
	"testing"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit/externals"
)

// gitSecret creates the Secret with the credentials of a Gitea.
func (w *world) gitSecret(name string, gitea *externals.GiteaServer, change ...func(map[string]string)) {
	w.Helper()
	data := map[string]string{"username": gitea.User, "password": gitea.Token, "token": gitea.Token, "caFile": string(gitea.CA)}
	for _, f := range change {
		f(data)
	}
	w.Create(w.secret(name, data))
}

// marked returns a line with the version of a pipeline's prod.
func (w *world) marked(name, version string) string {
	return fmt.Sprintf("%[3]s: %[1]s # {\"$promotion\": \"%[2]s:%[3]s:prod\"}\n", version, w.Namespace, name)
}

func TestPIP20_PullRequestsThatCannotBeOpenedSayWhy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gitea := externals.Gitea(t)
	repository := gitea.Repository(t, map[string]string{"app.yaml": w.marked("other", "1.0.0")})
	w.gitSecret("git", gitea)
	w.gitSecret("no-token", gitea, func(data map[string]string) { data["token"] = "" })
	w.gitSecret("wrong-token", gitea, func(data map[string]string) { data["token"] = "CANARY-e3b0" })
	w.gitSecret("wrong-password", gitea, func(data map[string]string) { data["password"] = "CANARY-e3b0" })
	w.gitSecret("no-authority", gitea, func(data map[string]string) { delete(data, "caFile") })
	cases := map[string]struct {
		change    func(*pipelines.PullRequestStrategy)
		permanent bool
		says      string
	}{
		"missing-secret":     {func(s *pipelines.PullRequestStrategy) { s.SecretRef.Name = "nowhere" }, false, "nowhere"},
		"no-token":           {func(s *pipelines.PullRequestStrategy) { s.SecretRef.Name = "no-token" }, true, "token"},
		"wrong-token":        {func(s *pipelines.PullRequestStrategy) { s.SecretRef.Name = "wrong-token" }, true, "token"},
		"wrong-password":     {func(s *pipelines.PullRequestStrategy) { s.SecretRef.Name = "wrong-password" }, true, "password"},
		"no-authority":       {func(s *pipelines.PullRequestStrategy) { s.SecretRef.Name = "no-authority" }, false, "certificate"},
		"empty-url":          {func(s *pipelines.PullRequestStrategy) { s.URL = "" }, true, "url"},
		"no-encryption":      {func(s *pipelines.PullRequestStrategy) { s.URL = "http://git.example.org/team/app" }, true, "https"},
		"unreachable":        {func(s *pipelines.PullRequestStrategy) { s.URL = "https://127.0.0.1:1/team/app" }, false, "127.0.0.1:1"},
		"unknown-repository": {func(s *pipelines.PullRequestStrategy) { s.URL += "-of-nobody" }, true, "of-nobody"},
		"unknown-base":       {func(s *pipelines.PullRequestStrategy) { s.BaseBranch = "trunk" }, true, "trunk"},
		"no-marker":          {func(*pipelines.PullRequestStrategy) {}, true, w.Namespace + ":no-marker:prod"},
	}
	// A server that does not answer, or is not trusted yet, cannot say which pull requests exist: nothing is attempted.
	unlistable := map[string]string{"no-authority": "certificate", "unreachable": "127.0.0.1:1"}
	for name, test := range cases {
		strategy := pipelines.PullRequestStrategy{
			Type: pipelines.GitProviderGitea, URL: repository.URL, BaseBranch: "main", SecretRef: pipelines.LocalObjectReference{Name: "git"},
		}
		test.change(&strategy)
		builder, _, _ := w.pair(name)
		w.Create(builder.PullRequest(strategy).Build())
	}
	for name, says := range unlistable {
		w.until(name, "held until it is known which pull requests exist", func(p *pipelines.Pipeline) bool {
			return strings.Contains(holdIn(p, "prod", pipelines.HoldLookingUp), says)
		})
		delete(cases, name)
	}
	for name, test := range cases {
		failed := w.untilState(name, "prod", "1.1.0", pipelines.PromotionFailed)
		if failed.Error == nil || failed.Error.Permanent != test.permanent || !strings.Contains(failed.Error.Message, test.says) {
			t.Errorf("%s: the error is %+v, want permanent %t and something about %q", name, failed.Error, test.permanent, test.says)
		}
		if (failed.NextAttemptTime != nil) == test.permanent {
			t.Errorf("%s: the next attempt is at %v", name, failed.NextAttemptTime)
		}
		reason := pipelines.HoldRetrying
		if test.permanent {
			reason = pipelines.HoldFailed
		}
		p := w.until(name, "held", func(p *pipelines.Pipeline) bool { return holdIn(p, "prod", reason) != "" })
		if text := fmt.Sprintf("%+v", p.Status); strings.Contains(text, "CANARY") {
			t.Errorf("%s: the status gives a credential away: %s", name, text)
		}
	}
	if opened := repository.PullRequests(t); len(opened) > 0 {
		t.Errorf("opened were %+v", opened)
	}
}

func TestPIP20_AnUnknownKindOfGitServerIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	builder, _, _ := w.pair("app")
	p := builder.PullRequest(pipelines.PullRequestStrategy{
		Type:       "sourceforge",
		URL:        "https://git.example.org/a/b",
		BaseBranch: "main",
	}).Build()
	if err := w.Client().Create(t.Context(), p); err == nil || !strings.Contains(err.Error(), "sourceforge") {
		t.Errorf("the answer is %v", err)
	}
}

// The repository has a private authority, requires a password, and its base branch is not main. What is not marked stays unchanged, byte
// for byte.
func TestPIP22_PIP23_APullRequestForAnotherBaseBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	gitea := externals.Gitea(t)
	repository := gitea.Repository(t, map[string]string{"README.md": "main has no versions\n"})
	files := map[string]string{
		"a.yaml":     w.marked("app", "1.0.0") + "\n\n#   odd   spaces\nother:    'kept'\n" + w.marked("another", "1.0.0"),
		"deep/b.yml": "# {\"$promotion\": \"" + w.Namespace + ":app:prod\"}\nversion: '0.9.0'\n",
		"c.txt":      w.marked("app", "1.0.0"),
	}
	repository.Commit(t, "release", files)
	w.gitSecret("git", gitea)
	builder, _, _ := w.pair("app")
	w.Create(builder.PullRequest(pipelines.PullRequestStrategy{
		Type:       pipelines.GitProviderGitea,
		URL:        repository.CloneURL(),
		BaseBranch: "release",
		SecretRef:  pipelines.LocalObjectReference{Name: "git"},
	}).Build())
	promotion := w.untilState("app", "prod", "1.1.0", pipelines.PromotionCreated)
	opened := repository.PullRequest(t, int(promotion.PullRequest.Number))
	if opened.Base.Branch != "release" || opened.State != "open" {
		t.Errorf("the pull request is %+v", opened)
	}
	want := map[string]string{
		"a.yaml":     w.marked("app", "1.1.0") + "\n\n#   odd   spaces\nother:    'kept'\n" + w.marked("another", "1.0.0"),
		"deep/b.yml": "# {\"$promotion\": \"" + w.Namespace + ":app:prod\"}\nversion: '1.1.0'\n",
		"c.txt":      files["c.txt"],
	}
	for path, text := range want {
		if got := repository.File(t, opened.Head.Branch, path); got != text {
			t.Errorf("%s is %q, want %q", path, got, text)
		}
	}
	messages := repository.Commits(t, opened.Head.Branch)
	if !strings.Contains(messages[0], "Promotion-Key: "+promotion.Key) {
		t.Errorf("the commit says %q", messages[0])
	}
}
