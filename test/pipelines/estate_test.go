// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pipelines_test

import (
	"fmt"
	"slices"
	"testing"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/manager"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/externals"
)

// environments are the environments of every estate, in order.
var environments = []string{"dev", "staging", "prod"}

// estate is a world with an application in three environments, the first two in one leaf cluster and the last in another. A repository has
// a folder for each, with a HelmRelease whose version is marked, and Flux applies the folders.
type estate struct {
	*world
	gitea      *externals.GiteaServer
	repository *externals.Repository
	charts     *externals.ChartRepository
	places     map[string]place
}

// newEstate runs version 1.0.0 everywhere. The pipeline app does not exist yet.
func newEstate(t *testing.T, l leaves, change ...func(*manager.Options)) *estate {
	t.Helper()
	e := &estate{world: newWorld(t, change...), gitea: externals.Gitea(t), charts: externals.Charts(t)}
	e.places = map[string]place{
		"dev": {l.north, l.north.Namespace(t)}, "staging": {l.north, l.north.Namespace(t)}, "prod": {l.south, l.south.Namespace(t)},
	}
	e.publish("1.0.0")
	files := map[string]string{"README.md": "Who reads this?\n"}
	for _, environment := range environments {
		files[file(environment)] = e.manifest(environment, "1.0.0")
	}
	e.repository = e.gitea.Repository(t, files)
	e.enrol("north", l.north)
	e.enrol("south", l.south)
	e.Create(
		e.secret("git", map[string]string{
			"username": e.gitea.User,
			"password": e.gitea.Token,
			"token":    e.gitea.Token,
			"caFile":   string(e.gitea.CA),
		}),
		e.secret("approvals", map[string]string{"hmac-key": approvalKey}),
	)
	for _, environment := range environments {
		e.places[environment].follow(t, e.repository, environment, e.charts)
	}
	for _, environment := range environments {
		e.places[environment].untilReleased(t, "1.0.0")
	}
	return e
}

func file(environment string) string { return environment + "/app.yaml" }

// manifest returns the content of an environment's folder at a version. A release that fails is rolled back.
func (e *estate) manifest(environment, version string) string {
	return fmt.Sprintf(`# The application in %[1]s.
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata:
    name: app
spec:
    interval: 10m
    chart:
        spec:
            chart: app
            version: "%[2]s" # {"$promotion": "%[3]s:app:%[1]s"}
            interval: 1s
            sourceRef: {kind: HelmRepository, name: charts}
    upgrade:
        remediation: {retries: 0, remediateLastFailure: true, strategy: rollback}
`, environment, version, e.Namespace)
}

// publish publishes a version of the chart, whose installation fails in the named places.
func (e *estate) publish(version string, failsIn ...place) {
	e.Helper()
	name := "app"
	for _, p := range failsIn {
		name = fmt.Sprintf(`{{ if eq .Release.Namespace %q }}No_Name{{ else }}%s{{ end }}`, p.namespace, name)
	}
	e.charts.Publish(e.T, "app", version, map[string]string{
		"app.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\ndata: {version: \"{{ .Chart.Version }}\"}\n",
	})
}

// push commits a version to the folder of the first environment, as a developer does.
func (e *estate) push(version string) {
	e.Helper()
	e.repository.Commit(e.T, "main", map[string]string{file("dev"): e.manifest("dev", version)})
}

func (e *estate) strategy() pipelines.PullRequestStrategy {
	return pipelines.PullRequestStrategy{
		Type:       pipelines.GitProviderGitea,
		URL:        e.repository.CloneURL(),
		BaseBranch: "main",
		SecretRef:  pipelines.LocalObjectReference{Name: "git"},
	}
}

// carry creates the pipeline app, which promotes with pull requests and requires an approval before production, and waits until it has
// found that there is nothing to do.
func (e *estate) carry(strategy pipelines.PullRequestStrategy) {
	e.Helper()
	key := &pipelines.LocalObjectReference{Name: "approvals"}
	p := testkit.Pipeline(e.Namespace, "app").
		EnvironmentOn("north", "dev", e.places["dev"].namespace).
		EnvironmentOn("north", "staging", e.places["staging"].namespace).
		EnvironmentOn("south", "prod", e.places["prod"].namespace).
		Promotion(pipelines.Promotion{Manual: true, Strategy: pipelines.Strategy{PullRequest: &strategy, SecretRef: key}}).
		PullRequest(strategy).Build()
	p.Spec.Promotion.Strategy.SecretRef = key
	e.Create(p)
	e.untilComplete("app", "1.0.0")
}

// opened waits for the pull request that promotes a version to an environment, and checks it and its changes.
func (e *estate) opened(environment, version string) externals.PullRequest {
	e.Helper()
	promotion := e.untilState("app", environment, version, pipelines.PromotionCreated)
	pr := e.repository.PullRequest(e.T, int(promotion.PullRequest.Number))
	if want := fmt.Sprintf("Promote %s/app in %s to %s", e.Namespace, environment, version); pr.Title != want || pr.State != "open" ||
		pr.URL != promotion.PullRequest.URL {
		e.Errorf("pull request %+v, want %q, open, at %s", pr, want, promotion.PullRequest.URL)
	}
	for _, other := range environments {
		want := e.repository.File(e.T, "main", file(other))
		if other == environment {
			want = e.manifest(environment, version)
		}
		if got := e.repository.File(e.T, pr.Head.Branch, file(other)); got != want {
			e.Errorf("in the pull request %s holds\n%s, want\n%s", file(other), got, want)
		}
	}
	return pr
}

// mergeInto waits for the pull request that promotes a version to an environment, merges it, and waits until the version has arrived.
func (e *estate) mergeInto(environment, version string) externals.PullRequest {
	e.Helper()
	pr := e.repository.Merge(e.T, e.opened(environment, version).Number)
	done := e.untilState("app", environment, version, pipelines.PromotionComplete)
	if done.PullRequest.MergeCommit != pr.MergeCommit || done.PullRequest.State != pipelines.PullRequestMerged {
		e.Errorf("the status says %+v, merged was %s", done.PullRequest, pr.MergeCommit)
	}
	return pr
}

// expect compares the versions in Git and the running ones with those of the environments, in order.
func (e *estate) expect(versions ...string) {
	e.Helper()
	for i, environment := range environments {
		if got, want := e.repository.File(e.T, "main", file(environment)), e.manifest(environment, versions[i]); got != want {
			e.Errorf("branch main holds for %s\n%s, want\n%s", environment, got, want)
		}
		if got := e.places[environment].running(e.T, "app"); got != versions[i] {
			e.Errorf("%s runs %s, want %s", environment, got, versions[i])
		}
	}
}

// expectPullRequests compares all pull requests that were ever opened, each as its title and its end.
func (e *estate) expectPullRequests(want ...string) {
	e.Helper()
	var got []string
	for _, pr := range e.repository.PullRequests(e.T) {
		state := pr.State
		if pr.Merged {
			state = "merged"
		}
		got = append(got, pr.Title+": "+state)
	}
	for i := range want {
		want[i] = "Promote " + e.Namespace + "/app in " + want[i]
	}
	if !slices.Equal(got, want) {
		e.Errorf("the pull requests are %q, want %q", got, want)
	}
}
