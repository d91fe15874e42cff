// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"espalier.dev/internal/failure"
)

// Together, the longest pause and the wait for another caller's attempt do not exceed the 30 seconds within which a
// recovered cluster is noticed.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 25 * time.Second
	// probeWait is how long to wait while another caller makes the one attempt, whose duration is unknown.
	probeWait = 5 * time.Second
)

// pauseAfter is how long to wait after the n-th consecutive failure, with a random reduction of up to a fifth.
func pauseAfter(failures int) time.Duration {
	pause := firstPause << min(max(failures-1, 0), 10)
	pause = min(pause, lastPause)
	return time.Duration(float64(pause) * (0.8 + 0.2*rand.Float64()))
}

// breaker makes requests to one cluster fail at once while the cluster is known to be unreachable. After a pause, one request may
// try; if it fails, the next pause is longer. The first success resets the breaker.
type breaker struct {
	server string
	clock  clock.PassiveClock

	mutex    sync.Mutex
	failures int
	since    time.Time
	until    time.Time
	cause    error
	probing  bool
	round    int // counts verdicts, so that requests that failed together count once
}

// attempt is one request that the breaker let through.
type attempt struct {
	breaker *breaker
	round   int
	probe   bool
}

// enter admits a request, or returns why not.
func (b *breaker) enter() (*attempt, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	a := &attempt{breaker: b, round: b.round}
	if b.failures == 0 {
		return a, nil
	}
	if b.probing || b.clock.Now().Before(b.until) {
		return nil, b.errorLocked()
	}
	b.probing, a.probe = true, true
	return a, nil
}

// open returns the error with which a request fails at once; nil if it is sent.
func (b *breaker) open() error {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.failures == 0 || !b.probing && !b.clock.Now().Before(b.until) {
		return nil
	}
	return b.errorLocked()
}

func (b *breaker) errorLocked() error {
	until := b.until
	if b.probing {
		until = b.clock.Now().Add(probeWait)
	}
	return failure.NewRetryable(failure.Details{Operation: operationConnect, Reason: ReasonUnreachable},
		&Unreachable{Server: b.server, Since: b.since, Until: until, cause: b.cause})
}

// succeeded records that the cluster answered, even with an error.
func (a *attempt) succeeded() {
	b := a.breaker
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.failures > 0 {
		b.failures, b.cause, b.probing = 0, nil, false
		b.round++
	}
}

// failed records that the cluster could not be reached, and returns the error for it.
func (a *attempt) failed(cause error) error {
	b := a.breaker
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if a.round != b.round && b.failures > 0 {
		return b.errorLocked()
	}
	if a.round != b.round {
		return failure.NewRetryable(failure.Details{Operation: operationConnect, Reason: ReasonUnreachable}, cause)
	}
	now := b.clock.Now()
	if b.failures == 0 {
		b.since = now
	}
	b.failures++
	b.round++
	b.cause, b.probing = cause, false
	b.until = now.Add(pauseAfter(b.failures))
	return b.errorLocked()
}

// abandoned records that the caller stopped before there was a result.
func (a *attempt) abandoned() {
	if !a.probe {
		return
	}
	b := a.breaker
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if a.round == b.round {
		b.probing, b.until = false, b.clock.Now()
	}
}
