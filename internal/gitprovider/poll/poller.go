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

// Options of a Poller. What is zero has a default.
type Options struct {
	// Interval between two looks at a repository in which nothing goes wrong.
	Interval time.Duration
	// MaxInterval is what it grows to when looking fails again and again.
	MaxInterval time.Duration
	// MinGap is the least time between two looks, however many webhooks arrive.
	MinGap time.Duration
	// Resync is how long changes alone are listed before everything is, in case one was missed.
	Resync time.Duration
	// Timeout of one request.
	Timeout time.Duration
	// PerSecond is how many requests per second each credential may cause on average, Burst how many at once.
	PerSecond float64
	Burst     int
	// ChecksInterval is what the time between two questions for the checks of a pull request grows to while they do not change.
	ChecksInterval time.Duration
	// ChecksPerLook is of how many pull requests they are asked for in a row.
	ChecksPerLook int
}

func (o Options) withDefaults() Options {
	set(&o.Interval, 30*time.Second)
	set(&o.MaxInterval, 15*time.Minute)
	set(&o.MinGap, min(time.Second, o.Interval))
	set(&o.Resync, time.Hour)
	set(&o.Timeout, time.Minute)
	set(&o.PerSecond, max(1, 3/o.Interval.Seconds())) // whoever wants to look more often than usual wants more requests
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

// Source is a repository as seen with one credential: what it lets see may differ from what another does.
type Source struct {
	Repository gitprovider.Repository
	// Credential names where the credential comes from, for example "namespace/secret". It is not the credential.
	Credential string
}

// isAt reports whether it is a repository. A host that is not told stands for all.
func (s Source) isAt(repository gitprovider.Repository) bool {
	return s.Repository.Path == repository.Path && (repository.Host == "" || s.Repository.Host == repository.Host)
}

// Subscription is the interest of somebody in one pull request.
type Subscription struct {
	Source
	Number int64
	// Open connects to the repository. It is called before the first look, after trouble, and from time to time, so that it can use
	// credentials as they are then. Of several subscriptions to a source the newest one's counts.
	Open func(context.Context) (gitprovider.Provider, error)
	// Wake is called after anything changed about the pull request or about what is known of it. It must not block, nor call the
	// Poller.
	Wake func()
}

// Answer is what is known about a pull request.
type Answer struct {
	// Known says that it has been seen. Otherwise PullRequest is empty.
	Known       bool
	PullRequest gitprovider.PullRequest
	// Missing says that the provider knows no pull request of this number.
	Missing bool
	// Seen is when the answer was last true. It grows with each look that succeeds.
	Seen time.Time
	// Problem is why the last look failed; nil if it did not.
	Problem error
	// Checks of the head commit of an open pull request; nil if they have not been asked for yet. They do not count for Seen and Problem.
	Checks *gitprovider.Checks
}

// Poller asks providers. Its methods may be called from many goroutines and do not wait for any request.
type Poller struct {
	options Options
	tasks   *taskgroup.Group

	mutex   sync.Mutex
	watches map[Source]*watch
	budgets map[string]*budget
	serial  int
}

// New returns a Poller, which does nothing until somebody subscribes.
func New(options Options) *Poller {
	return &Poller{options: options.withDefaults(), tasks: taskgroup.New(), watches: map[Source]*watch{}, budgets: map[string]*budget{}}
}

// Close ends all asking and waits for it. Subscriptions made later have no effect.
func (p *Poller) Close() { p.tasks.End() }

// Subscribe begins to follow a pull request, looking at once. The returned function ends it, and may be called more than once.
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

// start begins to look at a source. The caller holds the lock.
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
	w.budget.users-- // what was spent stays spent: the budget itself goes when it is full again
}

// LookNow makes the next look at a repository happen soon, for webhooks. A host that is not told stands for all.
func (p *Poller) LookNow(repository gitprovider.Repository) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for source, w := range p.watches {
		if source.isAt(repository) {
			w.nudge()
		}
	}
}

// State returns what is known about a pull request that somebody has subscribed to.
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
