// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package externals_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/externals"
)

// Clients reject a server that reports a development version.
func TestGiteaKnowsItsVersion(t *testing.T) {
	t.Parallel()
	var answer struct{ Version string }
	if err := externals.Gitea(t).Call(t.Context(), http.MethodGet, "/version", nil, &answer); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^1\.\d+\.\d+$`).MatchString(answer.Version) {
		t.Errorf("it calls itself %q", answer.Version)
	}
}

func TestAPullRequestIsOpenedAndMerged(t *testing.T) {
	t.Parallel()
	repository := externals.Gitea(t).Repository(t, map[string]string{"app/version.yaml": "version: 1\n", "README": "hello\n"})
	first := repository.Head(t, "main")
	proposed := repository.Commit(t, "proposal", map[string]string{"app/version.yaml": "version: 2\n"})
	opened := repository.OpenPullRequest(t, "proposal", "main")
	want := externals.PullRequest{
		Number: opened.Number, Title: "Merge proposal", State: "open", URL: opened.URL,
		Head: externals.PullRequestEnd{Branch: "proposal", SHA: proposed}, Base: externals.PullRequestEnd{Branch: "main", SHA: first},
	}
	if diff := cmp.Diff(want, opened); diff != "" {
		t.Errorf("opened:\n%s", diff)
	}
	merged := repository.Merge(t, opened.Number)
	want.State, want.Merged, want.MergeCommit = "closed", true, repository.Head(t, "main")
	if diff := cmp.Diff(want, merged, cmpopts.IgnoreFields(externals.PullRequest{}, "Head", "Base")); diff != "" ||
		merged.MergeCommit == first {
		t.Errorf("merged, main was at %s:\n%s", first, diff)
	}
	if text := repository.File(t, "main", "app/version.yaml"); text != "version: 2\n" {
		t.Errorf("main holds %q", text)
	}
	if text := repository.File(t, first, "app/version.yaml"); text != "version: 1\n" {
		t.Errorf("the first commit holds %q", text)
	}
}

func TestAPullRequestIsClosed(t *testing.T) {
	t.Parallel()
	repository := externals.Gitea(t).Repository(t, map[string]string{"a": "1"})
	repository.Commit(t, "one", map[string]string{"a": "2"})
	repository.Commit(t, "two", map[string]string{"a": "3"})
	repository.Commit(t, "two", map[string]string{"b": "4"})
	if want := []string{"main", "one", "two"}; !slices.Equal(repository.Branches(t), want) {
		t.Errorf("the branches are %q", repository.Branches(t))
	}
	if want := []string{"Change b", "Change a", "Change a"}; !slices.Equal(repository.Commits(t, "two"), want) {
		t.Errorf("the commits are %q", repository.Commits(t, "two"))
	}
	closed := repository.Close(t, repository.OpenPullRequest(t, "one", "main").Number)
	open := repository.OpenPullRequest(t, "two", "main")
	if closed.State != "closed" || closed.Merged {
		t.Errorf("closed %+v", closed)
	}
	if diff := cmp.Diff([]externals.PullRequest{closed, open}, repository.PullRequests(t)); diff != "" {
		t.Errorf("the list differs (-want +got):\n%s", diff)
	}
}

func TestARefusalIsAnErrorThatSaysWhy(t *testing.T) {
	t.Parallel()
	gitea := externals.Gitea(t)
	repository := gitea.Repository(t, map[string]string{"a": "1"})
	repository.Commit(t, "proposal", map[string]string{"a": "2"})
	repository.OpenPullRequest(t, "proposal", "main")
	again := map[string]string{"head": "proposal", "base": "main", "title": "again"}
	err := gitea.Call(t.Context(), http.MethodPost, "/repos/"+repository.Owner+"/"+repository.Name+"/pulls", again, nil)
	var refusal *externals.Refusal
	if !errors.As(err, &refusal) || refusal.Code != http.StatusConflict || !strings.Contains(refusal.Message, "already exists") {
		t.Errorf("a second pull request for the same branches: %v", err)
	}
}

// Git itself works over HTTPS: with the token, trusting the test's authority.
func TestGitClonesAndPushes(t *testing.T) {
	t.Parallel()
	gitea := externals.Gitea(t)
	repository := gitea.Repository(t, map[string]string{"a": "1"})
	dir := t.TempDir()
	authority := filepath.Join(dir, "authority.pem")
	write(t, authority, gitea.CA)
	git := func(arguments ...string) string {
		t.Helper()
		cmd := exec.CommandContext(
			t.Context(),
			"git",
			append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@example.org"}, arguments...)...)
		cmd.Env = append(cmd.Environ(), "GIT_SSL_CAINFO="+authority, "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "HOME="+dir)
		output, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", arguments, err, output)
		}
		return strings.TrimSpace(string(output))
	}
	address := strings.Replace(repository.CloneURL(), "https://", "https://"+gitea.User+":"+gitea.Token+"@", 1)
	git("clone", "-q", address, "clone")
	write(t, filepath.Join(dir, "clone", "b"), []byte("2"))
	git("-C", "clone", "add", "b")
	git("-C", "clone", "commit", "-q", "-m", "Add b")
	git("-C", "clone", "push", "-q", "origin", "HEAD:main")
	if pushed := git("-C", "clone", "rev-parse", "HEAD"); repository.Head(t, "main") != pushed {
		t.Errorf("pushed %s, main is at %s", pushed, repository.Head(t, "main"))
	}
	if text := repository.File(t, "main", "b"); text != "2" {
		t.Errorf("main holds %q", text)
	}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWebhooksAreSigned(t *testing.T) {
	t.Parallel()
	const secret = "something between us"
	type delivery struct {
		event, signature string
		body             []byte
	}
	delivered := make(chan delivery, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		delivered <- delivery{request.Header.Get("X-Gitea-Event"), request.Header.Get("X-Gitea-Signature"), body}
	}))
	t.Cleanup(receiver.Close)
	repository := externals.Gitea(t).Repository(t, map[string]string{"a": "1"})
	repository.Webhook(t, receiver.URL, secret)
	repository.Commit(t, "main", map[string]string{"a": "2"})
	select {
	case got := <-delivered:
		hash := hmac.New(sha256.New, []byte(secret))
		hash.Write(got.body)
		if want := hex.EncodeToString(hash.Sum(nil)); got.event != "push" || got.signature != want {
			t.Errorf("got %s with signature %q, want %q:\n%s", got.event, got.signature, want, got.body)
		}
	case <-time.After(testkit.Patience):
		t.Error("nothing was delivered")
	}
}

func TestAStrangersCertificateIsNotTrusted(t *testing.T) {
	t.Parallel()
	gitea := externals.Gitea(t)
	response, err := http.Get(gitea.URL)
	if err == nil {
		_ = response.Body.Close()
		t.Error("a client that was told nothing trusts the test's authority")
	}
}

func TestAKilledGiteaRefusesConnections(t *testing.T) {
	t.Parallel()
	gitea := externals.NewGitea(t)
	if gitea.URL == externals.Gitea(t).URL {
		t.Fatal("it is the shared one")
	}
	gitea.Kill()
	response, err := gitea.Client().Get(gitea.URL)
	if err == nil {
		_ = response.Body.Close()
		t.Error("it still answers")
	}
}
