// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"math/rand/v2"
	"time"

	"espalier.dev/internal/gitprovider"
)

// watch polls one source. The lock of the Poller guards its fields, except for those that only its goroutine uses.
type watch struct {
	poller *Poller
	source Source
	budget *budget
	cancel context.CancelFunc
	nudges chan struct{}
	checks chan struct{}

	subscriptions map[int]Subscription
	open          func(context.Context) (gitprovider.Provider, error)
	entries       map[int64]*entry
	// looked is when the last successful poll started.
	looked  time.Time
	problem error
	// opened is the provider of the last poll; nil if that failed.
	opened gitprovider.Provider

	// Only the goroutine of the watch uses these.
	provider gitprovider.Provider
	cursor   gitprovider.Cursor
	begun    time.Time // when everything was last listed
	failures int
}

// entry is the known state of one pull request.
type entry struct {
	answer Answer
	// dirty reports that, according to a listing, there is more to read.
	dirty  bool
	checks checked
}

func (e *entry) unknown() bool { return !e.answer.Known && !e.answer.Missing }

func (w *watch) wanted(number int64) bool {
	for _, s := range w.subscriptions {
		if s.Number == number {
			return true
		}
	}
	return false
}

// nudge makes the next poll happen soon. Nudges during a poll cause one more.
func (w *watch) nudge() {
	select {
	case w.nudges <- struct{}{}:
	default:
	}
}

// run polls until the context ends.
func (w *watch) run(ctx context.Context) {
	for ctx.Err() == nil {
		select { // this poll serves nudges received before it
		case <-w.nudges:
		default:
		}
		err := w.look(ctx)
		if ctx.Err() != nil {
			return
		}
		w.finish(err)
		gap := w.poller.options.MinGap
		if pause(ctx, gap, nil) != nil {
			return
		}
		var early <-chan struct{} = w.nudges
		if err != nil {
			early = nil // polling sooner does not help a failing provider
		}
		if pause(ctx, w.rest(err)-gap, early) != nil {
			return
		}
	}
}

// rest returns how long to wait after a poll, with some jitter so that repositories are not all polled at once.
func (w *watch) rest(err error) time.Duration {
	o := w.poller.options
	wait := o.Interval
	for range min(w.failures, 30) {
		wait = min(2*wait, max(o.MaxInterval, o.Interval))
	}
	wait += time.Duration(rand.Int64N(int64(wait)/10 + 1))
	return max(wait, gitprovider.RetryAfter(err))
}

// finish records the result of a poll, and wakes all subscribers if it changed.
func (w *watch) finish(err error) {
	if err != nil {
		w.obeyLimit(err)
		w.failures++
		w.provider = nil // perhaps the credentials have changed
	} else {
		w.failures = 0
	}
	w.poller.mutex.Lock()
	changed := (err == nil) != (w.problem == nil)
	w.problem, w.opened = err, w.provider
	var wake []func()
	for _, s := range w.subscriptions {
		if changed {
			wake = append(wake, s.Wake)
		}
	}
	w.poller.mutex.Unlock()
	for _, call := range wake {
		call()
	}
	w.checkSoon()
}

// obeyLimit pauses requests for as long as the provider demands.
func (w *watch) obeyLimit(err error) {
	if gitprovider.ClassOf(err) == gitprovider.RateLimited {
		w.budget.block(max(gitprovider.RetryAfter(err), w.poller.options.Interval))
	}
}

// look polls once.
func (w *watch) look(ctx context.Context) error {
	now := time.Now()
	if now.Sub(w.begun) >= w.poller.options.Resync {
		w.cursor, w.provider = gitprovider.Cursor{}, nil
	}
	if w.unknown() >= manyUnknown {
		w.cursor = gitprovider.Cursor{}
	}
	var listing gitprovider.Listing
	err := w.request(ctx, func(ctx context.Context) (err error) {
		listing, err = w.provider.List(ctx, w.cursor)
		return err
	})
	if err != nil {
		return err
	}
	if w.cursor == (gitprovider.Cursor{}) {
		w.begun = now
	}
	w.cursor = listing.Next
	w.take(listing, now)
	for _, number := range w.dirty() {
		if err := w.ask(ctx, number); err != nil {
			return err
		}
	}
	w.poller.mutex.Lock()
	defer w.poller.mutex.Unlock()
	w.looked = now
	return nil
}

// manyUnknown is the number of pull requests with unknown state, as after a start, from which a full listing costs less than reading each.
const manyUnknown = 3

func (w *watch) unknown() int {
	w.poller.mutex.Lock()
	defer w.poller.mutex.Unlock()
	count := 0
	for _, e := range w.entries {
		if e.unknown() && !e.dirty {
			count++
		}
	}
	return count
}

// request sends one request when the budget allows it. That wait does not count towards the provider's timeout.
func (w *watch) request(ctx context.Context, send func(context.Context) error) error {
	if err := w.budget.spend(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, w.poller.options.Timeout)
	defer cancel()
	if w.provider == nil {
		w.poller.mutex.Lock()
		open := w.open
		w.poller.mutex.Unlock()
		provider, err := open(ctx)
		if err != nil {
			return err
		}
		w.provider = provider
	}
	return send(ctx)
}

// take applies a listing to the entries with subscriptions.
func (w *watch) take(listing gitprovider.Listing, now time.Time) {
	var changed []int64
	w.poller.mutex.Lock()
	listed := map[int64]bool{}
	for _, pr := range listing.PullRequests {
		listed[pr.Number] = true
		if e := w.entries[pr.Number]; e != nil && e.learn(pr, now) {
			changed = append(changed, pr.Number)
		}
	}
	for number, e := range w.entries {
		ended := listing.Complete && e.answer.PullRequest.State == gitprovider.Open
		if !listed[number] && (ended || e.unknown()) {
			e.dirty = true
		}
	}
	w.poller.mutex.Unlock()
	w.wake(changed)
}

// learn applies the entry of a listing to a pull request, and reports whether it changed.
func (e *entry) learn(pr gitprovider.PullRequest, now time.Time) bool {
	if pr.State != gitprovider.Open {
		// Not every listing shows who ended the pull request and how.
		e.dirty = e.dirty || !e.answer.Known || e.answer.PullRequest.State != pr.State
		return false
	}
	news := !e.answer.Known || !same(e.answer.PullRequest, pr)
	if news {
		e.answer, e.dirty = Answer{Known: true, PullRequest: pr, Seen: now}, false
	}
	return news
}

// same reports whether nothing relevant changed. Times of comments and the like are irrelevant.
func same(a, b gitprovider.PullRequest) bool {
	return a.State == b.State && a.HeadCommit == b.HeadCommit && a.MergeCommit == b.MergeCommit && a.Base == b.Base && a.Head == b.Head
}

// ask reads a pull request if listings do not show enough of it.
func (w *watch) ask(ctx context.Context, number int64) error {
	var pr gitprovider.PullRequest
	now := time.Now()
	err := w.request(ctx, func(ctx context.Context) (err error) {
		pr, err = w.provider.Get(ctx, number)
		return err
	})
	missing := err != nil && gitprovider.ClassOf(err) == gitprovider.NotFound
	if err != nil && !missing {
		return err
	}
	w.poller.mutex.Lock()
	e, changed := w.entries[number], false
	if e != nil {
		was := e.answer
		changed = was.Missing != missing || was.Known == missing || !same(was.PullRequest, pr)
		e.answer, e.dirty = Answer{Known: !missing, PullRequest: pr, Missing: missing, Seen: now}, false
	}
	w.poller.mutex.Unlock()
	if changed {
		w.wake([]int64{number})
	}
	return nil
}

func (w *watch) dirty() []int64 {
	w.poller.mutex.Lock()
	defer w.poller.mutex.Unlock()
	var numbers []int64
	for number, e := range w.entries {
		if e.dirty {
			numbers = append(numbers, number)
		}
	}
	return numbers
}

// wake calls the subscribers of the pull requests, without the lock.
func (w *watch) wake(numbers []int64) {
	var calls []func()
	w.poller.mutex.Lock()
	for _, s := range w.subscriptions {
		for _, number := range numbers {
			if s.Number == number {
				calls = append(calls, s.Wake)
			}
		}
	}
	w.poller.mutex.Unlock()
	for _, call := range calls {
		call()
	}
}
