// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package externals

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"espalier.dev/internal/giteaserver"
)

// Repository is a Git repository in Gitea that belongs to one test.
type Repository struct {
	Owner string
	Name  string
	URL   string // of its page; Git clones from it with .git appended

	gitea *GiteaServer
}

// CloneURL returns the URL for Git, over HTTPS, as GiteaServer.User with the token or the password.
func (r *Repository) CloneURL() string { return r.URL + ".git" }

var (
	repositories atomic.Int64
	notInNames   = regexp.MustCompile(`[^a-z0-9]+`)
)

// Repository creates a private repository, named after the test, with one commit with these files on its branch main.
func (g *GiteaServer) Repository(t testing.TB, files map[string]string) *Repository {
	t.Helper()
	name := strings.Trim(notInNames.ReplaceAllString(strings.ToLower(t.Name()), "-"), "-")
	name = fmt.Sprintf("%.60s-%d", name, repositories.Add(1))
	r := &Repository{Owner: g.User, Name: name, URL: g.URL + "/" + g.User + "/" + name, gitea: g}
	if err := g.server.CreateRepository(t.Context(), g.login(), name); err != nil {
		t.Fatal(err)
	}
	r.Commit(t, "main", files)
	return r
}

func (r *Repository) path(format string, arguments ...any) string {
	return "/repos/" + r.Owner + "/" + r.Name + fmt.Sprintf(format, arguments...)
}

// Commit writes files to a branch in one commit and returns its SHA. A new branch starts at the head of main.
func (r *Repository) Commit(t testing.TB, branch string, files map[string]string) string {
	t.Helper()
	names := strings.Join(slices.Sorted(maps.Keys(files)), ", ")
	commit := giteaserver.Commit{Owner: r.Owner, Repository: r.Name, Branch: branch, Message: "Change " + names, Files: files}
	if branch != "main" && !slices.Contains(r.Branches(t), branch) {
		commit.Branch, commit.NewBranch = "main", branch
	}
	made, err := r.gitea.server.Commit(t.Context(), r.gitea.login(), commit)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// Branches returns the names of all branches, in order.
func (r *Repository) Branches(t testing.TB) []string {
	t.Helper()
	var branches []struct{ Name string }
	r.gitea.must(t, http.MethodGet, r.path("/branches?limit=50"), nil, &branches)
	var names []string
	for _, branch := range branches {
		names = append(names, branch.Name)
	}
	slices.Sort(names)
	return names
}

// Head returns the SHA of the newest commit of a branch.
func (r *Repository) Head(t testing.TB, branch string) string {
	t.Helper()
	var answer struct{ Commit struct{ ID string } }
	r.gitea.must(t, http.MethodGet, r.path("/branches/%s", url.PathEscape(branch)), nil, &answer)
	return answer.Commit.ID
}

// File returns the content of a file on a branch or at a commit.
func (r *Repository) File(t testing.TB, ref, path string) string {
	t.Helper()
	var answer struct{ Content string }
	r.gitea.must(t, http.MethodGet, r.path("/contents/%s?ref=%s", path, url.QueryEscape(ref)), nil, &answer)
	content, err := base64.StdEncoding.DecodeString(answer.Content)
	if err != nil {
		t.Fatalf("decode %s at %s: %v", path, ref, err)
	}
	return string(content)
}

// Commits returns the full messages of the commits of a branch, the newest first.
func (r *Repository) Commits(t testing.TB, branch string) []string {
	t.Helper()
	var answer []struct{ Commit struct{ Message string } }
	r.gitea.must(t, http.MethodGet, r.path("/commits?limit=50&sha=%s", url.QueryEscape(branch)), nil, &answer)
	var messages []string
	for _, commit := range answer {
		messages = append(messages, strings.TrimSpace(commit.Commit.Message))
	}
	return messages
}

// PullRequest is a pull request as Gitea returns it.
type PullRequest struct {
	Number      int
	Title       string
	Body        string
	State       string // open or closed
	Merged      bool
	MergeCommit string `json:"merge_commit_sha"` // set when it is merged
	URL         string `json:"html_url"`
	Head        PullRequestEnd
	Base        PullRequestEnd
}

// PullRequestEnd is one of the two branches of a pull request.
type PullRequestEnd struct {
	Branch string `json:"ref"`
	SHA    string
}

// OpenPullRequest opens a pull request to merge one branch into another.
func (r *Repository) OpenPullRequest(t testing.TB, head, base string) PullRequest {
	t.Helper()
	var opened PullRequest
	r.gitea.must(t, http.MethodPost, r.path("/pulls"), map[string]string{"head": head, "base": base, "title": "Merge " + head}, &opened)
	return opened
}

// PullRequests returns all pull requests, open or not, the oldest first.
func (r *Repository) PullRequests(t testing.TB) []PullRequest {
	t.Helper()
	var found []PullRequest
	r.gitea.must(t, http.MethodGet, r.path("/pulls?state=all&sort=oldest&limit=50"), nil, &found)
	return found
}

// PullRequest returns one pull request.
func (r *Repository) PullRequest(t testing.TB, number int) PullRequest {
	t.Helper()
	var found PullRequest
	r.gitea.must(t, http.MethodGet, r.path("/pulls/%d", number), nil, &found)
	return found
}

// Merge merges a pull request with a merge commit, as a user does.
func (r *Repository) Merge(t testing.TB, number int) PullRequest {
	t.Helper()
	looksForConflicts := func(refusal *Refusal) bool {
		return refusal.Code == http.StatusMethodNotAllowed && strings.Contains(refusal.Message, "try again")
	}
	err := whileBusy(t.Context(), looksForConflicts, func(ctx context.Context) error {
		// Reading a pull request restarts the check for conflicts, if an earlier one was lost because the base changed in the meantime.
		if err := r.gitea.Call(ctx, http.MethodGet, r.path("/pulls/%d", number), nil, nil); err != nil {
			return err
		}
		return r.gitea.Call(ctx, http.MethodPost, r.path("/pulls/%d/merge", number), map[string]string{"Do": "merge"}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	return r.PullRequest(t, number)
}

// Close closes a pull request without merging it.
func (r *Repository) Close(t testing.TB, number int) PullRequest {
	t.Helper()
	var closed PullRequest
	r.gitea.must(t, http.MethodPatch, r.path("/pulls/%d", number), map[string]string{"state": "closed"}, &closed)
	return closed
}

// Status sets the status of a check of a commit: pending, success, error, failure or warning.
func (r *Repository) Status(t testing.TB, commit, name, state string) {
	t.Helper()
	r.gitea.must(t, http.MethodPost, r.path("/statuses/%s", commit), map[string]string{"context": name, "state": state}, nil)
}

// Webhook makes Gitea send events of pull requests and branches to an address on loopback, signed with the secret.
func (r *Repository) Webhook(t testing.TB, address, secret string) {
	t.Helper()
	r.gitea.must(t, http.MethodPost, r.path("/hooks"), map[string]any{
		"type": "gitea", "active": true, "events": []string{"pull_request", "push"},
		"config": map[string]string{"url": address, "content_type": "json", "secret": secret},
	}, nil)
}
