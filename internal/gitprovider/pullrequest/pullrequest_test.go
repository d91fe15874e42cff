// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/gitremote"
	"espalier.dev/internal/gitprovider/marker"
	"espalier.dev/internal/gitprovider/pullrequest"
	"espalier.dev/internal/testkit/gitserver"
)

const (
	branch = "promotion-default-podinfo-prod-0123abcd"
	key    = "0123abcd0123abcd"
	file   = "apps/podinfo.yaml"
)

var prod = marker.Marker{Namespace: "default", Pipeline: "podinfo", Environment: "prod"}

func podinfo(version string) string {
	return "spec:\n  chart:   podinfo\n  version: " + version + " # " + prod.String() + "\n"
}

// world is a repository with a provider around it.
type world struct {
	t          *testing.T
	server     *gitserver.Server
	repository *gitserver.Repository
	provider   *provider
	power      *power
	proposer   *pullrequest.Proposer
	request    pullrequest.Request
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	return addWorld(t, gitserver.Start(t), "team/config", files)
}

func addWorld(t *testing.T, server *gitserver.Server, name string, files map[string]string) *world {
	t.Helper()
	w := &world{t: t, server: server, power: unlimited(), proposer: pullrequest.New()}
	w.repository = server.Create(t, name, files)
	w.provider = newProvider(t, w.repository, w.power)
	w.request = pullrequest.Request{
		Place: pullrequest.Place{Provider: w.provider, Git: gitremote.Settings{
			URL: w.repository.URL, Credentials: server.Credentials(), Rules: dial.Rules{AllowLoopback: true}, Temporary: t.TempDir(),
		}},
		Base: gitserver.Main, Branch: branch, Key: key, Marker: prod, Revision: "1.2.3", Time: time.Unix(1700000000, 0),
	}
	return w
}

func (w *world) propose() pullrequest.Result {
	w.t.Helper()
	result, err := w.proposer.Propose(w.t.Context(), w.request)
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

func (w *world) withdrawal(number int64) pullrequest.Withdrawal {
	return pullrequest.Withdrawal{
		Place:   w.request.Place,
		Base:    w.request.Base,
		Branch:  w.request.Branch,
		Key:     w.request.Key,
		Number:  number,
		Comment: "superseded",
	}
}

func (w *world) withdraw(number int64) pullrequest.Withdrawn {
	w.t.Helper()
	result, err := w.proposer.Withdraw(w.t.Context(), w.withdrawal(number))
	if err != nil {
		w.t.Fatal(err)
	}
	return result
}

// restart clears all memory, as a new process would.
func (w *world) restart() {
	w.power.restore()
	w.proposer = pullrequest.New()
}

// mustBeOne checks that there is one open pull request, from one branch, with one commit that makes the expected change.
func (w *world) mustBeOne(version string) {
	w.t.Helper()
	open := w.provider.open()
	if len(open) != 1 || open[0].Head != w.request.Branch || open[0].Base != gitserver.Main {
		w.t.Errorf("open pull requests: %+v", open)
	}
	if got := w.repository.Branches(); !slices.Equal(got, []string{gitserver.Main, w.request.Branch}) {
		w.t.Errorf("branches: %v", got)
	}
	if got := w.repository.Git("rev-list", "--count", gitserver.Main+".."+w.request.Branch); got != "1" {
		w.t.Errorf("%s commits", got)
	}
	if got := w.repository.Read(w.request.Branch, file); got != podinfo(version) {
		w.t.Errorf("the file is %q", got)
	}
}

func (w *world) wantTerminal(reason string, parts ...string) {
	w.t.Helper()
	_, err := w.proposer.Propose(w.t.Context(), w.request)
	if failure.KindOf(err) != failure.Terminal || failure.DetailsOf(err).Reason != reason {
		w.t.Fatalf("error %v, want a terminal one with reason %s", err, reason)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			w.t.Errorf("%q does not mention %q", err, part)
		}
	}
}

func TestPIP22_APullRequestIsOpenedOnce(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0"), "other.yaml": "x:   1\n"})
	w.request.Note = "This is a note."
	first := w.propose()
	if diff := cmp.Diff(pullrequest.Result{
		Outcome: pullrequest.Open, PullRequest: first.PullRequest,
		BaseCommit: w.repository.Tip(gitserver.Main), HeadCommit: w.repository.Tip(branch),
	}, first); diff != "" || first.PullRequest == nil {
		t.Fatalf("first, there is %v:\n%s", first.PullRequest, diff)
	}
	w.mustBeOne("1.2.3")
	pr := first.PullRequest
	if pr.Title != "Promote default/podinfo in prod to 1.2.3" {
		t.Errorf("title %q", pr.Title)
	}
	for _, line := range []string{"<summary>metadata</summary>", "default/podinfo/prod", "Promotion-Key: " + key, "This is a note.", "- `" + file + "`"} {
		if !slices.Contains(strings.Split(pr.Body, "\n"), line) {
			t.Errorf("the body has no line %q:\n%s", line, pr.Body)
		}
	}
	message := w.repository.Git("log", "-1", "--format=%B%n%an <%ae>", branch)
	want := fmt.Sprintf(
		"Promote default/podinfo in prod to 1.2.3\n\nPromotion-Key: %s\nPromotion-Base: %s\n\nEspalier <espalier@espalier.dev>",
		key,
		w.repository.Tip(gitserver.Main),
	)
	if diff := cmp.Diff(want, message); diff != "" {
		t.Error(diff)
	}
	for range 2 {
		again := w.propose()
		if again.Outcome != pullrequest.Open || !again.Adopted || again.PullRequest.Number != pr.Number {
			t.Errorf("again: %+v", again)
		}
		w.mustBeOne("1.2.3")
		w.restart()
	}
}

func TestPIP20_AProposalThatIsCutOffAnywhereIsFinishedByTheNext(t *testing.T) {
	server := gitserver.Start(t)
	for _, afterwards := range []bool{false, true} {
		for steps := 1; ; steps++ {
			name := fmt.Sprintf("step %d, effect %t", steps, afterwards)
			w := addWorld(t, server, fmt.Sprintf("team/%d-%t", steps, afterwards), map[string]string{file: podinfo("1.0.0")})
			server.Around(w.power.around)
			w.power.left, w.power.afterwards = steps, afterwards
			_, err := w.proposer.Propose(t.Context(), w.request)
			if err != nil && failure.KindOf(err) != failure.Retryable {
				t.Errorf("%s: a lost connection is not retryable: %v", name, err)
			}
			finished := w.power.left != 0
			w.restart()
			if got := w.propose(); got.Outcome != pullrequest.Open {
				t.Errorf("%s: %+v", name, got)
			}
			w.mustBeOne("1.2.3")
			server.Around(nil)
			if t.Failed() {
				t.Fatalf("%s: %v", name, w.power.used)
			}
			if finished {
				if steps < 6 {
					t.Errorf("only %d steps were cut", steps)
				}
				break
			}
		}
	}
}

func TestPIP20_AWithdrawalThatIsCutOffAnywhereIsFinishedByTheNext(t *testing.T) {
	server := gitserver.Start(t)
	for _, afterwards := range []bool{false, true} {
		for steps := 1; ; steps++ {
			name := fmt.Sprintf("step %d, effect %t", steps, afterwards)
			w := addWorld(t, server, fmt.Sprintf("team/w%d-%t", steps, afterwards), map[string]string{file: podinfo("1.0.0")})
			number := w.propose().PullRequest.Number
			server.Around(w.power.around)
			w.power.left, w.power.afterwards = steps, afterwards
			if _, err := w.proposer.Withdraw(t.Context(), w.withdrawal(number)); err != nil && failure.KindOf(err) != failure.Retryable {
				t.Errorf("%s: a lost connection is not retryable: %v", name, err)
			}
			finished := w.power.left != 0
			w.restart()
			again := w.withdrawal(number)
			again.Repeated = true
			if got, err := w.proposer.Withdraw(t.Context(), again); err != nil || got.PullRequest.State != gitprovider.Closed || got.KeptBranch {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			server.Around(nil)
			if len(w.provider.open()) > 0 || len(w.repository.Branches()) != 1 || len(w.provider.comments[number]) == 0 {
				t.Fatalf("%s: %v, %v, %v", name, w.provider.open(), w.repository.Branches(), w.power.used)
			}
			if finished {
				break
			}
		}
	}
}

func TestPIP22_WhatTheBaseHoldsAlreadyIsNotProposed(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.2.3")})
	if got := w.propose(); got.Outcome != pullrequest.AlreadyPresent || got.PullRequest != nil {
		t.Errorf("%+v", got)
	}
	w.server.Requests()
	if got := w.propose(); got.Outcome != pullrequest.AlreadyPresent {
		t.Errorf("%+v", got)
	}
	if got := w.server.Requests(); len(got) != 1 {
		t.Errorf("an unchanged base cost %v", got)
	}
	if len(w.provider.open()) > 0 || len(w.repository.Branches()) > 1 {
		t.Error("something was proposed")
	}
}

func TestPIP22_ThePresenceOfTheRevisionNamesAPullRequestThatIsMoot(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
	number := w.propose().PullRequest.Number
	w.repository.Commit(gitserver.Main, map[string]string{file: podinfo("1.2.3")})
	if got := w.propose(); got.Outcome != pullrequest.AlreadyPresent || got.PullRequest == nil || got.PullRequest.Number != number {
		t.Errorf("%+v", got)
	}
}

func TestPIP22_TheEndOfThePullRequestIsFound(t *testing.T) {
	for state, want := range map[gitprovider.State]pullrequest.Outcome{
		gitprovider.Merged: pullrequest.Merged,
		gitprovider.Closed: pullrequest.Closed,
	} {
		w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
		number := w.propose().PullRequest.Number
		w.provider.edit(number, func(p *gitprovider.PullRequest) { p.State = state })
		w.restart()
		if got := w.propose(); got.Outcome != want || got.PullRequest.Number != number {
			t.Errorf("%s: %+v", state, got)
		}
		if len(w.provider.open()) > 0 {
			t.Errorf("%s: another pull request was opened", state)
		}
	}
}

func TestPIP23_WithoutAMarkerTheErrorSaysWhichOneIsExpected(t *testing.T) {
	w := newWorld(t, map[string]string{file: "version: 1.0.0 # {\"$promotion\": \"default:podinfo:staging\"}\n", "link.yaml": "-> " + file})
	w.wantTerminal(pullrequest.ReasonNoMarker, prod.String(), gitserver.Main)
	w.server.Requests()
	w.wantTerminal(pullrequest.ReasonNoMarker)
	if got := w.server.Requests(); len(got) != 1 {
		t.Errorf("an unchanged base cost %v", got)
	}
	w.repository.Commit(gitserver.Main, map[string]string{file: podinfo("1.0.0")})
	if got := w.propose(); got.Outcome != pullrequest.Open {
		t.Errorf("after the marker was added: %+v", got)
	}
	w.repository.Commit(gitserver.Main, map[string]string{"broken.yaml": podinfo("[")})
	w.request.Branch, w.request.Key = "other", "4567"
	w.wantTerminal(pullrequest.ReasonUnreadable, "broken.yaml:", "is not valid YAML")
	w.request.Base = "release"
	w.wantTerminal(pullrequest.ReasonNoBase, "release", "baseBranch")
}

func TestPIP20_CommitsOfOthersAreNeverOverwritten(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
	foreign := w.repository.Commit(branch, map[string]string{"theirs": "1"})
	w.wantTerminal(pullrequest.ReasonForeignBranch, branch, foreign)
	if got := w.repository.Tip(branch); got != foreign || len(w.provider.open()) > 0 {
		t.Errorf("the branch is at %s, pull requests %v", got, w.provider.open())
	}
	if got := w.withdraw(0); !got.KeptBranch || got.PullRequest != nil {
		t.Errorf("withdrawn: %+v", got)
	}
	if got := w.repository.Tip(branch); got != foreign {
		t.Errorf("the branch is at %q", got)
	}
}

func TestPIP20_OurCommitInOtherHandsIsNotOurs(t *testing.T) {
	for name, change := range map[string]func(*world){
		"a commit on top": func(w *world) { w.repository.Commit(branch, map[string]string{"more": "1"}) },
		"amended": func(w *world) {
			w.repository.Work("fetch", "--quiet", "origin", branch)
			w.repository.Work("checkout", "--quiet", "-B", "amend", "FETCH_HEAD")
			w.repository.Work("commit", "--quiet", "--amend", "--no-edit", "--allow-empty")
			w.repository.Work("push", "--quiet", "--force", "origin", "HEAD:refs/heads/"+branch)
		},
		"put on another commit": func(w *world) {
			w.repository.Work("fetch", "--quiet", "origin", branch)
			w.repository.Work("checkout", "--quiet", "-B", "theirs", "refs/remotes/origin/main")
			w.repository.Work("commit", "--quiet", "--allow-empty", "-m", "Theirs")
			w.repository.Work("-c", "user.name=x", "cherry-pick", "FETCH_HEAD")
			w.repository.Work("push", "--quiet", "--force", "origin", "HEAD:refs/heads/"+branch)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
			number := w.propose().PullRequest.Number
			change(w)
			theirs := w.repository.Tip(branch)
			w.repository.Commit(gitserver.Main, map[string]string{file: podinfo("1.0.1")}) // a reason to recreate the branch
			w.restart()
			if got := w.propose(); got.Outcome != pullrequest.Open || got.PullRequest.Number != number {
				t.Errorf("%+v", got)
			}
			if got := w.repository.Tip(branch); got != theirs {
				t.Errorf("the branch was at %s and is at %s", theirs, got)
			}
			if got := w.withdraw(number); !got.KeptBranch || got.PullRequest.State != gitprovider.Closed {
				t.Errorf("withdrawn: %+v", got)
			}
			if got := w.repository.Tip(branch); got != theirs {
				t.Errorf("the branch was at %s and is at %q", theirs, got)
			}
		})
	}
}

func TestPIP20_ACommitInOurNameThatChangesMoreIsNotOurs(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0"), "other.yaml": "a: 1\n"})
	remote, err := gitremote.Connect(w.request.Git)
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	if _, err := remote.Tips(t.Context()); err != nil {
		t.Fatal(err)
	}
	base := w.repository.Tip(gitserver.Main)
	objects, err := remote.Fetch(t.Context(), gitremote.Wish{Commits: []string{base}, Depth: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = objects.Close() }()
	forged, err := objects.Build(gitremote.Change{
		Parent: base, Files: map[string][]byte{file: []byte(podinfo("1.2.3")), "other.yaml": []byte("a: 2\n")},
		Message: fmt.Sprintf("x\n\n%s: %s\n%s: %s\n", pullrequest.KeyTrailer, key, pullrequest.BaseTrailer, base),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Push(t.Context(), gitremote.Update{Branch: branch, To: forged}); err != nil {
		t.Fatal(err)
	}
	w.wantTerminal(pullrequest.ReasonForeignBranch, branch, forged.Commit)
}

func TestPIP20_APullRequestWithoutTheKeyIsAdoptedOnlyWithOurCommit(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
	number := w.propose().PullRequest.Number
	w.provider.edit(number, func(p *gitprovider.PullRequest) { p.Body = "edited" })
	w.restart()
	if got := w.propose(); got.PullRequest.Number != number || !got.Adopted {
		t.Errorf("%+v", got)
	}
	w.mustBeOne("1.2.3")
	foreign := w.repository.Commit(branch, map[string]string{"theirs": "1"})
	w.restart()
	w.wantTerminal(pullrequest.ReasonForeignPullRequest, "pulls/1", branch, foreign)
}

func TestPIP22_TheBranchIsMadeAnewWhenTheBaseChangesTheSameFiles(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
	number := w.propose().PullRequest.Number
	first := w.repository.Tip(branch)
	w.repository.Commit(gitserver.Main, map[string]string{"elsewhere.yaml": "x: 1\n"})
	if w.propose(); w.repository.Tip(branch) != first {
		t.Error("the branch moved although the base only changed elsewhere")
	}
	w.request.UpToDate = true
	if w.propose(); w.repository.Git("merge-base", gitserver.Main, branch) != w.repository.Tip(gitserver.Main) {
		t.Error("the branch is behind although it was asked to be up to date")
	}
	w.request.UpToDate = false
	w.repository.Commit(gitserver.Main, map[string]string{file: podinfo("1.0.1"), "second.yaml": podinfo("1.0.1")})
	w.restart()
	if got := w.propose(); got.PullRequest.Number != number ||
		w.repository.Git("merge-base", gitserver.Main, branch) != w.repository.Tip(gitserver.Main) {
		t.Errorf("%+v", got)
	}
	w.mustBeOne("1.2.3")
	if got := w.repository.Read(branch, "second.yaml"); got != podinfo("1.2.3") {
		t.Errorf("the second file is %q", got)
	}
}

func TestPIP20_APushInBetweenIsSeen(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
	once := sync.Once{}
	inBetween := func(path string, do func()) {
		once = sync.Once{}
		w.server.Around(func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, path) {
					once.Do(do)
				}
				next.ServeHTTP(rw, r)
			})
		})
	}
	inBetween("/git-upload-pack", func() {
		w.repository.Work("commit", "--quiet", "--amend", "-m", "Another beginning")
		w.repository.Work("push", "--quiet", "--force", "origin", "HEAD:refs/heads/"+gitserver.Main)
	})
	if got := w.propose(); got.BaseCommit != w.repository.Tip(gitserver.Main) {
		t.Errorf("%+v", got)
	}
	w.mustBeOne("1.2.3")
	w.request.Branch, w.request.Key = "other", "4567"
	foreign := ""
	inBetween("/git-receive-pack", func() { foreign = w.repository.Commit("other", map[string]string{"theirs": "1"}) })
	w.wantTerminal(pullrequest.ReasonForeignBranch, "other")
	if got := w.repository.Tip("other"); got != foreign || foreign == "" {
		t.Errorf("the branch is at %s, want %s", got, foreign)
	}
}

func TestPIP20_APullRequestThatAppearsInBetweenIsAdopted(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
	other := pullrequest.New()
	w.provider.onCreate = func() {
		w.provider.onCreate = nil
		if _, err := other.Propose(t.Context(), w.request); err != nil {
			t.Error(err)
		}
	}
	if got := w.propose(); !got.Adopted || got.PullRequest == nil {
		t.Errorf("%+v", got)
	}
	w.mustBeOne("1.2.3")
}

func TestPIP22_PipelinesShareARepository(t *testing.T) {
	files := map[string]string{}
	markers := make([]marker.Marker, 6)
	for i := range markers {
		markers[i] = marker.Marker{Namespace: "default", Pipeline: fmt.Sprintf("app%d", i), Environment: "prod"}
		files["all.yaml"] += fmt.Sprintf("app%d: 1.0.0 # %s\n", i, markers[i])
	}
	w := newWorld(t, files)
	var group sync.WaitGroup
	for i, m := range markers {
		request := w.request
		request.Marker, request.Branch, request.Key = m, fmt.Sprintf("promotion-%d", i), fmt.Sprintf("key%d", i)
		group.Go(func() {
			if got, err := w.proposer.Propose(t.Context(), request); err != nil || got.Outcome != pullrequest.Open {
				t.Errorf("%s: %+v, %v", request.Branch, got, err)
			}
		})
	}
	group.Wait()
	if got := w.provider.open(); len(got) != len(markers) {
		t.Errorf("%d pull requests", len(got))
	}
	for i, m := range markers {
		want := strings.ReplaceAll(files["all.yaml"], fmt.Sprintf("1.0.0 # %s", m), fmt.Sprintf("1.2.3 # %s", m))
		if diff := cmp.Diff(want, w.repository.Read(fmt.Sprintf("promotion-%d", i), "all.yaml")); diff != "" {
			t.Error(diff)
		}
	}
}

func TestPIP22_AWithdrawalClosesAndSaysWhy(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
	number := w.propose().PullRequest.Number
	for range 2 {
		if got := w.withdraw(0); got.PullRequest.Number != number || got.PullRequest.State != gitprovider.Closed || got.KeptBranch {
			t.Errorf("%+v", got)
		}
	}
	if diff := cmp.Diff([]string{"superseded"}, w.provider.comments[number]); diff != "" {
		t.Error(diff)
	}
	if got := w.repository.Branches(); len(got) != 1 {
		t.Errorf("branches %v", got)
	}
	if got := w.withdraw(99); got.PullRequest != nil {
		t.Errorf("a pull request that does not exist: %+v", got)
	}
}

// If the number of the run was lost, a promotion that already has a pull request gets another key. The pull request is taken over if it is
// for the same revision, and replaced if it is not; one that only looks like it is left alone.
func TestPIP20_AForgottenPullRequestIsTakenUpOrReplaced(t *testing.T) {
	const other, otherKey = "promotion-default-podinfo-prod-89abcdef", "89abcdef89abcdef"
	begin := func(t *testing.T) (*world, int64) {
		w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
		number := w.propose().PullRequest.Number
		w.request.Branch, w.request.Key = other, otherKey
		return w, number
	}
	t.Run("the same revision", func(t *testing.T) {
		w, number := begin(t)
		got := w.propose()
		want := got
		want.Outcome, want.Adopted, want.Key = pullrequest.Open, true, key
		if diff := cmp.Diff(want, got); diff != "" || got.PullRequest.Number != number {
			t.Errorf("pull request %d, want %d:\n%s", got.PullRequest.Number, number, diff)
		}
		if branches := w.repository.Branches(); len(w.provider.all) != 1 || len(branches) != 2 {
			t.Errorf("pull requests %v, branches %v", w.provider.all, branches)
		}
	})
	t.Run("another revision", func(t *testing.T) {
		w, number := begin(t)
		w.request.Revision = "1.3.0"
		got := w.propose()
		if got.PullRequest.Number == number || got.Key != "" {
			t.Errorf("proposed is number %d with key %q, want one of its own", got.PullRequest.Number, got.Key)
		}
		if open, said := w.provider.open(), w.provider.comments[number]; len(open) != 1 || len(said) != 1 {
			t.Errorf("open are %v, comments on the old one %q, want one of each", open, said)
		}
		if branches := w.repository.Branches(); len(branches) != 2 || w.repository.Tip(other) == "" {
			t.Errorf("branches %v", branches)
		}
	})
	for name, change := range map[string]func(*gitprovider.PullRequest){
		"from a fork":              func(p *gitprovider.PullRequest) { p.Fork = true },
		"of another environment":   func(p *gitprovider.PullRequest) { p.Body = strings.ReplaceAll(p.Body, "/podinfo/prod", "/podinfo/dev") },
		"with the key of another":  func(p *gitprovider.PullRequest) { p.Body = strings.ReplaceAll(p.Body, key, "ffff"+key) },
		"of a person":              func(p *gitprovider.PullRequest) { p.Body = "mine" },
		"into another branch":      func(p *gitprovider.PullRequest) { p.Base = "release" },
		"that somebody has closed": func(p *gitprovider.PullRequest) { p.State = gitprovider.Closed },
		"that somebody has merged": func(p *gitprovider.PullRequest) { p.State = gitprovider.Merged },
		"of a pipeline with a prefix": func(p *gitprovider.PullRequest) {
			p.Body = strings.ReplaceAll(p.Body, "default/podinfo/", "default/podinfo-2/")
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, number := begin(t)
			w.provider.edit(number, change)
			before := w.provider.all[number-1].State
			if got := w.propose(); got.PullRequest.Number == number || got.Adopted {
				t.Errorf("%+v", got)
			}
			if after := w.provider.all[number-1].State; after != before || w.repository.Tip(branch) == "" {
				t.Errorf("it is %s, branches %v", after, w.repository.Branches())
			}
		})
	}
}

// Users have closed the pull request of a run that an older status does not know. The revision stays rejected until they request a retry, or
// until another one was proposed after it.
func TestPIP20_AForgottenPullRequestThatUsersHaveClosedStaysClosed(t *testing.T) {
	const other, otherKey = "promotion-default-podinfo-prod-89abcdef", "89abcdef89abcdef"
	begin := func(t *testing.T) (*world, int64) {
		w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
		w.request.Run = 7
		number := w.propose().PullRequest.Number
		w.provider.edit(number, func(p *gitprovider.PullRequest) { p.State = gitprovider.Closed })
		w.request.Branch, w.request.Key, w.request.Run = other, otherKey, 6
		return w, number
	}
	w, number := begin(t)
	got := w.propose()
	if got.Outcome != pullrequest.Closed || got.Key != key || got.PullRequest.Number != number || len(w.repository.Branches()) != 2 {
		t.Errorf("%+v, branches %v", got, w.repository.Branches())
	}
	for name, change := range map[string]func(*world){
		"a retry":          func(w *world) { w.request.Retry = true },
		"a later run":      func(w *world) { w.request.Run = 8 },
		"another revision": func(w *world) { w.request.Revision = "1.3.0" },
		"merged": func(w *world) {
			w.provider.edit(1, func(p *gitprovider.PullRequest) { p.State = gitprovider.Merged })
		},
		"a fork":         func(w *world) { w.provider.edit(1, func(p *gitprovider.PullRequest) { p.Fork = true }) },
		"another branch": func(w *world) { w.provider.edit(1, func(p *gitprovider.PullRequest) { p.Base = "release" }) },
		"another environment": func(w *world) {
			w.provider.edit(1, func(p *gitprovider.PullRequest) { p.Body = strings.ReplaceAll(p.Body, "/podinfo/prod", "/podinfo/dev") })
		},
		"another proposal since": func(w *world) {
			last := w.provider.all[0]
			last.Number, last.Body = 2, strings.ReplaceAll(last.Body, w.request.Revision, "1.9.9")
			w.provider.all = append(w.provider.all, last)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := begin(t)
			change(w)
			if got := w.propose(); got.Outcome != pullrequest.Open || got.Adopted {
				t.Errorf("%+v", got)
			}
		})
	}
}

// A token may permit commenting and not closing. Each attempt fails then, and none of them comments.
func TestPIP22_AWithdrawalThatIsNotPermittedLeavesNoComments(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
	number := w.propose().PullRequest.Number
	w.provider.refuse = map[string]gitprovider.Class{"close": gitprovider.Forbidden}
	for range 3 {
		if _, err := w.proposer.Withdraw(t.Context(), w.withdrawal(number)); gitprovider.ClassOf(err) != gitprovider.Forbidden {
			t.Errorf("error %v", err)
		}
	}
	if said := w.provider.comments[number]; len(said) > 0 {
		t.Errorf("it says %q", said)
	}
	// The other way round, it is closed without a comment.
	w.provider.refuse = map[string]gitprovider.Class{"comment": gitprovider.Forbidden}
	if got := w.withdraw(number); got.PullRequest.State != gitprovider.Closed || len(w.repository.Branches()) != 1 {
		t.Errorf("%+v, branches %v", got, w.repository.Branches())
	}
}

// If the branch has a closed pull request and a later open one, the open one is withdrawn.
func TestPIP22_AWithdrawalPrefersWhatIsOpen(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
	first := w.propose().PullRequest.Number
	w.provider.edit(first, func(p *gitprovider.PullRequest) { p.State = gitprovider.Closed })
	body := w.provider.all[first-1].Body
	second, err := w.provider.Create(t.Context(), gitprovider.NewPullRequest{
		Head:  w.request.Branch,
		Base:  w.request.Base,
		Title: "again",
		Body:  body,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.provider.edit(first, func(p *gitprovider.PullRequest) { p.State = gitprovider.Open })
	w.provider.edit(second.Number, func(p *gitprovider.PullRequest) { p.State = gitprovider.Closed })
	if got := w.withdraw(0); got.PullRequest.Number != first || len(w.provider.open()) > 0 {
		t.Errorf("withdrawn is %+v, open are %+v", got.PullRequest, w.provider.open())
	}
}

func TestPIP22_AMergeDuringTheWithdrawalCounts(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
	number := w.propose().PullRequest.Number
	w.provider.edit(number, func(p *gitprovider.PullRequest) { p.State = gitprovider.Merged })
	if got := w.withdraw(number); got.PullRequest.State != gitprovider.Merged || len(w.provider.comments[number]) > 0 {
		t.Errorf("%+v", got)
	}
	w.provider.edit(number, func(p *gitprovider.PullRequest) { p.State, p.Head = gitprovider.Open, "somebody-elses" })
	if _, err := w.proposer.Withdraw(t.Context(), w.withdrawal(number)); failure.DetailsOf(
		err,
	).Reason != pullrequest.ReasonForeignPullRequest {
		t.Errorf("error %v", err)
	}
	if len(w.provider.open()) != 1 {
		t.Error("a foreign pull request was closed")
	}
}

func TestPIP23_TheValueMayDifferFromTheRevision(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
	w.request.Revision, w.request.Value = "main@sha1:abc", "abc"
	if got := w.propose(); !strings.HasSuffix(got.PullRequest.Title, "to main@sha1:abc") {
		t.Errorf("title %q", got.PullRequest.Title)
	}
	w.mustBeOne("abc")
}

func TestPIP22_LongNamesFitIntoWhatProvidersAccept(t *testing.T) {
	deep := strings.Repeat("directory/", 60)
	files := map[string]string{}
	for i := range 80 {
		files[fmt.Sprintf("%sfile%d.yaml", deep, i)] = podinfo("1.0.0")
	}
	w := newWorld(t, files)
	w.request.Revision, w.request.Value = strings.Repeat("long", 200), "1.2.3"
	pr := w.propose().PullRequest
	if len(pr.Title) > 250 || len(pr.Body) > 4000 || !strings.Contains(pr.Body, " more\n") {
		t.Errorf("the title has %d bytes, the body %d", len(pr.Title), len(pr.Body))
	}
	if mark, ok := pullrequest.Recognise(pr.Body, "default", "podinfo"); !ok || mark.Revision != w.request.Revision {
		t.Errorf("%+v", mark)
	}
}

func TestImpossibleRequestsAreRefused(t *testing.T) {
	w := newWorld(t, map[string]string{file: podinfo("1.0.0")})
	for name, change := range map[string]func(*pullrequest.Request){
		"no provider":            func(r *pullrequest.Request) { r.Provider = nil },
		"no branch":              func(r *pullrequest.Request) { r.Branch = "" },
		"no key":                 func(r *pullrequest.Request) { r.Key = "" },
		"no revision":            func(r *pullrequest.Request) { r.Revision = "" },
		"the base is the branch": func(r *pullrequest.Request) { r.Base = r.Branch },
	} {
		request := w.request
		change(&request)
		if got, err := w.proposer.Propose(t.Context(), request); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
