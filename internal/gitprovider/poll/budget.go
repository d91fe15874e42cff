// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"sync"
	"time"
)

// budget limits the requests with one credential: to an average rate, and to none while the provider demands a pause.
type budget struct {
	perSecond float64
	burst     float64
	// users is the number of sources that share it, guarded by the lock of the Poller.
	users int

	mutex   sync.Mutex
	tokens  float64
	counted time.Time
	blocked time.Time
}

func newBudget(o Options) *budget {
	return &budget{perSecond: o.PerSecond, burst: float64(o.Burst), tokens: float64(o.Burst), counted: time.Now()}
}

// spend waits until one request may be sent.
func (b *budget) spend(ctx context.Context) error {
	for {
		wait := b.take()
		if wait == 0 {
			return ctx.Err()
		}
		if err := pause(ctx, wait, nil); err != nil {
			return err
		}
	}
}

// take takes a token, or returns the time until one is available.
func (b *budget) take() time.Duration {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	now := time.Now()
	if now.Before(b.blocked) {
		return b.blocked.Sub(now)
	}
	b.refill(now)
	if b.tokens >= 1 {
		b.tokens--
		return 0
	}
	return time.Duration((1-b.tokens)/b.perSecond*float64(time.Second)) + time.Millisecond
}

// spare takes tokens for requests that can wait, if more than half of the burst remains.
func (b *budget) spare(count float64) bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	now := time.Now()
	b.refill(now)
	if now.Before(b.blocked) || b.tokens < min(b.burst, b.burst/2+count) {
		return false
	}
	b.tokens = max(0, b.tokens-count)
	return true
}

func (b *budget) refill(now time.Time) {
	b.tokens = min(b.burst, b.tokens+now.Sub(b.counted).Seconds()*b.perSecond)
	b.counted = now
}

// full reports whether the budget is equivalent to a new one.
func (b *budget) full() bool {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	now := time.Now()
	b.refill(now)
	return b.tokens >= b.burst && !now.Before(b.blocked)
}

// block stops all requests with this credential for a time.
func (b *budget) block(wait time.Duration) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if until := time.Now().Add(wait); until.After(b.blocked) {
		b.blocked = until
	}
}

// pause waits for a time, or until early receives.
func pause(ctx context.Context, wait time.Duration, early <-chan struct{}) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	case <-early:
	}
	return nil
}
