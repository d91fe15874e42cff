// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/providers"
)

// scene is a repository with the branches main and release/1.0, at a fake or real provider.
type scene interface {
	settings() providers.Settings
	// push creates a branch that differs from main.
	push(t *testing.T, branch string)
	// merge and closeByHand do what a person does to a pull request on the provider's page.
	merge(t *testing.T, number int64) (commit string)
	closeByHand(t *testing.T, number int64)
	comments(t *testing.T, number int64) []string
	// check reports the state of a check for the head commit of a pull request.
	check(t *testing.T, number int64, name string, state gitprovider.ChecksState)
	// pageSize is the smallest page size that the provider is asked for, in pull requests.
	pageSize() int
	// people returns the login of the token's owner and that of the person.
	people() (robot, person string)
}

// contract is what every provider guarantees. Each part has its own repository.
var contract = map[string]func(*testing.T, scene){
	"a new pull request is read back as it was made":           readsBack,
	"a second one between the same branches is a duplicate":    refusesDuplicates,
	"pull requests are found by their branches in any state":   findsByBranches,
	"merging is seen, with commit, person and time":            seesMerging,
	"closing by hand is seen, with person and time":            seesClosing,
	"closing twice changes nothing, nor does closing a merged": closesOnce,
	"comments are added whatever the state":                    comments,
	"checks are told, each as it was left last":                tellsChecks,
	"listings tell all that changed":                           tellsChanges,
	"listings of more than a page are complete":                listsAllPages,
	"the history has what has ended":                           remembersWhatHasEnded,
	"what does not exist is told apart from what fails":        tellsWhatIsMissing,
}

func runContract(t *testing.T, open func(*testing.T) scene) {
	for name, part := range contract {
		t.Run(name, func(t *testing.T) { part(t, open(t)) })
	}
}

func providerOf(t *testing.T, s scene) gitprovider.Provider {
	t.Helper()
	provider, err := providers.New(s.settings())
	if err != nil {
		t.Fatal(err)
	}
	return provider
}

func create(t *testing.T, s scene, provider gitprovider.Provider, head, base string) gitprovider.PullRequest {
	t.Helper()
	s.push(t, head)
	p, err := provider.Create(t.Context(), gitprovider.NewPullRequest{
		Head:  head,
		Base:  base,
		Title: "Promote " + head,
		Body:  "key of " + head,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func get(t *testing.T, provider gitprovider.Provider, number int64) gitprovider.PullRequest {
	t.Helper()
	p, err := provider.Get(t.Context(), number)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func list(t *testing.T, provider gitprovider.Provider, since gitprovider.Cursor) gitprovider.Listing {
	t.Helper()
	listing, err := provider.List(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	return listing
}

func readsBack(t *testing.T, s scene) {
	provider := providerOf(t, s)
	s.push(t, "promotion/a_1.x")
	wish := gitprovider.NewPullRequest{
		Head: "promotion/a_1.x", Base: "release/1.0", Title: `Promote "shop" & more`,
		Body: "<details>\n\nkey: 0123 ümläut\n" + strings.Repeat("long ", 200) + "\n</details>",
	}
	made, err := provider.Create(t.Context(), wish)
	if err != nil {
		t.Fatal(err)
	}
	if made.Number <= 0 || !strings.HasPrefix(made.URL, "http") {
		t.Errorf("made number %d at %q", made.Number, made.URL)
	}
	if made.HeadCommit == "" || made.CreatedTime.IsZero() {
		t.Errorf("made of the commit %q at %s", made.HeadCommit, made.CreatedTime)
	}
	want := gitprovider.PullRequest{
		Number: made.Number, URL: made.URL, BodyCut: made.BodyCut, HeadCommit: made.HeadCommit,
		CreatedTime: made.CreatedTime, UpdatedTime: made.UpdatedTime,
		State: gitprovider.Open, Head: wish.Head, Base: wish.Base, Title: wish.Title, Body: wish.Body,
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Errorf("made is something else:\n%s", diff)
	}
	if diff := cmp.Diff(made, get(t, provider, made.Number)); diff != "" {
		t.Errorf("it is read as something else:\n%s", diff)
	}
	found, err := provider.FindByHead(t.Context(), wish.Head, wish.Base)
	if err != nil || len(found) != 1 {
		t.Fatalf("found %v, %v", found, err)
	}
	if diff := cmp.Diff(made, found[0]); diff != "" {
		t.Errorf("it is found as something else:\n%s", diff)
	}
}

func refusesDuplicates(t *testing.T, s scene) {
	provider := providerOf(t, s)
	first := create(t, s, provider, "promotion-a", "main")
	_, err := provider.Create(t.Context(), gitprovider.NewPullRequest{Head: "promotion-a", Base: "main", Title: "again"})
	if gitprovider.ClassOf(err) != gitprovider.Duplicate || err == nil {
		t.Fatalf("error %v", err)
	}
	found, err := provider.FindByHead(t.Context(), "promotion-a", "main")
	if err != nil || len(found) != 1 || found[0].Number != first.Number {
		t.Errorf("found %v, %v", found, err)
	}
}

func findsByBranches(t *testing.T, s scene) {
	provider := providerOf(t, s)
	if found, err := provider.FindByHead(t.Context(), "promotion-a", "main"); err != nil || len(found) != 0 {
		t.Errorf("found %v, %v before there was any", found, err)
	}
	first := create(t, s, provider, "promotion-a", "main")
	create(t, s, provider, "promotion-b", "main")
	other := create(t, s, provider, "promotion-a", "release/1.0")
	s.closeByHand(t, first.Number)
	second := create(t, s, provider, "promotion-a", "main")
	if forks, ok := s.(interface {
		fromFork(*testing.T, string, string)
	}); ok {
		forks.fromFork(t, "promotion-a", "main")
	}
	expectFound(t, provider, "main", []string{fmt.Sprint(second.Number, gitprovider.Open), fmt.Sprint(first.Number, gitprovider.Closed)})
	expectFound(t, provider, "release/1.0", []string{fmt.Sprint(other.Number, gitprovider.Open)})
	s.merge(t, second.Number)
	expectFound(t, provider, "main", []string{fmt.Sprint(second.Number, gitprovider.Merged), fmt.Sprint(first.Number, gitprovider.Closed)})
}

func expectFound(t *testing.T, provider gitprovider.Provider, base string, want []string) {
	t.Helper()
	found, err := provider.FindByHead(t.Context(), "promotion-a", base)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range found {
		got = append(got, fmt.Sprint(p.Number, p.State))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("into %s (-want +got):\n%s", base, diff)
	}
}

func seesMerging(t *testing.T, s scene) {
	provider := providerOf(t, s)
	p := create(t, s, provider, "promotion-a", "main")
	commit := s.merge(t, p.Number)
	_, person := s.people()
	merged := get(t, provider, p.Number)
	want := merged
	want.State, want.MergeCommit, want.ClosedBy = gitprovider.Merged, commit, person
	if diff := cmp.Diff(want, merged); diff != "" || merged.ClosedTime.Before(merged.CreatedTime) {
		t.Errorf("created at %s, merged at %s:\n%s", merged.CreatedTime, merged.ClosedTime, diff)
	}
}

func seesClosing(t *testing.T, s scene) {
	provider := providerOf(t, s)
	p := create(t, s, provider, "promotion-a", "main")
	s.closeByHand(t, p.Number)
	_, person := s.people()
	closed := get(t, provider, p.Number)
	want := closed
	want.State, want.MergeCommit, want.ClosedBy = gitprovider.Closed, "", person
	if diff := cmp.Diff(want, closed); diff != "" || closed.ClosedTime.Before(closed.CreatedTime) {
		t.Errorf("created at %s, closed at %s:\n%s", closed.CreatedTime, closed.ClosedTime, diff)
	}
}

func closesOnce(t *testing.T, s scene) {
	provider := providerOf(t, s)
	robot, person := s.people()
	p := create(t, s, provider, "promotion-a", "main")
	for range 2 {
		closed, err := provider.Close(t.Context(), p.Number)
		if err != nil || closed.State != gitprovider.Closed || closed.Number != p.Number {
			t.Errorf("closed %+v, %v", closed, err)
		}
	}
	if closed := get(t, provider, p.Number); closed.ClosedBy != robot {
		t.Errorf("closed by %q, want %q", closed.ClosedBy, robot)
	}
	other := create(t, s, provider, "promotion-b", "main")
	commit := s.merge(t, other.Number)
	merged, err := provider.Close(t.Context(), other.Number)
	if err != nil {
		t.Fatalf("close a merged one: %v", err)
	}
	want := merged
	want.State, want.MergeCommit, want.ClosedBy = gitprovider.Merged, commit, person
	if diff := cmp.Diff(want, merged); diff != "" {
		t.Errorf("closing a merged one returns:\n%s", diff)
	}
}

func comments(t *testing.T, s scene) {
	provider := providerOf(t, s)
	p := create(t, s, provider, "promotion-a", "main")
	texts := []string{"Superseded by 1.2.4.\n\nSee *there*.", "closed & done"}
	if err := provider.Comment(t.Context(), p.Number, texts[0]); err != nil {
		t.Error(err)
	}
	if _, err := provider.Close(t.Context(), p.Number); err != nil {
		t.Error(err)
	}
	if err := provider.Comment(t.Context(), p.Number, texts[1]); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(texts, s.comments(t, p.Number)); diff != "" {
		t.Error(diff)
	}
}

func tellsChecks(t *testing.T, s scene) {
	provider := providerOf(t, s)
	p, other := create(t, s, provider, "promotion-a", "main"), create(t, s, provider, "promotion-b", "main")
	expectChecks := func(when string, of gitprovider.PullRequest, want gitprovider.Checks) {
		t.Helper()
		got, err := provider.Checks(t.Context(), of)
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		if got.URL != "" && !strings.HasPrefix(got.URL, "https://") {
			t.Errorf("%s: the page is %q", when, got.URL)
		}
		want.Commit, want.URL = of.HeadCommit, got.URL
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	expectChecks("none", p, gitprovider.Checks{})
	s.check(t, p.Number, "build", gitprovider.ChecksRunning)
	expectChecks("one begins", p, gitprovider.Checks{State: gitprovider.ChecksRunning, Running: 1})
	s.check(t, p.Number, "ci/lint", gitprovider.ChecksFailed)
	expectChecks("one fails", p, gitprovider.Checks{
		State: gitprovider.ChecksFailed, Running: 1, Failed: 1, FailedNames: []string{"ci/lint"},
	})
	s.check(t, p.Number, "build", gitprovider.ChecksPassed)
	expectChecks("the other passes", p, gitprovider.Checks{
		State: gitprovider.ChecksFailed, Passed: 1, Failed: 1, FailedNames: []string{"ci/lint"},
	})
	s.check(t, p.Number, "ci/lint", gitprovider.ChecksPassed)
	expectChecks("all pass", p, gitprovider.Checks{State: gitprovider.ChecksPassed, Passed: 2})
	expectChecks("another pull request", other, gitprovider.Checks{})
}

// follower keeps the contents of listings, like a poller.
type follower struct {
	provider gitprovider.Provider
	cursor   gitprovider.Cursor
	known    map[int64]gitprovider.State
}

func (f *follower) look(t *testing.T) {
	t.Helper()
	listing := list(t, f.provider, f.cursor)
	if f.cursor == (gitprovider.Cursor{}) && !listing.Complete {
		t.Error("the first listing is not complete")
	}
	f.cursor = listing.Next
	told := map[int64]bool{}
	for _, p := range listing.PullRequests {
		f.known[p.Number] = p.State
		told[p.Number] = true
	}
	for number, state := range f.known {
		if listing.Complete && state == gitprovider.Open && !told[number] {
			f.known[number] = get(t, f.provider, number).State
		}
	}
}

func tellsChanges(t *testing.T, s scene) {
	f := &follower{provider: providerOf(t, s), known: map[int64]gitprovider.State{}}
	f.look(t)
	if len(f.known) != 0 {
		t.Errorf("an empty repository has %v", f.known)
	}
	one := create(t, s, f.provider, "promotion-1", "main")
	two := create(t, s, f.provider, "promotion-2", "main")
	three := create(t, s, f.provider, "promotion-3", "main")
	want := map[int64]gitprovider.State{one.Number: gitprovider.Open, two.Number: gitprovider.Open, three.Number: gitprovider.Open}
	expectKnown := func(when string) {
		t.Helper()
		f.look(t)
		if diff := cmp.Diff(want, f.known); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	expectKnown("three open")
	expectKnown("nothing changed")
	s.merge(t, two.Number)
	want[two.Number] = gitprovider.Merged
	expectKnown("one merged")
	s.closeByHand(t, one.Number)
	four := create(t, s, f.provider, "promotion-4", "main")
	want[one.Number], want[four.Number] = gitprovider.Closed, gitprovider.Open
	expectKnown("one closed and one opened")
	expectKnown("nothing changed since")
}

func listsAllPages(t *testing.T, s scene) {
	f := &follower{provider: providerOf(t, s), known: map[int64]gitprovider.State{}}
	early := &follower{provider: f.provider, known: map[int64]gitprovider.State{}}
	first := create(t, s, f.provider, "promotion-first", "main")
	early.look(t)
	want := map[int64]gitprovider.State{first.Number: gitprovider.Open}
	for i := range s.pageSize() {
		want[create(t, s, f.provider, fmt.Sprintf("promotion-%d", i), "main").Number] = gitprovider.Open
	}
	f.look(t)
	if diff := cmp.Diff(want, f.known); diff != "" {
		t.Errorf("the first listing (-want +got):\n%s", diff)
	}
	early.look(t)
	if diff := cmp.Diff(want, early.known); diff != "" {
		t.Errorf("the listing of all that changed (-want +got):\n%s", diff)
	}
	found, err := f.provider.FindByHead(t.Context(), "promotion-first", "main")
	if err != nil || len(found) != 1 || found[0].Number != first.Number {
		t.Errorf("found %v, %v", found, err)
	}
}

// remembersWhatHasEnded is for pipelines that have lost their status: even if there are more pull requests than fit on a page.
func remembersWhatHasEnded(t *testing.T, s scene) {
	provider := providerOf(t, s)
	key := strings.Repeat("long ", 200) + "\n\nPromotion-Key: 0123\n"
	want := map[int64]gitprovider.State{}
	for i, end := range []func(*testing.T, int64){
		func(*testing.T, int64) {}, s.closeByHand, func(t *testing.T, number int64) { s.merge(t, number) },
	} {
		branch := fmt.Sprintf("promotion-%d", i)
		s.push(t, branch)
		p, err := provider.Create(t.Context(), gitprovider.NewPullRequest{Head: branch, Base: "main", Title: branch, Body: key})
		if err != nil {
			t.Fatal(err)
		}
		end(t, p.Number)
		want[p.Number] = []gitprovider.State{gitprovider.Open, gitprovider.Closed, gitprovider.Merged}[i]
	}
	for i := range s.pageSize() {
		want[create(t, s, provider, fmt.Sprintf("other-%d", i), "main").Number] = gitprovider.Open
	}
	history, err := provider.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64]gitprovider.State{}
	for _, p := range history {
		if p.BodyCut {
			p = get(t, provider, p.Number)
		}
		if got[p.Number] = p.State; strings.HasPrefix(p.Head, "promotion-") && p.Body != key {
			t.Errorf("pull request %d is read with the body %q", p.Number, p.Body)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func tellsWhatIsMissing(t *testing.T, s scene) {
	provider := providerOf(t, s)
	_, err := provider.Get(t.Context(), 4711)
	expectClass(t, "a pull request", err, gitprovider.NotFound)
	_, err = provider.Close(t.Context(), 4711)
	expectClass(t, "a pull request to close", err, gitprovider.NotFound)
	if err := provider.Comment(t.Context(), 4711, "text"); err == nil { // Gitea responds with 500, so the class does not count
		t.Error("a pull request that does not exist was commented on")
	}
	_, err = provider.Create(t.Context(), gitprovider.NewPullRequest{Head: "not-pushed", Base: "main", Title: "t"})
	if !gitprovider.ClassOf(err).Permanent() || err == nil {
		t.Errorf("a branch that does not exist: %v", err)
	}

	settings := s.settings()
	settings.URL = nowhere(settings.URL)
	missing, err := providers.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	_, err = missing.List(t.Context(), gitprovider.Cursor{})
	expectClass(t, "a repository", err, gitprovider.NotFound)
	_, err = missing.FindByHead(t.Context(), "promotion-a", "main")
	expectClass(t, "a repository to search", err, gitprovider.NotFound)

	settings = s.settings()
	settings.Credentials.Token = "canary-wrong-token"
	stranger, err := providers.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	_, err = stranger.List(t.Context(), gitprovider.Cursor{})
	expectClass(t, "a stranger", err, gitprovider.Unauthenticated)
}

// nowhere returns the URL of a missing repository beside an existing one.
func nowhere(url string) string {
	url = strings.TrimSuffix(url, ".git")
	url = strings.Replace(url, "/acme/web/", "/acme/", 1)
	url = strings.Replace(url, "~ada", "ACME", 1)
	return url[:strings.LastIndex(url, "/")] + "/nowhere"
}

func expectClass(t *testing.T, what string, err error, want gitprovider.Class) {
	t.Helper()
	if err == nil || gitprovider.ClassOf(err) != want {
		t.Errorf("%s: error %v, want class %s", what, err, want)
		return
	}
	if kind := failure.KindOf(err); (kind == failure.Terminal) != want.Permanent() {
		t.Errorf("%s: %v is %s", what, err, kind)
	}
	if reason := failure.DetailsOf(err).Reason; reason != string(want) {
		t.Errorf("%s: the reason is %s", what, reason)
	}
	if strings.Contains(err.Error(), "canary") {
		t.Errorf("%s: the error gives a secret away: %v", what, err)
	}
}
