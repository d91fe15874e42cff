// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package providers_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"testing"
	"time"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/providers"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/externals"
)

// realGitea is a repository on a real Gitea server. Its owner merges and closes; the provider uses the token of another user, who has only
// write access.
type realGitea struct {
	gitea      *externals.GiteaServer
	repository *externals.Repository
	token      string
	front      *httptest.Server
}

// smallPage is the page size for the provider, so that a few pull requests fill a second page.
const smallPage = 4

// newFront returns a proxy in front of Gitea that makes pages small.
func newFront(t *testing.T, gitea *externals.GiteaServer) *httptest.Server {
	t.Helper()
	behind, err := url.Parse(gitea.URL)
	if err != nil {
		t.Fatal(err)
	}
	front := httptest.NewTLSServer(&httputil.ReverseProxy{
		Transport: gitea.Client().Transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(behind)
			if query := r.Out.URL.Query(); query.Has("limit") {
				query.Set("limit", strconv.Itoa(smallPage))
				r.Out.URL.RawQuery = query.Encode()
			}
		},
	})
	t.Cleanup(front.Close)
	return front
}

func TestPIP22_ARealGiteaKeepsTheContract(t *testing.T) {
	gitea := externals.Gitea(t)
	token := newRobot(t, gitea)
	front := newFront(t, gitea)
	runContract(t, func(t *testing.T) scene {
		r := &realGitea{gitea: gitea, repository: gitea.Repository(t, map[string]string{"README.md": "shop\n"}), token: token, front: front}
		r.repository.Commit(t, "release/1.0", map[string]string{"README.md": "shop 1.0\n"})
		r.call(t, http.MethodPut, r.path("/collaborators/"+robot), map[string]string{"permission": "write"}, nil)
		return r
	})
}

// A call of a real webhook is parsed correctly.
func TestPIP22_ARealGiteaCallsItsWebhook(t *testing.T) {
	type call struct {
		header http.Header
		body   []byte
	}
	calls := make(chan call, 16)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		calls <- call{r.Header, body}
	}))
	t.Cleanup(receiver.Close)
	gitea := externals.Gitea(t)
	repository := gitea.Repository(t, map[string]string{"README.md": "shop\n"})
	repository.Webhook(t, receiver.URL, string(hookSecret))
	repository.Commit(t, "promotion-a", map[string]string{"file": "x"})
	opened := repository.OpenPullRequest(t, "promotion-a", "main")
	want, err := providers.Identify(giteaKind, repository.CloneURL(), dial.Rules{AllowLoopback: true})
	if err != nil {
		t.Fatal(err)
	}
	for got := (call{}); got.header.Get("X-Gitea-Event") != "pull_request"; {
		select {
		case got = <-calls:
		case <-time.After(testkit.Patience):
			t.Fatal("no call about a pull request came")
		}
		event, err := providers.ParseWebhook(giteaKind, got.header, got.body, hookSecret)
		isPush := got.header.Get("X-Gitea-Event") == "push" || got.header.Get("X-Gitea-Event") == "create"
		switch {
		case isPush && err != gitprovider.ErrIgnored:
			t.Errorf("a push is %+v, %v", event, err)
		case !isPush && (err != nil || event.Repository != want || event.Number != int64(opened.Number)):
			t.Errorf("event %+v, %v, want %s and %d", event, err, want, opened.Number)
		}
		if _, err := providers.ParseWebhook(giteaKind, got.header, append(got.body, ' '), hookSecret); err != gitprovider.ErrUnsigned {
			t.Errorf("another body is believed: %v", err)
		}
	}
}

// newRobot creates a user and returns its token.
func newRobot(t *testing.T, gitea *externals.GiteaServer) string {
	t.Helper()
	const password = "robot-password-1"
	err := gitea.Call(t.Context(), http.MethodPost, "/admin/users", map[string]any{
		"username": robot, "password": password, "email": "robot@example.org", "must_change_password": false,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(map[string]any{"name": "promotions", "scopes": []string{"write:repository", "write:issue"}})
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(
		t.Context(),
		http.MethodPost,
		gitea.URL+"/api/v1/users/"+robot+"/tokens",
		bytes.NewReader(body),
	)
	if err != nil {
		t.Fatal(err)
	}
	request.SetBasicAuth(robot, password)
	request.Header.Set("Content-Type", "application/json")
	response, err := gitea.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	var answer struct {
		SHA1 string `json:"sha1"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.SHA1 == "" {
		t.Fatalf("the token of the robot: %s, %v", response.Status, err)
	}
	return answer.SHA1
}

func (r *realGitea) path(rest string) string {
	return "/repos/" + r.repository.Owner + "/" + r.repository.Name + rest
}

func (r *realGitea) call(t *testing.T, method, path string, body, into any) {
	t.Helper()
	if err := r.gitea.Call(t.Context(), method, path, body, into); err != nil {
		t.Fatal(err)
	}
}

func (r *realGitea) settings() providers.Settings {
	return providers.Settings{
		Type: giteaKind, URL: r.front.URL + "/" + r.repository.Owner + "/" + r.repository.Name, Rules: dial.Rules{AllowLoopback: true},
		Credentials: gitprovider.Credentials{Token: r.token, CA: authorityOf(r.front)},
	}
}

func (r *realGitea) push(t *testing.T, branch string) {
	t.Helper()
	head := r.repository.Head(t, "main")
	r.repository.Commit(t, branch, map[string]string{"versions/" + branch: fmt.Sprint("after ", head)})
}

func (r *realGitea) merge(t *testing.T, number int64) string {
	t.Helper()
	return r.repository.Merge(t, int(number)).MergeCommit
}

func (r *realGitea) closeByHand(t *testing.T, number int64) {
	t.Helper()
	r.repository.Close(t, int(number))
}

func (r *realGitea) comments(t *testing.T, number int64) []string {
	t.Helper()
	var answer []struct{ Body string }
	r.call(t, http.MethodGet, r.path(fmt.Sprintf("/issues/%d/comments", number)), nil, &answer)
	var bodies []string
	for _, one := range answer {
		bodies = append(bodies, one.Body)
	}
	return bodies
}

func (r *realGitea) check(t *testing.T, number int64, name string, state gitprovider.ChecksState) {
	t.Helper()
	word := map[gitprovider.ChecksState]string{
		gitprovider.ChecksPassed: "success", gitprovider.ChecksFailed: "failure", gitprovider.ChecksRunning: "pending",
	}[state]
	r.repository.Status(t, r.repository.PullRequest(t, int(number)).Head.SHA, name, word)
}

func (r *realGitea) pageSize() int { return smallPage }

func (r *realGitea) people() (string, string) { return robot, r.repository.Owner }
