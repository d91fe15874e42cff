// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"maps"
	"sync"
	"time"

	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/taskgroup"
)

// Options of a Poller. Zero values have defaults.
type Options struct {
	// Interval between two polls of a repository without errors.
	Interval time.Duration
	// MaxInterval is the maximum interval while polls fail.
	MaxInterval time.Duration
	// MinGap is the minimum time between two polls, however many webhooks arrive.
	MinGap time.Duration
	// Resync is how long only changes are listed before a full listing, in case a change was missed.
	Resync time.Duration
	// Timeout of one request.
	Timeout time.Duration
	// PerSecond is the average rate of requests per credential, Burst the maximum number at once.
	PerSecond float64
	Burst     int
	// ChecksInterval is the maximum interval between two reads of the checks of a pull request while they do not change.
	ChecksInterval time.Duration
	// ChecksPerLook is the maximum number of pull requests whose checks are read in a row.
	ChecksPerLook int
}

func (o Options) withDefaults() Options {
	set(&o.Interval, 30*time.Second)
	set(&o.MaxInterval, 15*time.Minute)
	set(&o.MinGap, min(time.Second, o.Interval))
	set(&o.Resync, time.Hour)
	set(&o.Timeout, time.Minute)
	set(&o.PerSecond, max(1, 3/o.Interval.Seconds())) // a shorter interval needs more requests
	set(&o.Burst, 20)
	set(&o.ChecksInterval, 5*time.Minute)
	set(&o.ChecksPerLook, 10)
	return o
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Source is a repository as seen with one credential: different credentials may see different content.
type Source struct {
	Repository gitprovider.Repository
	// Credential names the origin of the credential, for example "namespace/secret". It is not the credential itself.
	Credential string
}

// isAt reports whether the source is a repository. An empty host matches all.
func (s Source) isAt(repository gitprovider.Repository) bool {
	return s.Repository.Path == repository.Path && (repository.Host == "" || s.Repository.Host == repository.Host)
}

// Subscription is a subscriber's interest in one pull request.
type Subscription struct {
	Source
	Number int64
	// Open connects to the repository. It is called before the first poll, after errors, and from time to time, so that it can use current
	// credentials. If a source has several subscriptions, the newest one's applies.
	Open func(context.Context) (gitprovider.Provider, error)
	// Wake is called after any change of the known state of the pull request. It must neither block nor call the Poller.
	Wake func()
}

// Answer is the known state of a pull request.
type Answer struct {
	// Known reports whether it has been seen. Otherwise PullRequest is empty.
	Known       bool
	PullRequest gitprovider.PullRequest
	// Missing reports that the provider has no pull request with this number.
	Missing bool
	// Seen is when the answer was last confirmed. It advances with each successful poll.
	Seen time.Time
	// Problem is why the last poll failed; nil if it succeeded.
	Problem error
	// Checks of the head commit of an open pull request; nil if they have not been read yet. They do not affect Seen and Problem.
	Checks *gitprovider.Checks
}

// Poller polls providers. Its methods are safe for concurrent use and do not wait for requests.
type Poller struct {
	options Options
	tasks   *taskgroup.Group

	mutex   sync.Mutex
	watches map[Source]*watch
	budgets map[string]*budget
	serial  int
}

// New returns a Poller, which does nothing until the first subscription.
func New(options Options) *Poller {
	return &Poller{options: options.withDefaults(), tasks: taskgroup.New(), watches: map[Source]*watch{}, budgets: map[string]*budget{}}
}

// Close stops all polling and waits for it to end. Later subscriptions have no effect.
func (p *Poller) Close() { p.tasks.End() }

// Subscribe starts to follow a pull request, with an immediate poll. The returned function stops it, and may be called more than once.
func (p *Poller) Subscribe(s Subscription) (cancel func()) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	w := p.watches[s.Source]
	if w == nil {
		w = p.start(s.Source)
	}
	p.serial++
	id := p.serial
	w.subscriptions[id] = s
	w.open = s.Open
	if w.entries[s.Number] == nil {
		w.entries[s.Number] = &entry{}
		w.nudge()
	}
	return func() { p.unsubscribe(w, id) }
}

// start starts to poll a source. The caller holds the lock.
func (p *Poller) start(source Source) *watch {
	ctx, cancel := context.WithCancel(p.tasks.Context())
	maps.DeleteFunc(p.budgets, func(_ string, b *budget) bool { return b.users == 0 && b.full() })
	b := p.budgets[source.Credential]
	if b == nil {
		b = newBudget(p.options)
		p.budgets[source.Credential] = b
	}
	b.users++
	w := &watch{
		poller: p, source: source, budget: b, cancel: cancel, nudges: make(chan struct{}, 1), checks: make(chan struct{}, 1),
		subscriptions: map[int]Subscription{}, entries: map[int64]*entry{},
	}
	p.watches[source] = w
	p.tasks.Go(func() { w.run(ctx) })
	p.tasks.Go(func() { w.runChecks(ctx) })
	return w
}

func (p *Poller) unsubscribe(w *watch, id int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	gone, ok := w.subscriptions[id]
	if !ok {
		return
	}
	delete(w.subscriptions, id)
	if !w.wanted(gone.Number) {
		delete(w.entries, gone.Number)
	}
	if len(w.subscriptions) > 0 {
		return
	}
	w.cancel()
	delete(p.watches, w.source)
	w.budget.users-- // what was spent stays spent: the budget itself is dropped when it is full again
}

// PollNow polls a repository soon, for webhooks. An empty host matches all.
func (p *Poller) PollNow(repository gitprovider.Repository) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for source, w := range p.watches {
		if source.isAt(repository) {
			w.nudge()
		}
	}
}

// State returns the known state of a pull request with a subscription.
func (p *Poller) State(source Source, number int64) Answer {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	w := p.watches[source]
	if w == nil || w.entries[number] == nil {
		return Answer{}
	}
	answer := w.entries[number].answer
	answer.Problem, answer.Checks = w.problem, w.entries[number].checksOf()
	if (answer.Known || answer.Missing) && !w.entries[number].dirty && w.looked.After(answer.Seen) {
		answer.Seen = w.looked
	}
	return answer
}
