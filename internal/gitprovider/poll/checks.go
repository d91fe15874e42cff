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
	// checksCost is how many requests asking for the checks of a pull request counts as: some providers keep them in two places.
	checksCost = 2
	// longRunning is how long checks may run without any change before they are asked for less often.
	longRunning = 30 * time.Minute
)

// checked is what is known about the checks of a pull request.
type checked struct {
	// head is the commit that they were asked for; whatever is known of another one does not count.
	head   string
	known  bool
	answer gitprovider.Checks
	// changed is when they last changed, next when to ask again, and wait how long that is after the last time.
	changed, next time.Time
	wait          time.Duration
	// again says that somebody wants them to be asked for now, also if that happens already.
	again bool
}

// CheckNow has the checks of pull requests asked for soon, for webhooks: those of the pull request or of the commit that the event names.
// One about neither that anybody follows costs nothing.
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

// checkSoon has whatever is due asked for. Calls while that goes on make it happen once more.
func (w *watch) checkSoon() {
	select {
	case w.checks <- struct{}{}:
	default:
	}
}

// runChecks asks for checks until the context ends. It is not part of looking, so that nobody waits for it who wants to know whether a pull
// request was merged, however slow the provider is or how many checks there are.
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

// askForChecks asks for some of what is due, those that have waited longest first, as long as the budget has more than looking needs.
// That it fails is no problem of the pull requests.
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

// beginChecks returns whom to ask for the checks of a pull request; nil if nobody can be asked now.
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

// dueChecks are the open pull requests whose checks are to be asked for now.
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

// noteChecks keeps an answer and says when to ask again: at the next look while something goes on, later and later if not.
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

// checksOf returns the checks of the head commit that is known; nil if they have not been asked for yet.
func (e *entry) checksOf() *gitprovider.Checks {
	pr := e.answer.PullRequest
	if !e.checks.known || e.checks.head != pr.HeadCommit || pr.State != gitprovider.Open {
		return nil
	}
	checks := e.checks.answer
	checks.FailedNames = slices.Clone(checks.FailedNames)
	return &checks
}
