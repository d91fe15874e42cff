// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitremote_test

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/gitremote"
	"espalier.dev/internal/testkit/gitserver"
)

var loopback = dial.Rules{AllowLoopback: true}

func settings(t *testing.T, server *gitserver.Server, repository *gitserver.Repository) gitremote.Settings {
	t.Helper()
	return gitremote.Settings{URL: repository.URL, Credentials: server.Credentials(), Rules: loopback, Temporary: t.TempDir()}
}

func connect(t *testing.T, s gitremote.Settings) *gitremote.Remote {
	t.Helper()
	remote, err := gitremote.Connect(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remote.Close)
	return remote
}

func tip(t *testing.T, remote *gitremote.Remote, branch string) string {
	t.Helper()
	tips, err := remote.Tips(t.Context(), branch)
	if err != nil {
		t.Fatal(err)
	}
	return tips[branch]
}

func fetch(t *testing.T, remote *gitremote.Remote, depth int, commits ...string) *gitremote.Objects {
	t.Helper()
	objects, err := remote.Fetch(t.Context(), gitremote.Wish{Commits: commits, Depth: depth})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = objects.Close() })
	return objects
}

func everything(string) bool { return true }

func filesOf(t *testing.T, objects *gitremote.Objects, commit string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := objects.Files(t.Context(), commit, everything, func(name string, content []byte) error {
		found[name] = string(content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestPIP23_ACommitChangesFilesAndNothingElse(t *testing.T) {
	for _, filter := range []string{"true", "false"} {
		server := gitserver.Start(t)
		repository := server.Create(t, "team/app", map[string]string{
			"a.yaml": "a: 1\n", "deep/er/b.yaml": "b: 1\n", "deep/c.txt": "c", "link.yaml": "-> /etc/passwd", "Größe.yaml": "ü: 1\r\n",
		})
		repository.Set("uploadpack.allowFilter", filter)
		remote := connect(t, settings(t, server, repository))
		base := tip(t, remote, gitserver.Main)
		objects := fetch(t, remote, 1, base)
		want := map[string]string{"a.yaml": "a: 1\n", "deep/er/b.yaml": "b: 1\n", "deep/c.txt": "c", "Größe.yaml": "ü: 1\r\n"}
		if diff := cmp.Diff(want, filesOf(t, objects, base)); diff != "" {
			t.Error(diff)
		}
		built, err := objects.Build(gitremote.Change{
			Parent: base, Files: map[string][]byte{"a.yaml": []byte("a: 2\n"), "deep/er/b.yaml": []byte("b: 2\n")},
			Message: "Promote\n\nPromotion-Key: 1234\n", Time: time.Unix(1700000000, 0),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Push(t.Context(), gitremote.Update{Branch: "new", To: built}); err != nil {
			t.Fatal(err)
		}
		if got := repository.Git("diff", "--raw", "--abbrev=40", gitserver.Main, "new"); strings.Count(got, "\n") != 1 ||
			!strings.Contains(got, "\ta.yaml") ||
			!strings.Contains(got, "\tdeep/er/b.yaml") {
			t.Errorf("the difference is\n%s", got)
		}
		if got := repository.Read("new", "deep/er/b.yaml"); got != "b: 2\n" {
			t.Errorf("b.yaml = %q", got)
		}
		repository.Git("fsck", "--strict")
		if got := repository.Git("log", "-1", "--format=%an <%ae> %cn <%ce> %ct %P", "new"); got != "Espalier <espalier@espalier.dev> Espalier <espalier@espalier.dev> 1700000000 "+base {
			t.Errorf("the commit says %s", got)
		}
	}
}

func TestTheSameChangeIsTheSameCommit(t *testing.T) {
	server := gitserver.Start(t)
	repository := server.Create(t, "app", map[string]string{"a.yaml": "a: 1\n"})
	remote := connect(t, settings(t, server, repository))
	base := tip(t, remote, gitserver.Main)
	objects := fetch(t, remote, 1, base)
	change := gitremote.Change{Parent: base, Files: map[string][]byte{"a.yaml": []byte("a: 2\n")}, Message: "x", Time: time.Unix(1, 500)}
	first, err := objects.Build(change)
	if err != nil {
		t.Fatal(err)
	}
	second, err := fetch(t, remote, 1, base).Build(change)
	if err != nil {
		t.Fatal(err)
	}
	if first.Commit != second.Commit {
		t.Errorf("commits %s and %s", first.Commit, second.Commit)
	}
	update := gitremote.Update{Branch: "b", To: first}
	for range 2 {
		if err := remote.Push(t.Context(), update); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := objects.Build(gitremote.Change{Parent: base, Files: map[string][]byte{"x/missing.yaml": nil}}); err == nil {
		t.Error("a file that is not there was changed")
	}
}

func TestPIP20_APushNeverOverwritesWhatSomebodyElsePushed(t *testing.T) {
	server := gitserver.Start(t)
	repository := server.Create(t, "app", map[string]string{"a.yaml": "a: 1\n"})
	remote := connect(t, settings(t, server, repository))
	base := tip(t, remote, gitserver.Main)
	build := func(content string) *gitremote.Built {
		built, err := fetch(t, remote, 1, base).Build(gitremote.Change{
			Parent:  base,
			Files:   map[string][]byte{"a.yaml": []byte(content)},
			Message: "x",
		})
		if err != nil {
			t.Fatal(err)
		}
		return built
	}
	first, second := build("a: 2\n"), build("a: 3\n")
	foreign := repository.Commit("b", map[string]string{"z": "1"})
	for name, update := range map[string]gitremote.Update{
		"create": {Branch: "b", To: first}, "replace": {Branch: "b", From: base, To: first}, "remove": {Branch: "b", From: base},
	} {
		if err := remote.Push(t.Context(), update); gitprovider.ClassOf(err) != gitprovider.Conflict ||
			failure.KindOf(err) != failure.Retryable ||
			!strings.Contains(err.Error(), foreign) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if got := repository.Tip("b"); got != foreign {
		t.Errorf("the branch is at %s, want %s", got, foreign)
	}
	// The same, with the other push between our read and our push.
	if err := remote.Push(t.Context(), gitremote.Update{Branch: "c", To: first}); err != nil {
		t.Fatal(err)
	}
	server.Around(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				foreign = repository.Commit("c", map[string]string{"z": "2"})
			}
			next.ServeHTTP(w, r)
		})
	})
	err := remote.Push(t.Context(), gitremote.Update{Branch: "c", From: first.Commit, To: second})
	server.Around(nil)
	if gitprovider.ClassOf(err) != gitprovider.Conflict {
		t.Errorf("error %v", err)
	}
	if got := repository.Tip("c"); got != foreign || foreign == "" {
		t.Errorf("the branch is at %s, want %s", got, foreign)
	}
	if err := remote.Push(t.Context(), gitremote.Update{Branch: "c", From: foreign, To: second}); err != nil {
		t.Fatalf("replace what is known: %v", err)
	}
	for range 2 {
		if err := remote.Push(t.Context(), gitremote.Update{Branch: "c", From: second.Commit}); err != nil {
			t.Fatalf("remove: %v", err)
		}
	}
	if slices.Contains(repository.Branches(), "c") {
		t.Error("the branch is still there")
	}
}

func TestAPushThatTheServerForbidsIsPermanentAndSaysWhy(t *testing.T) {
	server := gitserver.Start(t)
	repository := server.Create(t, "app", map[string]string{"a.yaml": "a: 1\n"})
	hook := repository.Git("rev-parse", "--absolute-git-dir") + "/hooks/pre-receive"
	if err := os.WriteFile(hook, []byte("#!/bin/sh\necho nobody pushes here, with "+gitserver.Password+" >&2\nexit 1\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	remote := connect(t, settings(t, server, repository))
	base := tip(t, remote, gitserver.Main)
	built, err := fetch(t, remote, 1, base).Build(gitremote.Change{Parent: base, Message: "x"})
	if err != nil {
		t.Fatal(err)
	}
	err = remote.Push(t.Context(), gitremote.Update{Branch: "b", To: built})
	if failure.KindOf(err) != failure.Terminal {
		t.Fatalf("error %v, want a terminal one", err)
	}
	if !strings.Contains(err.Error(), "nobody pushes here") || !strings.Contains(err.Error(), "push branch b") {
		t.Errorf("error %v, want what was attempted and what the server says", err)
	}
	if strings.Contains(err.Error(), gitserver.Password) {
		t.Errorf("the error tells the password: %v", err)
	}
}

func TestErrorsAreClassified(t *testing.T) {
	server := gitserver.Start(t)
	repository := server.Create(t, "app", map[string]string{"a.yaml": "a: 1\n"})
	answer := func(code int, header http.Header) func(http.Handler) http.Handler {
		return func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				maps.Copy(w.Header(), header)
				w.WriteHeader(code)
			})
		}
	}
	for name, c := range map[string]struct {
		change func(*gitremote.Settings)
		around func(http.Handler) http.Handler
		class  gitprovider.Class
		wait   time.Duration
		// says is part of the message.
		says string
	}{
		"wrong password": {
			change: func(s *gitremote.Settings) { s.Credentials.Password = "wrong-canary" },
			class:  gitprovider.Unauthenticated,
			says:   "username and password",
		},
		"no such repository": {change: func(s *gitremote.Settings) { s.URL += "-not" }, class: gitprovider.NotFound, says: "check the url"},
		"unknown authority": {
			change: func(s *gitremote.Settings) { s.Credentials.CA = nil },
			class:  gitprovider.Untrusted,
			says:   "certificate",
		},
		"forbidden address": {
			change: func(s *gitremote.Settings) { s.Rules = dial.Rules{} },
			class:  gitprovider.Misconfigured,
			says:   "loopback",
		},
		"forbidden": {around: answer(http.StatusForbidden, nil), class: gitprovider.Forbidden, says: "lack the right"},
		"too many requests": {
			around: answer(http.StatusTooManyRequests, http.Header{"Retry-After": {"17"}}),
			class:  gitprovider.RateLimited,
			wait:   17 * time.Second,
			says:   "too many",
		},
		"overloaded": {
			around: answer(http.StatusServiceUnavailable, http.Header{"Retry-After": {"3"}}),
			class:  gitprovider.Unavailable,
			wait:   3 * time.Second,
			says:   "503",
		},
		"a login page": {
			around: answer(http.StatusOK, http.Header{"Content-Type": {"text/html"}}),
			class:  gitprovider.Malformed,
			says:   "text/html",
		},
		"a redirect to another": {
			around: answer(http.StatusFound, http.Header{"Location": {"https://git.example.com/x"}}),
			class:  gitprovider.Misconfigured,
			says:   "git.example.com",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := settings(t, server, repository)
			if c.change != nil {
				c.change(&s)
			}
			server.Around(c.around)
			defer server.Around(nil)
			_, err := connect(t, s).Tips(t.Context(), gitserver.Main)
			if gitprovider.ClassOf(err) != c.class || gitprovider.RetryAfter(err) != c.wait || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v of class %s, wait %s", err, gitprovider.ClassOf(err), gitprovider.RetryAfter(err))
			}
			if (failure.KindOf(err) == failure.Terminal) != c.class.Permanent() {
				t.Errorf("the kind is %s", failure.KindOf(err))
			}
			if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), gitserver.Password) {
				t.Errorf("the error contains a password: %v", err)
			}
		})
	}
	if _, err := gitremote.Connect(gitremote.Settings{URL: "ssh://git@example.com/x.git"}); failure.KindOf(err) != failure.Terminal {
		t.Errorf("ssh: %v", err)
	}
}

func TestARepositoryThatMovedIsFollowedOnItsHost(t *testing.T) {
	server := gitserver.Start(t)
	repository := server.Create(t, "new/name", map[string]string{"a.yaml": "a: 1\n"})
	server.Around(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if rest, ok := strings.CutPrefix(r.URL.RequestURI(), "/old/name.git"); ok {
				http.Redirect(w, r, "/new/name.git"+rest, http.StatusMovedPermanently)
				return
			}
			next.ServeHTTP(w, r)
		})
	})
	s := settings(t, server, repository)
	s.URL = server.URL + "/old/name.git"
	remote := connect(t, s)
	base := tip(t, remote, gitserver.Main)
	if got := filesOf(t, fetch(t, remote, 1, base), base)["a.yaml"]; got != "a: 1\n" {
		t.Errorf("a.yaml = %q", got)
	}
}

func TestLimitsHold(t *testing.T) {
	server := gitserver.Start(t)
	repository := server.Create(t, "app", map[string]string{
		"a.yaml": "a: 1\n", "b/c/d.yaml": "d: 1\n", "large.yaml": strings.Repeat("x", 1<<20), "e.yaml": "", "f.yaml": "f",
	})
	for name, limits := range map[string]gitremote.Limits{
		"the list of branches":                         {References: 50},
		"the content of the repository":                {Pack: 200},
		"the unpacked content":                         {Unpacked: 1000},
		"a file or directory":                          {Object: 1000},
		"the number of files, directories and commits": {Objects: 3},
		"the number of files and directories":          {Entries: 3},
	} {
		t.Run(name, func(t *testing.T) {
			s := settings(t, server, repository)
			s.Limits = limits
			remote := connect(t, s)
			err := read(t.Context(), remote)
			if failure.KindOf(err) != failure.Terminal || !strings.Contains(err.Error(), name) {
				t.Errorf("error %v", err)
			}
			if left, _ := os.ReadDir(s.Temporary); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	t.Run("large files are not looked into", func(t *testing.T) {
		for _, filter := range []string{"true", "false"} {
			repository.Set("uploadpack.allowFilter", filter)
			s := settings(t, server, repository)
			s.Limits.Searched = 1000
			remote := connect(t, s)
			base := tip(t, remote, gitserver.Main)
			objects := fetch(t, remote, 1, base)
			if _, found := filesOf(t, objects, base)["large.yaml"]; found {
				t.Error("the large file was read")
			}
			built, err := objects.Build(gitremote.Change{Parent: base, Files: map[string][]byte{"a.yaml": []byte("a: 2\n")}, Message: filter})
			if err != nil {
				t.Fatal(err)
			}
			if err := remote.Push(t.Context(), gitremote.Update{Branch: "filter-" + filter, To: built}); err != nil {
				t.Fatal(err)
			}
			repository.Git("fsck", "--strict")
			if got := repository.Git("diff", "--stat", gitserver.Main, "filter-"+filter); !strings.Contains(got, "1 file changed") {
				t.Errorf("the difference is %s", got)
			}
		}
	})
}

func read(ctx context.Context, remote *gitremote.Remote) error {
	tips, err := remote.Tips(ctx, gitserver.Main)
	if err != nil {
		return err
	}
	objects, err := remote.Fetch(ctx, gitremote.Wish{Commits: []string{tips[gitserver.Main]}, Depth: 1})
	if err != nil {
		return err
	}
	defer func() { _ = objects.Close() }()
	return objects.Files(ctx, tips[gitserver.Main], everything, func(string, []byte) error { return nil })
}

func TestNothingIsLeftBehind(t *testing.T) {
	server := gitserver.Start(t)
	repository := server.Create(t, "app", map[string]string{"a.yaml": "a: 1\n"})
	s := settings(t, server, repository)
	remote := connect(t, s)
	base := tip(t, remote, gitserver.Main)
	objects, err := remote.Fetch(t.Context(), gitremote.Wish{Commits: []string{base}, Depth: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := objects.Close(); err != nil {
		t.Fatal(err)
	}
	repository.Commit(gitserver.Main, map[string]string{"a.yaml": "a: 2\n"})
	server.Around(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost {
				panic(http.ErrAbortHandler)
			}
			next.ServeHTTP(w, r)
		})
	})
	if _, err := remote.Fetch(t.Context(), gitremote.Wish{Commits: []string{base}, Depth: 1}); failure.KindOf(err) != failure.Retryable ||
		err == nil {
		t.Errorf("error %v", err)
	}
	if left, _ := os.ReadDir(s.Temporary); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAServerThatDoesNotAnswerIsGivenUp(t *testing.T) {
	server := gitserver.Start(t)
	repository := server.Create(t, "app", map[string]string{"a.yaml": "a: 1\n"})
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		s := settings(t, server, repository)
		s.Limits.Time = 2 * time.Second
		remote := connect(t, s)
		server.Around(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == method {
					_, _ = io.Copy(io.Discard, r.Body) // otherwise the server does not notice when the client disconnects
					<-r.Context().Done()
					return
				}
				next.ServeHTTP(w, r)
			})
		})
		if err := read(t.Context(), remote); gitprovider.ClassOf(err) != gitprovider.Unavailable || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: error %v", method, err)
		}
		if left, _ := os.ReadDir(s.Temporary); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}

func TestOnlyTheNewestCommitsAreFetched(t *testing.T) {
	server := gitserver.Start(t)
	repository := server.Create(t, "app", map[string]string{"a.yaml": "a: 1\n"})
	old := repository.Tip(gitserver.Main)
	middle := repository.Commit(gitserver.Main, map[string]string{"a.yaml": "a: 2\n"})
	newest := repository.Commit(gitserver.Main, map[string]string{"a.yaml": "a: 3\n"})
	remote := connect(t, settings(t, server, repository))
	objects := fetch(t, remote, 2, tip(t, remote, gitserver.Main))
	commit, err := objects.Commit(newest)
	if err != nil || len(commit.Parents) != 1 || commit.Parents[0] != middle {
		t.Errorf("commit %+v, %v", commit, err)
	}
	if got := filesOf(t, objects, middle)["a.yaml"]; got != "a: 2\n" {
		t.Errorf("a.yaml = %q", got)
	}
	if _, err := objects.Commit(old); err == nil {
		t.Error("the oldest commit was fetched")
	}
	repository.Set("uploadpack.allowFilter", "true")
	bare, err := remote.Fetch(t.Context(), gitremote.Wish{Commits: []string{tip(t, remote, gitserver.Main)}, Depth: 1, WithoutFiles: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = bare.Close() }()
	if commit, err := bare.Commit(newest); err != nil || commit.Parents[0] != middle {
		t.Errorf("commit %+v, %v", commit, err)
	}
	if err := bare.Files(t.Context(), newest, everything, nil); err == nil {
		t.Error("files came with the commit")
	}
}

func TestRevisionsAreTagsBranchesAndCommits(t *testing.T) {
	server := gitserver.Start(t)
	repository := server.Create(t, "blueprints", map[string]string{"a": "1"})
	first := repository.Tip(gitserver.Main)
	repository.Git("tag", "light", first)
	repository.Git("-c", "user.name=a", "-c", "user.email=a@b", "tag", "-a", "-m", "with a message", "annotated", first)
	repository.Git("tag", gitserver.Main, first)
	second := repository.Commit(gitserver.Main, map[string]string{"a": "2"})
	remote := connect(t, settings(t, server, repository))
	for revision, want := range map[string]string{
		"light":                        first,
		"annotated":                    first,
		"refs/heads/" + gitserver.Main: second,
		gitserver.Main:                 first, // a tag takes precedence over a branch
		second:                         second,
		"absent":                       "",
		"heads/" + gitserver.Main:      "",
	} {
		if got, err := remote.Resolve(t.Context(), revision); err != nil || got != want {
			t.Errorf("%s leads to %q, %v; want %q", revision, got, err, want)
		}
	}
}

func TestTrailers(t *testing.T) {
	for message, want := range map[string]string{
		"Promote\n\nPromotion-Key: abc\n":                       "abc",
		"Promote\n\ntext\n\nOther: x\npromotion-key:   abc\n\n": "abc",
		"Promote\n\nPromotion-Key: abc\n\nmore\n":               "",
		"Promote\n\nPromotion-Key: a\nPromotion-Key: b\n":       "",
		"Promote": "",
	} {
		if got := (gitremote.Commit{Message: message}).Trailer("Promotion-Key"); got != want {
			t.Errorf("%q: %q, want %q", message, got, want)
		}
	}
}
