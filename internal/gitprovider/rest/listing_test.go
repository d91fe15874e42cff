// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/gitprovider"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// at returns a pull request that changed a number of minutes after the start.
func at(number int64, minutes int) gitprovider.PullRequest {
	return gitprovider.PullRequest{
		Number:      number,
		State:       gitprovider.Open,
		Base:        "main",
		UpdatedTime: start.Add(time.Duration(minutes) * time.Minute),
	}
}

// feedOf serves pages, and records the requested ones.
func feedOf(asked *[]int, recent, open []Page) Feed {
	serve := func(pages []Page, number int) (Page, error) {
		*asked = append(*asked, number)
		if number > len(pages) {
			return Page{}, errors.New("there is no such page")
		}
		page := pages[number-1]
		page.More = number < len(pages)
		return page, nil
	}
	return Feed{
		Client: &Client{},
		Recent: func(_ context.Context, number int, since gitprovider.Cursor) (Page, error) {
			page, err := serve(recent, number)
			if number == 1 && since.Tag != "" && since.Tag == page.Tag {
				page = Page{Unchanged: true}
			}
			return page, err
		},
		Open: func(_ context.Context, number int) (Page, error) { return serve(open, number) },
	}
}

func TestListingsGoBackNoFurtherThanNeeded(t *testing.T) {
	recent := []Page{
		{Tag: "t", PullRequests: []gitprovider.PullRequest{at(5, 50), at(4, 40)}},
		{PullRequests: []gitprovider.PullRequest{at(3, 30), at(2, 20)}},
		{PullRequests: []gitprovider.PullRequest{at(1, 10)}},
	}
	for name, c := range map[string]struct {
		since gitprovider.Cursor
		told  []int64
		pages []int
	}{
		"the last change is known":     {gitprovider.Cursor{Since: start.Add(50 * time.Minute)}, []int64{5}, []int{1}},
		"one change":                   {gitprovider.Cursor{Since: start.Add(45 * time.Minute)}, []int64{5}, []int{1}},
		"changes of the same moment":   {gitprovider.Cursor{Since: start.Add(40*time.Minute + time.Second)}, []int64{5, 4}, []int{1, 2}},
		"changes on two pages":         {gitprovider.Cursor{Since: start.Add(25 * time.Minute)}, []int64{5, 4, 3}, []int{1, 2}},
		"everything changed":           {gitprovider.Cursor{Since: start}, []int64{5, 4, 3, 2, 1}, []int{1, 2, 3}},
		"the tag says that it did not": {gitprovider.Cursor{Since: start, Tag: "t"}, nil, []int{1}},
	} {
		t.Run(name, func(t *testing.T) {
			var pages []int
			listing, err := feedOf(&pages, recent, nil).List(t.Context(), c.since)
			if err != nil || listing.Complete {
				t.Fatalf("listing %+v, %v", listing, err)
			}
			var told []int64
			for _, p := range listing.PullRequests {
				told = append(told, p.Number)
			}
			if diff := cmp.Diff(c.told, told); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.pages, pages); diff != "" {
				t.Errorf("pages (-want +got):\n%s", diff)
			}
			if c.since.Tag == "" && !listing.Next.Since.Equal(start.Add(50*time.Minute)) || listing.Next.Since.IsZero() {
				t.Errorf("the next cursor is %+v", listing.Next)
			}
		})
	}
}

func TestAClockThatGoesBackDoesNotMoveTheCursorBack(t *testing.T) {
	var pages []int
	since := gitprovider.Cursor{Since: start.Add(time.Hour)}
	listing, err := feedOf(&pages, []Page{{PullRequests: []gitprovider.PullRequest{at(1, 10)}}}, nil).List(t.Context(), since)
	if err != nil || !listing.Next.Since.Equal(since.Since) {
		t.Errorf("listing %+v, %v", listing, err)
	}
}

func TestAPageThatFailsFailsTheListing(t *testing.T) {
	var pages []int
	feed := feedOf(&pages, []Page{{PullRequests: []gitprovider.PullRequest{at(2, 50)}}}, nil)
	recent := feed.Recent
	feed.Recent = func(ctx context.Context, number int, since gitprovider.Cursor) (Page, error) {
		page, err := recent(ctx, number, since)
		page.More = true
		return page, err
	}
	for name, since := range map[string]gitprovider.Cursor{"changes": {Since: start}, "all": {}} {
		if listing, err := feed.List(t.Context(), since); err == nil || len(listing.PullRequests) > 0 {
			t.Errorf("%s: listing %+v, %v", name, listing, err)
		}
	}
}

func TestAListingWithoutEndIsGivenUp(t *testing.T) {
	asked := 0
	_, err := (&Client{}).All("read it", func(int) (Page, error) {
		asked++
		return Page{More: true}, nil
	})
	if gitprovider.ClassOf(err) != gitprovider.Malformed || asked != maxPages {
		t.Errorf("%d pages, %v", asked, err)
	}
}

func TestNextPages(t *testing.T) {
	for name, c := range map[string]struct {
		header http.Header
		want   bool
	}{
		"none":           {http.Header{}, false},
		"a link":         {http.Header{"Link": {`<https://x/?page=2>; rel="next", <https://x/?page=9>; rel="last"`}}, true},
		"the last page":  {http.Header{"Link": {`<https://x/?page=1>; rel="prev", <https://x/?page=1>; rel="first"`}}, false},
		"several links":  {http.Header{"Link": {`<https://x/>; rel="first"`, `<https://x/>; rel="next"`}}, true},
		"a number":       {http.Header{"X-Next-Page": {"2"}}, true},
		"an empty field": {http.Header{"X-Next-Page": {""}}, false},
	} {
		if got := HasNext(c.header); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPullRequestsThatMakeNoSenseAreRejected(t *testing.T) {
	sound := gitprovider.PullRequest{Number: 1, State: gitprovider.Open, Base: "main", URL: "https://git.example.com/1"}
	for name, change := range map[string]func(*gitprovider.PullRequest){
		"no number":      func(p *gitprovider.PullRequest) { p.Number = 0 },
		"a negative one": func(p *gitprovider.PullRequest) { p.Number = -1 },
		"no state":       func(p *gitprovider.PullRequest) { p.State = "" },
		"no base":        func(p *gitprovider.PullRequest) { p.Base = "" },
		"another state":  func(p *gitprovider.PullRequest) { p.State = "Draft" },
		"nothing at all": func(p *gitprovider.PullRequest) { *p = gitprovider.PullRequest{} },
	} {
		p := sound
		change(&p)
		if _, err := (&Client{}).Checked("read it", p); gitprovider.ClassOf(err) != gitprovider.Malformed {
			t.Errorf("%s: error %v", name, err)
		}
	}
	odd := sound
	odd.URL, odd.MergeCommit, odd.ClosedBy, odd.ClosedTime = "javascript:alert(1)", "attempt", "somebody", start
	got, err := (&Client{}).Checked("read it", odd)
	want := sound
	want.URL = ""
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A history is limited to some hundred pull requests, but always contains all open ones.
func TestAHistoryHasAllThatIsOpenHoweverOldItIs(t *testing.T) {
	const last = 3 * gitprovider.HistoryLength
	pages := func(number int, all []gitprovider.PullRequest) (Page, error) {
		const size = 100
		from := min((number-1)*size, len(all))
		to := min(from+size, len(all))
		return Page{PullRequests: all[from:to], More: to < len(all)}, nil
	}
	var all, open []gitprovider.PullRequest
	for number := int64(last); number > 0; number-- {
		p := at(number, 0)
		if p.State = gitprovider.Closed; number%7 == 0 {
			p.State = gitprovider.Open
			open = append(open, p)
		}
		all = append(all, p)
	}
	asked := 0
	history, err := (&Client{}).History("remember",
		func(number int) (Page, error) { asked++; return pages(number, all) },
		func(number int) (Page, error) { return pages(number, open) })
	if err != nil || asked != gitprovider.HistoryLength/100 {
		t.Fatalf("%d pages, %v", asked, err)
	}
	seen := map[int64]int{}
	for _, p := range history {
		seen[p.Number]++
	}
	for _, p := range all {
		want := 0
		if p.State == gitprovider.Open || p.Number > last-gitprovider.HistoryLength {
			want = 1
		}
		if seen[p.Number] != want {
			t.Fatalf("pull request %d, which is %s, is there %d times, want %d", p.Number, p.State, seen[p.Number], want)
		}
	}
}
