// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package poll_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/poll"
)

// provider keeps pull requests and lists them like providers: everything open for the zero cursor, and only changes for later ones.
type provider struct {
	gitprovider.Provider // nothing but the methods below is called
	repository           gitprovider.Repository
	// total reports that the provider cannot list changes only.
	total bool

	mutex   sync.Mutex
	all     map[int64]gitprovider.PullRequest
	changed map[int64]int
	edition int
	calls   []string
	err     error
}

func newProvider(name string) *provider {
	return &provider{
		repository: gitprovider.NewRepository("git.example.com", name),
		all:        map[int64]gitprovider.PullRequest{},
		changed:    map[int64]int{},
	}
}

func (f *provider) set(number int64, state gitprovider.State) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.edition++
	f.changed[number] = f.edition
	f.all[number] = gitprovider.PullRequest{Number: number, State: state, Head: fmt.Sprint("branch", number), Base: "main"}
}

func (f *provider) fail(err error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.err = err
}

// requests returns and resets the recorded requests.
func (f *provider) requests() string {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	calls := f.calls
	f.calls = nil
	return strings.Join(calls, " ")
}

func (f *provider) List(_ context.Context, since gitprovider.Cursor) (gitprovider.Listing, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.calls = append(f.calls, "list"+since.Tag)
	if f.err != nil {
		return gitprovider.Listing{}, f.err
	}
	seen := 0
	_, _ = fmt.Sscan(since.Tag, &seen)
	listing := gitprovider.Listing{Complete: since.Tag == "" || f.total, Next: gitprovider.Cursor{Tag: fmt.Sprint(f.edition)}}
	for number, pr := range f.all {
		if listing.Complete && pr.State == gitprovider.Open || !listing.Complete && f.changed[number] > seen {
			listing.PullRequests = append(listing.PullRequests, pr)
		}
	}
	return listing, nil
}

func (f *provider) Get(_ context.Context, number int64) (gitprovider.PullRequest, error) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.calls = append(f.calls, fmt.Sprint("get", number))
	if f.err != nil {
		return gitprovider.PullRequest{}, f.err
	}
	pr, ok := f.all[number]
	if !ok {
		return pr, (&gitprovider.Error{Class: gitprovider.NotFound, Message: "there is none"}).Classified()
	}
	if pr.State != gitprovider.Open {
		pr.ClosedBy = "ann"
	}
	return pr, nil
}

// follower counts its wake-ups.
type follower struct {
	source poll.Source
	number int64
	poller *poll.Poller
	mutex  sync.Mutex
	woken  int
	cancel func()
}

func follow(p *poll.Poller, f *provider, credential string, number int64) *follower {
	return followWith(p, f, f, credential, number)
}

// followWith follows a pull request, with the provider opened as another type.
func followWith(p *poll.Poller, f *provider, opened gitprovider.Provider, credential string, number int64) *follower {
	follower := &follower{source: poll.Source{Repository: f.repository, Credential: credential}, number: number, poller: p}
	follower.cancel = p.Subscribe(poll.Subscription{
		Source: follower.source, Number: number,
		Open: func(context.Context) (gitprovider.Provider, error) { return opened, nil },
		Wake: func() {
			follower.mutex.Lock()
			defer follower.mutex.Unlock()
			follower.woken++
		},
	})
	return follower
}

func (f *follower) state() poll.Answer { return f.poller.State(f.source, f.number) }

func (f *follower) wakes() int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	woken := f.woken
	f.woken = 0
	return woken
}

// pass advances virtual time.
func pass(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
	synctest.Wait()
}

// inBubble runs a test in virtual time. A leaked goroutine makes it fail.
func inBubble(t *testing.T, options poll.Options, test func(*testing.T, *poll.Poller)) {
	synctest.Test(t, func(t *testing.T) {
		p := poll.New(options)
		defer p.Close()
		test(t, p)
	})
}

func TestPIP22_OneListingServesAllWhoFollow(t *testing.T) {
	inBubble(t, poll.Options{}, func(t *testing.T, p *poll.Poller) {
		f := newProvider("team/config")
		for number := range int64(50) {
			f.set(number, gitprovider.Open)
		}
		var all []*follower
		for number := range int64(50) {
			all = append(all, follow(p, f, "ns/secret", number), follow(p, f, "ns/secret", number))
		}
		pass(5 * time.Second) // the first poll happens before all have subscribed
		if got := f.requests(); len(strings.Fields(got)) > 5 {
			t.Errorf("the beginning cost %q", got)
		}
		for _, one := range all {
			if got := one.state(); !got.Known || got.PullRequest.State != gitprovider.Open || one.wakes() > 1 {
				t.Fatalf("%d: %+v", one.number, got)
			}
		}
		f.set(7, gitprovider.Merged)
		pass(time.Minute)
		if got := f.requests(); got != "list50 get7 list51" && got != "list50 get7" {
			t.Errorf("a minute cost %q", got)
		}
		for _, one := range all {
			woken := one.wakes()
			switch got := one.state(); {
			case one.number != 7 && (woken != 0 || got.PullRequest.State != gitprovider.Open):
				t.Errorf("%d was woken %d times, %+v", one.number, woken, got)
			case one.number == 7 && (woken != 1 || got.PullRequest.State != gitprovider.Merged || got.PullRequest.ClosedBy != "ann"):
				t.Errorf("7 was woken %d times, %+v", woken, got)
			}
		}
	})
}

func TestPIP22_AskingBeginsWithTheFirstAndEndsWithTheLast(t *testing.T) {
	inBubble(t, poll.Options{}, func(t *testing.T, p *poll.Poller) {
		f := newProvider("r")
		f.set(1, gitprovider.Open)
		pass(time.Hour)
		if got := f.requests(); got != "" {
			t.Errorf("nobody asked for %q", got)
		}
		first, second := follow(p, f, "c", 1), follow(p, f, "c", 1)
		pass(time.Minute)
		first.cancel()
		first.cancel()
		f.requests()
		pass(time.Minute)
		if f.requests() == "" {
			t.Error("it ended although somebody still follows")
		}
		second.cancel()
		synctest.Wait()
		f.requests()
		pass(time.Hour)
		if got := f.requests(); got != "" {
			t.Errorf("after the last: %q", got)
		}
		if got := first.state(); got.Known {
			t.Errorf("something is still known: %+v", got)
		}
		again := follow(p, f, "c", 1)
		synctest.Wait()
		if got := again.state(); !got.Known {
			t.Errorf("again: %+v", got)
		}
	})
}

func TestPIP22_WebhooksMakeItLookAtOnceAndNotTooOften(t *testing.T) {
	inBubble(t, poll.Options{Interval: time.Hour, MinGap: 5 * time.Second}, func(t *testing.T, p *poll.Poller) {
		f, other := newProvider("r"), newProvider("other")
		f.set(1, gitprovider.Open)
		one := follow(p, f, "c", 1)
		follow(p, other, "c", 1)
		pass(10 * time.Second)
		f.requests()
		other.requests()
		f.set(1, gitprovider.Closed)
		p.PollNow(gitprovider.NewRepository("", "r"))
		synctest.Wait()
		if got := one.state(); got.PullRequest.State != gitprovider.Closed {
			t.Errorf("%+v", got)
		}
		for range 100 {
			p.PollNow(f.repository)
			pass(100 * time.Millisecond)
		}
		if got := strings.Count(f.requests(), "list"); got != 3 {
			t.Errorf("a flood of webhooks for ten seconds made it look %d times", got)
		}
		if got := other.requests(); got != "" {
			t.Errorf("another repository was asked %q", got)
		}
		f.set(1, gitprovider.Open) // reopened
		pass(10 * time.Second)
		p.PollNow(f.repository)
		synctest.Wait()
		if got := one.state(); got.PullRequest.State != gitprovider.Open {
			t.Errorf("%+v", got)
		}
	})
}

func TestPIP22_WhatEndedBeforeAnybodyLookedIsFound(t *testing.T) {
	for _, total := range []bool{false, true} {
		inBubble(t, poll.Options{}, func(t *testing.T, p *poll.Poller) {
			f := newProvider("r")
			f.total = total
			f.set(1, gitprovider.Merged)
			f.set(2, gitprovider.Open)
			merged, missing, open := follow(p, f, "c", 1), follow(p, f, "c", 3), follow(p, f, "c", 2)
			pass(2 * time.Second)
			if got := merged.state(); got.PullRequest.State != gitprovider.Merged || got.Seen.IsZero() {
				t.Errorf("%+v", got)
			}
			if got := missing.state(); !got.Missing || got.Known || got.Seen.IsZero() {
				t.Errorf("%+v", got)
			}
			f.set(2, gitprovider.Closed)
			pass(time.Minute)
			if got := open.state(); got.PullRequest.State != gitprovider.Closed || got.PullRequest.ClosedBy != "ann" {
				t.Errorf("%+v", got)
			}
			late := follow(p, f, "c", 2)
			if got := late.state(); got.PullRequest.State != gitprovider.Closed {
				t.Errorf("what is known is not told: %+v", got)
			}
			f.set(4, gitprovider.Open)
			pass(time.Minute) // the listing with 4 comes before anybody subscribes to it
			if late = follow(p, f, "c", 4); late.state().Known {
				t.Error("known before it was asked for")
			}
			pass(2 * time.Second)
			if got := late.state(); got.PullRequest.State != gitprovider.Open {
				t.Errorf("%+v", got)
			}
			f.requests()
			pass(10 * time.Minute)
			if got := f.requests(); strings.Contains(got, "get") {
				t.Errorf("nothing changed, but it asked %q", got)
			}
		})
	}
}

func TestPIP22_TroubleMakesItSlowerAndKeepsWhatIsKnown(t *testing.T) {
	inBubble(t, poll.Options{}, func(t *testing.T, p *poll.Poller) {
		f := newProvider("r")
		f.set(1, gitprovider.Open)
		one := follow(p, f, "c", 1)
		pass(time.Minute)
		seen := one.state().Seen
		one.wakes()
		f.fail((&gitprovider.Error{Class: gitprovider.Unavailable, Message: "down"}).Classified())
		f.requests()
		pass(2 * time.Hour)
		got := one.state()
		if asked := strings.Count(f.requests(), "list"); asked < 9 || asked > 16 {
			t.Errorf("a provider that is down was asked %d times in two hours", asked)
		}
		if !got.Known || got.PullRequest.State != gitprovider.Open || got.Seen.Sub(seen) > time.Minute {
			t.Errorf("what was known is lost: %+v", got)
		}
		if woken := one.wakes(); got.Problem == nil || woken != 1 {
			t.Errorf("the problem is %v, told %d times", got.Problem, woken)
		}
		f.fail(nil)
		f.set(1, gitprovider.Merged)
		pass(20 * time.Minute)
		if got := one.state(); got.Problem != nil || got.PullRequest.State != gitprovider.Merged || time.Since(got.Seen) > 2*time.Minute {
			t.Errorf("%+v", got)
		}
		f.requests()
		pass(10 * time.Minute)
		if asked := strings.Count(f.requests(), "list"); asked < 15 {
			t.Errorf("after the error it asked %d times in ten minutes", asked)
		}
	})
}

func TestPIP22_ARateLimitHoldsForAllWithTheSameCredential(t *testing.T) {
	inBubble(t, poll.Options{}, func(t *testing.T, p *poll.Poller) {
		limited, neighbour, stranger := newProvider("a"), newProvider("b"), newProvider("c")
		followers := []*follower{follow(p, limited, "one", 1), follow(p, neighbour, "one", 1), follow(p, stranger, "two", 1)}
		pass(time.Minute)
		limited.fail((&gitprovider.Error{Class: gitprovider.RateLimited, RetryAfter: time.Hour}).Classified())
		pass(2 * time.Minute)
		for _, f := range []*provider{limited, neighbour, stranger} {
			f.requests()
		}
		followers[0].cancel() // the block outlives the source that caused it
		pass(30 * time.Minute)
		if got := limited.requests() + neighbour.requests(); got != "" {
			t.Errorf("in spite of the limit: %q", got)
		}
		if stranger.requests() == "" {
			t.Error("another credential was held back too")
		}
		limited.fail(nil)
		again := follow(p, limited, "one", 1)
		pass(time.Minute)
		if got := limited.requests(); got != "" {
			t.Errorf("in spite of the limit: %q", got)
		}
		pass(time.Hour)
		if limited.requests() == "" || neighbour.requests() == "" || !again.state().Missing {
			t.Errorf("it did not go on: %+v", again.state())
		}
	})
}

func TestPIP22_ARateLimitOutlivesTheLastSubscription(t *testing.T) {
	inBubble(t, poll.Options{}, func(t *testing.T, p *poll.Poller) {
		f := newProvider("r")
		f.fail((&gitprovider.Error{Class: gitprovider.RateLimited, RetryAfter: time.Hour}).Classified())
		one := follow(p, f, "c", 1)
		synctest.Wait()
		one.cancel()
		f.requests()
		f.fail(nil)
		follow(p, f, "c", 1)
		pass(50 * time.Minute)
		if got := f.requests(); got != "" {
			t.Errorf("in spite of the limit: %q", got)
		}
		pass(15 * time.Minute)
		if f.requests() == "" {
			t.Error("it did not go on")
		}
	})
}

func TestPIP22_EachCredentialHasABudget(t *testing.T) {
	inBubble(t, poll.Options{PerSecond: 0.5, Burst: 5}, func(t *testing.T, p *poll.Poller) {
		f := newProvider("r")
		for number := range int64(100) {
			f.set(number, gitprovider.Merged) // each needs a separate request
			follow(p, f, "c", number)
		}
		for minute := range 5 {
			pass(time.Minute)
			if got := len(strings.Fields(f.requests())); got > 36 || minute < 3 && got < 29 {
				t.Errorf("minute %d: %d requests", minute, got)
			}
		}
	})
}

func TestPIP22_CredentialsAreReadAgainAfterTroubleAndFromTimeToTime(t *testing.T) {
	inBubble(t, poll.Options{}, func(t *testing.T, p *poll.Poller) {
		f := newProvider("r")
		f.set(1, gitprovider.Open)
		opened := atomic.Int64{}
		missing := atomic.Bool{}
		cancel := p.Subscribe(poll.Subscription{
			Source: poll.Source{Repository: f.repository}, Number: 1, Wake: func() {},
			Open: func(context.Context) (gitprovider.Provider, error) {
				opened.Add(1)
				if missing.Load() {
					return nil, errors.New("no such Secret")
				}
				return f, nil
			},
		})
		defer cancel()
		pass(10 * time.Minute)
		if opened.Load() != 1 {
			t.Errorf("opened %d times", opened.Load())
		}
		f.fail(errors.New("401"))
		pass(time.Minute)
		f.fail(nil)
		missing.Store(true)
		pass(10 * time.Minute)
		if got := p.State(poll.Source{Repository: f.repository}, 1); got.Problem == nil || !got.Known {
			t.Errorf("%+v", got)
		}
		missing.Store(false)
		pass(30 * time.Minute)
		before := opened.Load()
		f.requests()
		pass(3 * time.Hour)
		if got := opened.Load() - before; got != 3 {
			t.Errorf("opened %d times in three hours", got)
		}
		if got := strings.Fields(f.requests()); len(slices.DeleteFunc(got, func(s string) bool { return s != "list" })) != 3 {
			t.Error("it does not begin anew from time to time")
		}
	})
}

func TestPIP22_ClosingEndsEverything(t *testing.T) {
	inBubble(t, poll.Options{}, func(t *testing.T, p *poll.Poller) {
		f := newProvider("r")
		for i := range 10 {
			follow(p, f, fmt.Sprint(i), 1)
		}
		pass(time.Minute)
		p.Close()
		f.requests()
		late := follow(p, f, "late", 1)
		pass(time.Hour)
		if got := f.requests(); got != "" {
			t.Errorf("after the end: %q", got)
		}
		late.cancel()
	})
}
