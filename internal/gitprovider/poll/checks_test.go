// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package poll_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/poll"
)

// checking is a provider whose pull requests have checks.
type checking struct {
	*provider
	checks map[int64]gitprovider.Checks
	// refuses is the error of reading them; hangs makes reads never return.
	refuses error
	hangs   bool
}

func newChecking(name string) *checking {
	return &checking{provider: newProvider(name), checks: map[int64]gitprovider.Checks{}}
}

// commit sets the head commit of an open pull request.
func (f *checking) commit(number int64, commit string) {
	f.set(number, gitprovider.Open)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	pr := f.all[number]
	pr.HeadCommit = commit
	f.all[number] = pr
	f.checks[number] = gitprovider.Checks{}
}

// say sets the checks of a pull request.
func (f *checking) say(number int64, running, passed, failed int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var all []gitprovider.Check
	for state, count := range map[gitprovider.ChecksState]int{
		gitprovider.ChecksRunning: running, gitprovider.ChecksPassed: passed, gitprovider.ChecksFailed: failed,
	} {
		for i := range count {
			all = append(all, gitprovider.Check{Name: fmt.Sprint(state, i), State: state})
		}
	}
	f.checks[number] = gitprovider.Tally("", all)
}

func (f *checking) refuse(err error, hang bool) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.refuses, f.hangs = err, hang
}

func (f *checking) Checks(ctx context.Context, of gitprovider.PullRequest) (gitprovider.Checks, error) {
	f.mutex.Lock()
	f.calls = append(f.calls, fmt.Sprint("checks", of.Number))
	checks, refuses, hangs := f.checks[of.Number], f.refuses, f.hangs
	f.mutex.Unlock()
	if hangs {
		<-ctx.Done()
		return gitprovider.Checks{}, ctx.Err()
	}
	if checks.Commit = of.HeadCommit; refuses != nil {
		return gitprovider.Checks{}, refuses
	}
	return checks, nil
}

// asked returns and resets the number of requests for checks.
func (f *checking) asked() int { return strings.Count(f.requests(), "checks") }

func (f *checking) follow(p *poll.Poller, number int64) *follower {
	return followWith(p, f.provider, f, "c", number)
}

// said returns the known checks; with an otherwise unused state if they were never read.
func (f *follower) said() gitprovider.Checks {
	if checks := f.state().Checks; checks != nil {
		return *checks
	}
	return gitprovider.Checks{State: "never asked for"}
}

func TestPIP22_ChecksAreAskedForWhileTheyRunAndSeldomAfterwards(t *testing.T) {
	inBubble(t, poll.Options{}, func(t *testing.T, p *poll.Poller) {
		f := newChecking("r")
		f.commit(1, "abc")
		f.say(1, 2, 0, 0)
		one := f.follow(p, 1)
		pass(10 * time.Second)
		if got := one.said(); got.State != gitprovider.ChecksRunning || got.Commit != "abc" {
			t.Errorf("at first %+v", got)
		}
		f.asked()
		one.wakes()
		pass(10 * time.Minute)
		if asked := f.asked(); asked < 15 || asked > 21 {
			t.Errorf("while they run they are asked for %d times in ten minutes", asked)
		}
		if woken := one.wakes(); woken != 0 {
			t.Errorf("nothing has changed, but it was woken %d times", woken)
		}
		f.say(1, 0, 1, 1)
		pass(time.Minute)
		if got := one.said(); got.State != gitprovider.ChecksFailed || one.wakes() != 1 {
			t.Errorf("after the end %+v", got)
		}
		pass(30 * time.Minute)
		f.asked()
		pass(time.Hour)
		if asked := f.asked(); asked < 8 || asked > 13 {
			t.Errorf("after the end they are asked for %d times in an hour", asked)
		}
		f.say(1, 0, 2, 0)
		pass(6 * time.Minute)
		if got := one.said(); got.State != gitprovider.ChecksPassed || one.wakes() != 1 {
			t.Errorf("somebody tried again: %+v", got)
		}
	})
}

// Checks that hang must not cost a request at each poll forever.
func TestPIP22_ChecksThatNeverEndAreAskedForLessOften(t *testing.T) {
	inBubble(t, poll.Options{}, func(t *testing.T, p *poll.Poller) {
		f := newChecking("r")
		f.commit(1, "abc")
		f.say(1, 1, 0, 0)
		f.follow(p, 1)
		pass(2 * time.Hour)
		f.asked()
		pass(time.Hour)
		if asked := f.asked(); asked > 13 {
			t.Errorf("they are asked for %d times in an hour", asked)
		}
	})
}

func TestPIP22_AnotherCommitHasOtherChecks(t *testing.T) {
	inBubble(t, poll.Options{}, func(t *testing.T, p *poll.Poller) {
		f := newChecking("r")
		f.commit(1, "abc")
		f.say(1, 0, 0, 1)
		one := f.follow(p, 1)
		pass(time.Hour)
		f.commit(1, "def")
		pass(time.Minute)
		if got := one.said(); got.State != "" || got.Commit != "def" {
			t.Errorf("%+v", got)
		}
		f.say(1, 1, 0, 0)
		pass(2 * time.Minute)
		if got := one.said(); got.State != gitprovider.ChecksRunning {
			t.Errorf("%+v", got)
		}
		f.set(1, gitprovider.Merged)
		pass(time.Minute)
		if got := one.state(); got.Checks != nil || got.PullRequest.State != gitprovider.Merged {
			t.Errorf("of a merged one: %+v", got)
		}
		f.asked()
		pass(time.Hour)
		if asked := f.asked(); asked != 0 {
			t.Errorf("those of a merged one are asked for %d times", asked)
		}
	})
}

func TestPIP22_MergingIsSeenAlthoughChecksCannotBeRead(t *testing.T) {
	down := (&gitprovider.Error{Class: gitprovider.Unavailable, Message: "down"}).Classified()
	for name, c := range map[string]struct {
		err   error
		hangs bool
	}{"refused": {err: down}, "hanging": {hangs: true}, "foreign error": {err: errors.New("odd")}} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, poll.Options{}, func(t *testing.T, p *poll.Poller) {
				f := newChecking("r")
				f.refuse(c.err, c.hangs)
				f.commit(1, "abc")
				f.commit(2, "def")
				one := f.follow(p, 1)
				f.follow(p, 2)
				pass(10 * time.Second)
				if got := one.state(); got.Checks != nil || got.Problem != nil || !got.Known {
					t.Errorf("%+v", got)
				}
				f.set(1, gitprovider.Merged)
				p.PollNow(f.repository)
				synctest.Wait()
				if got := one.state(); got.PullRequest.State != gitprovider.Merged || got.Problem != nil {
					t.Errorf("%+v", got)
				}
				pass(10 * time.Minute)
				f.asked()
				pass(time.Hour)
				if asked := f.asked(); asked == 0 || asked > 25 {
					t.Errorf("what fails is asked for %d times in an hour", asked)
				}
			})
		})
	}
}

func TestPIP22_WebhooksAboutChecksCostNothingUnlessSomebodyWantsThem(t *testing.T) {
	inBubble(t, poll.Options{Interval: time.Hour}, func(t *testing.T, p *poll.Poller) {
		f := newChecking("r")
		f.commit(1, "abc")
		f.say(1, 1, 0, 0)
		one := f.follow(p, 1)
		pass(time.Minute)
		f.requests()
		f.say(1, 0, 1, 0)
		p.CheckNow(gitprovider.Event{Repository: f.repository, Commit: "other"})
		p.CheckNow(gitprovider.Event{Repository: gitprovider.NewRepository("", "elsewhere"), Commit: "abc"})
		pass(time.Minute)
		if got := f.requests(); got != "" {
			t.Errorf("others' checks cost %q", got)
		}
		p.CheckNow(gitprovider.Event{Repository: f.repository, Commit: "abc"})
		synctest.Wait()
		if got := one.said(); got.State != gitprovider.ChecksPassed {
			t.Errorf("%+v", got)
		}
		if got := f.requests(); got != "checks1" {
			t.Errorf("it cost %q", got)
		}
		for range 100 {
			p.CheckNow(gitprovider.Event{Repository: f.repository, Number: 1, Commit: "of a merge"})
			pass(100 * time.Millisecond)
		}
		if asked := f.asked(); asked < 5 || asked > 11 {
			t.Errorf("a flood of webhooks for ten seconds made it ask %d times", asked)
		}
	})
}

func TestPIP22_ChecksLeaveTheBudgetToWhatMatters(t *testing.T) {
	inBubble(t, poll.Options{PerSecond: 0.2, Burst: 10, ChecksPerLook: 4}, func(t *testing.T, p *poll.Poller) {
		f := newChecking("r")
		var all []*follower
		for number := range int64(30) {
			f.commit(number, fmt.Sprint("commit", number))
			f.say(number, 1, 0, 0)
			all = append(all, f.follow(p, number))
		}
		pass(time.Minute)
		f.requests()
		pass(10 * time.Minute)
		got := f.requests()
		if lists, checks := strings.Count(got, "list"), strings.Count(got, "checks"); lists < 17 || checks > 60 || checks < 30 {
			t.Errorf("%d looks, %d questions for checks", lists, checks)
		}
		pass(time.Hour)
		for _, one := range all {
			if one.state().Checks == nil {
				t.Errorf("those of %d were never asked for", one.number)
			}
		}
	})
}

func TestPIP22_ARateLimitMetByChecksIsObeyed(t *testing.T) {
	inBubble(t, poll.Options{}, func(t *testing.T, p *poll.Poller) {
		f := newChecking("r")
		f.commit(1, "abc")
		f.refuse((&gitprovider.Error{Class: gitprovider.RateLimited, RetryAfter: time.Hour}).Classified(), false)
		f.follow(p, 1)
		pass(time.Minute)
		f.requests()
		pass(50 * time.Minute)
		if got := f.requests(); got != "" {
			t.Errorf("in spite of the limit: %q", got)
		}
		pass(30 * time.Minute)
		if !strings.Contains(f.requests(), "list") {
			t.Error("it did not go on")
		}
	})
}
