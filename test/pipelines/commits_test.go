// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"fmt"
	"testing"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/externals"
)

// The application is a Kustomization. In dev it follows a branch; in production it has the commit in a second repository, and nothing but
// the commit, so that Flux reports the one as main@sha1:COMMIT and the other as sha1:COMMIT.
func byCommit(t *testing.T, l leaves) {
	t.Parallel()
	w, gitea := newWorld(t), externals.Gitea(t)
	dev, prod := place{l.north, l.north.Namespace(t)}, place{l.south, l.south.Namespace(t)}
	content := func(version string) map[string]string {
		return map[string]string{"app/app.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: app}\ndata: {version: " + version + "}\n"}
	}
	application := gitea.Repository(t, content("one"))
	first := application.Head(t, "main")
	pinned := func(commit string) string {
		return fmt.Sprintf(
			"apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: app}\nspec:\n  interval: 1s\n  url: %s\n  secretRef: {name: app}\n  ref:\n"+
				"    commit: %s # {\"$promotion\": \"%s:app:prod\"}\n",
			application.CloneURL(),
			commit,
			w.Namespace,
		)
	}
	fleet := gitea.Repository(t, map[string]string{"prod/source.yaml": pinned(first)})
	testkit.Create(
		t,
		dev.leaf,
		append(externals.GitSource(dev.namespace, "app", application), externals.Kustomization(dev.namespace, "app", "app", "./app"))...)
	secret := externals.GitSource(prod.namespace, "app", application)[0]
	testkit.Create(t, prod.leaf, append(externals.GitSource(prod.namespace, "fleet", fleet), secret,
		externals.Kustomization(prod.namespace, "fleet", "fleet", "./prod"), externals.Kustomization(prod.namespace, "app", "app", "./app"))...)
	dev.appliedCommit(t, "app", first)
	prod.appliedCommit(t, "app", first)

	w.enrol("north", l.north)
	w.enrol("south", l.south)
	w.gitSecret("git", gitea)
	w.Create(testkit.Pipeline(w.Namespace, "app").App("kustomize.toolkit.fluxcd.io/v1", "Kustomization", "app").
		EnvironmentOn("north", "dev", dev.namespace).EnvironmentOn("south", "prod", prod.namespace).
		PullRequest(pipelines.PullRequestStrategy{
			Type: pipelines.GitProviderGitea, URL: fleet.CloneURL(), BaseBranch: "main", SecretRef: pipelines.LocalObjectReference{Name: "git"},
		}).Build())
	w.untilComplete("app", "main@sha1:"+first)

	second := application.Commit(t, "main", content("two"))
	promotion := w.untilState("app", "prod", "main@sha1:"+second, pipelines.PromotionCreated)
	if promotion.Value != second {
		t.Errorf("written for %s is %q", promotion.Revision, promotion.Value)
	}
	fleet.Merge(t, int(promotion.PullRequest.Number))
	p := w.untilComplete("app", "main@sha1:"+second)
	if got := fleet.File(t, "main", "prod/source.yaml"); got != pinned(second) {
		t.Errorf("the repository holds\n%s, want\n%s", got, pinned(second))
	}
	if got := prod.running(t, "app"); got != "two" {
		t.Errorf("production runs %q", got)
	}
	if got := p.Status.Environments["prod"].Targets[0].Revision; got != "sha1:"+second {
		t.Errorf("production reports %s", got)
	}
	if all := fleet.PullRequests(t); len(all) != 1 {
		t.Errorf("the pull requests are %+v", all)
	}
}
