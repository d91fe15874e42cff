// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package pullrequest_test

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/gitremote"
	"espalier.dev/internal/gitprovider/providers"
	"espalier.dev/internal/gitprovider/pullrequest"
	"espalier.dev/internal/testkit/externals"
)

// gitea is a repository on a real Gitea server, behind a proxy that can cut the connection to its API and to Git alike.
type gitea struct {
	*externals.Repository
	power    *power
	proposer *pullrequest.Proposer
	request  pullrequest.Request
}

func newGitea(t *testing.T, files map[string]string) *gitea {
	t.Helper()
	server := externals.Gitea(t)
	g := &gitea{Repository: server.Repository(t, files), power: unlimited(), proposer: pullrequest.New()}
	upstream, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(upstream)
	proxy.Transport = server.Client().Transport
	front := httptest.NewTLSServer(g.power.around(proxy))
	t.Cleanup(front.Close)
	credentials := gitprovider.Credentials{
		Username: server.User, Password: server.Password, Token: server.Token,
		CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}),
	}
	address, rules := strings.Replace(g.CloneURL(), server.URL, front.URL, 1), dial.Rules{AllowLoopback: true}
	provider, err := providers.New(providers.Settings{Type: pipelines.GitProviderGitea, URL: address, Credentials: credentials, Rules: rules})
	if err != nil {
		t.Fatal(err)
	}
	g.request = pullrequest.Request{
		Place: pullrequest.Place{
			Provider: provider,
			Git:      gitremote.Settings{URL: address, Credentials: credentials, Rules: rules, Temporary: t.TempDir()},
		},
		Base:     "main",
		Branch:   branch,
		Key:      key,
		Marker:   prod,
		Revision: "1.2.3",
		Time:     time.Unix(1700000000, 0),
	}
	return g
}

func (g *gitea) propose(t *testing.T) pullrequest.Result {
	t.Helper()
	result, err := g.proposer.Propose(t.Context(), g.request)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (g *gitea) mustBeOne(t *testing.T) {
	t.Helper()
	want := []externals.PullRequest{{State: "open", Head: externals.PullRequestEnd{Branch: branch, SHA: g.Head(t, branch)}}}
	unsaid := cmpopts.IgnoreFields(externals.PullRequest{}, "Number", "Title", "Body", "MergeCommit", "URL", "Base")
	if diff := cmp.Diff(want, g.PullRequests(t), unsaid); diff != "" {
		t.Errorf("the pull requests (-want +got):\n%s", diff)
	}
	if got := g.Branches(t); !slices.Equal(got, []string{"main", branch}) {
		t.Errorf("branches: %v", got)
	}
	if got := g.Commits(t, branch); len(got) != len(g.Commits(t, "main"))+1 || !strings.Contains(got[0], pullrequest.KeyTrailer+": "+key) {
		t.Errorf("commits: %q", got)
	}
	if got := g.File(t, branch, file); got != podinfo("1.2.3") {
		t.Errorf("the file is %q", got)
	}
}

func TestPIP20_PIP22_WithGiteaACutAnywhereLeavesOnePullRequest(t *testing.T) {
	for _, afterwards := range []bool{false, true} {
		for steps, finished := 1, false; !finished; steps++ {
			t.Run(fmt.Sprintf("step %d, effect %t", steps, afterwards), func(t *testing.T) {
				g := newGitea(t, map[string]string{file: podinfo("1.0.0")})
				g.power.left, g.power.afterwards = steps, afterwards
				if _, err := g.proposer.Propose(t.Context(), g.request); err != nil && failure.KindOf(err) != failure.Retryable {
					t.Errorf("a lost connection is not retryable: %v", err)
				}
				finished = g.power.left != 0
				g.power.restore()
				g.proposer = pullrequest.New()
				if got := g.propose(t); got.Outcome != pullrequest.Open {
					t.Errorf("%+v", got)
				}
				g.mustBeOne(t)
			})
			if t.Failed() {
				return
			}
		}
	}
}

func TestPIP22_PIP23_WithGiteaFromProposalToMerge(t *testing.T) {
	g := newGitea(t, map[string]string{file: podinfo("1.0.0"), "other.yaml": "a:   1\n"})
	opened := g.propose(t)
	g.mustBeOne(t)
	g.Commit(t, "main", map[string]string{file: podinfo("1.0.1")})
	if again := g.propose(t); again.PullRequest.Number != opened.PullRequest.Number {
		t.Errorf("%+v", again)
	}
	g.mustBeOne(t) // recreated from the base, so that it can be merged
	g.Merge(t, int(opened.PullRequest.Number))
	if got := g.File(t, "main", file); got != podinfo("1.2.3") {
		t.Errorf("after the merge the file is %q", got)
	}
	g.proposer = pullrequest.New()
	if got := g.propose(t); got.Outcome != pullrequest.Merged || got.PullRequest.MergeCommit == "" {
		t.Errorf("%+v", got)
	}
	g.request.Branch, g.request.Key = "promotion-again", "89ab"
	if got := g.propose(t); got.Outcome != pullrequest.AlreadyPresent {
		t.Errorf("%+v", got)
	}
}

func TestPIP22_WithGiteaAWithdrawalLeavesNothingOpen(t *testing.T) {
	g := newGitea(t, map[string]string{file: podinfo("1.0.0")})
	number := g.propose(t).PullRequest.Number
	for range 2 {
		got, err := g.proposer.Withdraw(t.Context(), pullrequest.Withdrawal{
			Place:   g.request.Place,
			Base:    "main",
			Branch:  branch,
			Key:     key,
			Number:  number,
			Comment: "Superseded.",
		})
		if err != nil || got.PullRequest.State != gitprovider.Closed || got.KeptBranch {
			t.Errorf("%+v, %v", got, err)
		}
	}
	if got := g.Branches(t); len(got) != 1 {
		t.Errorf("branches %v", got)
	}
	g.proposer = pullrequest.New()
	if got := g.propose(t); got.Outcome != pullrequest.Closed || got.PullRequest.Number != number {
		t.Errorf("%+v", got)
	}
}
