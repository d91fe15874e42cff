// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"slices"
	"time"

	"espalier.dev/internal/gitprovider"
)

const (
	// checksCost is the cost of reading the checks of a pull request, in requests: some providers keep them in two places.
	checksCost = 2
	// longRunning is how long checks may run without any change before they are polled less often.
	longRunning = 30 * time.Minute
)

// checked holds the known checks of a pull request.
type checked struct {
	// head is the commit that they were read for; results for another one do not count.
	head   string
	known  bool
	answer gitprovider.Checks
	// changed is when they last changed, next when to read them again, and wait the last delay.
	changed, next time.Time
	wait          time.Duration
	// again requests another read, even during one.
	again bool
}

// CheckNow reads checks soon, for webhooks: those of the pull request or of the commit that the event names. If neither is followed, the
// event costs nothing.
func (p *Poller) CheckNow(event gitprovider.Event) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for source, w := range p.watches {
		if !source.isAt(event.Repository) {
			continue
		}
		for number, e := range w.entries {
			if number == event.Number || event.Commit != "" && event.Commit == e.answer.PullRequest.HeadCommit {
				e.checks.again = true
				w.checkSoon()
			}
		}
	}
}

// checkSoon reads all checks that are due. Calls during a read cause another one.
func (w *watch) checkSoon() {
	select {
	case w.checks <- struct{}{}:
	default:
	}
}

// runChecks reads checks until the context ends. It is separate from polling, so that a slow provider or many checks do not delay the news
// that a pull request was merged.
func (w *watch) runChecks(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.checks:
		}
		w.askForChecks(ctx)
		if pause(ctx, w.poller.options.MinGap, nil) != nil {
			return
		}
	}
}

// askForChecks reads some of the checks that are due, those that have waited longest first, while the budget exceeds what polling
// needs. A failure is not a problem of the pull requests.
func (w *watch) askForChecks(ctx context.Context) {
	for _, pr := range w.dueChecks(time.Now()) {
		provider := w.beginChecks(pr.Number)
		if provider == nil {
			return
		}
		limited, cancel := context.WithTimeout(ctx, w.poller.options.Timeout)
		checks, err := provider.Checks(limited, pr)
		cancel()
		if ctx.Err() != nil {
			return
		}
		w.noteChecks(pr, checks, err)
		if err != nil {
			w.obeyLimit(err)
			return
		}
	}
}

// beginChecks returns the provider for reading the checks of a pull request; nil if none is available now.
func (w *watch) beginChecks(number int64) gitprovider.Provider {
	w.poller.mutex.Lock()
	defer w.poller.mutex.Unlock()
	if w.opened == nil || !w.budget.spare(checksCost) {
		return nil
	}
	if e := w.entries[number]; e != nil {
		e.checks.again = false
	}
	return w.opened
}

// dueChecks returns the open pull requests whose checks are due.
func (w *watch) dueChecks(now time.Time) []gitprovider.PullRequest {
	w.poller.mutex.Lock()
	defer w.poller.mutex.Unlock()
	var due []gitprovider.PullRequest
	for _, e := range w.entries {
		pr := e.answer.PullRequest
		if pr.State != gitprovider.Open || pr.HeadCommit == "" {
			continue
		}
		if e.checks.head != pr.HeadCommit {
			e.checks = checked{head: pr.HeadCommit}
		}
		if e.checks.again || !now.Before(e.checks.next) {
			due = append(due, pr)
		}
	}
	next := func(pr gitprovider.PullRequest) time.Time { return w.entries[pr.Number].checks.next }
	slices.SortFunc(due, func(a, b gitprovider.PullRequest) int { return next(a).Compare(next(b)) })
	return due[:min(len(due), w.poller.options.ChecksPerLook)]
}

// noteChecks stores a result and schedules the next read: at the next poll while checks run and change, otherwise with backoff.
func (w *watch) noteChecks(pr gitprovider.PullRequest, checks gitprovider.Checks, err error) {
	now, options := time.Now(), w.poller.options
	w.poller.mutex.Lock()
	e := w.entries[pr.Number]
	if e == nil || e.checks.head != pr.HeadCommit {
		w.poller.mutex.Unlock()
		return
	}
	c := &e.checks
	changed := err == nil && (!c.known || !c.answer.Equal(checks))
	if changed {
		c.known, c.answer, c.changed = true, checks, now
	}
	running := c.answer.Running > 0 && now.Sub(c.changed) < longRunning
	if changed || running && err == nil {
		c.wait = 0
	} else {
		c.wait = min(max(2*c.wait, options.Interval), max(options.ChecksInterval, options.Interval))
	}
	c.next = now.Add(c.wait)
	w.poller.mutex.Unlock()
	if changed {
		w.wake([]int64{pr.Number})
	}
}

// checksOf returns the checks of the known head commit; nil if they have not been read yet.
func (e *entry) checksOf() *gitprovider.Checks {
	pr := e.answer.PullRequest
	if !e.checks.known || e.checks.head != pr.HeadCommit || pr.State != gitprovider.Open {
		return nil
	}
	checks := e.checks.answer
	checks.FailedNames = slices.Clone(checks.FailedNames)
	return &checks
}
