// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package poll_test

import (
	"context"
	"testing"
	"time"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/poll"
	"espalier.dev/internal/gitprovider/providers"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/externals"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// TestPIP22_WithGiteaEveryEndIsSeen polls only on demand, as after a webhook.
func TestPIP22_WithGiteaEveryEndIsSeen(t *testing.T) {
	server := externals.Gitea(t)
	repository := server.Repository(t, map[string]string{"a": "1"})
	provider, err := providers.New(providers.Settings{
		Type: pipelines.GitProviderGitea, URL: repository.CloneURL(), Rules: dial.Rules{AllowLoopback: true},
		Credentials: gitprovider.Credentials{Token: server.Token, CA: server.CA},
	})
	if err != nil {
		t.Fatal(err)
	}
	p := poll.New(poll.Options{Interval: time.Hour, MinGap: time.Millisecond, PerSecond: 100})
	t.Cleanup(p.Close)
	source := poll.Source{Repository: provider.Repository(), Credential: "ns/secret"}
	woken := make(chan struct{}, 100)
	numbers := map[string]int64{}
	for _, branch := range []string{"merged", "closed", "open"} {
		repository.Commit(t, branch, map[string]string{branch: "1"})
		numbers[branch] = int64(repository.OpenPullRequest(t, branch, "main").Number)
		t.Cleanup(p.Subscribe(poll.Subscription{
			Source: source, Number: numbers[branch], Wake: func() { woken <- struct{}{} },
			Open: func(context.Context) (gitprovider.Provider, error) { return provider, nil },
		}))
	}
	await := func(name string, state gitprovider.State) gitprovider.PullRequest {
		t.Helper()
		for {
			if got := p.State(source, numbers[name]); got.PullRequest.State == state {
				return got.PullRequest
			}
			select {
			case <-woken:
			case <-time.After(testkit.Patience):
				t.Fatalf("%s: %+v", name, p.State(source, numbers[name]))
			}
		}
	}
	for name := range numbers {
		await(name, gitprovider.Open)
	}
	head := repository.PullRequest(t, int(numbers["open"])).Head.SHA
	repository.Status(t, head, "build", "failure")
	p.CheckNow(gitprovider.Event{Repository: provider.Repository(), Commit: head})
	for {
		if checks := p.State(source, numbers["open"]).Checks; checks != nil && checks.State == gitprovider.ChecksFailed {
			break
		}
		select {
		case <-woken:
		case <-time.After(testkit.Patience):
			t.Fatalf("the checks are %+v", p.State(source, numbers["open"]).Checks)
		}
	}
	repository.Merge(t, int(numbers["merged"]))
	repository.Close(t, int(numbers["closed"]))
	p.PollNow(provider.Repository())
	if got := await("merged", gitprovider.Merged); got.MergeCommit != repository.Head(t, "main") || got.ClosedBy != server.User {
		t.Errorf("%+v", got)
	}
	await("closed", gitprovider.Closed)
	await("open", gitprovider.Open)
}
