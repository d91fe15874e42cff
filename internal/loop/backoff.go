// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Backoff is the rate limiter of all controllers: each failure of an object doubles its interval up to a cap, and
// jitter keeps objects that failed together from being retried together.
type Backoff struct {
	workqueue.TypedRateLimiter[reconcile.Request]
	random func() float64
}

// These are the intervals of a retried object and of a conflict. A conflict means that the cache lags by one event, so its interval
// starts much lower.
const (
	retryBase, retryCap       = 200 * time.Millisecond, 5 * time.Minute
	conflictBase, conflictCap = 5 * time.Millisecond, 5 * time.Second
	jitter                    = 0.2
)

// NewBackoff returns the rate limiter for a controller's queue.
func NewBackoff() *Backoff { return newBackoff(retryBase, retryCap, rand.Float64) }

func newBackoff(base, limit time.Duration, random func() float64) *Backoff {
	return &Backoff{
		TypedRateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](base, limit),
		random:           random,
	}
}

// When returns the next interval: within 20 % of base doubled with each call since the last Forget.
func (b *Backoff) When(req reconcile.Request) time.Duration {
	factor := 1 - jitter + 2*jitter*b.random()
	return time.Duration(float64(b.TypedRateLimiter.When(req)) * factor)
}

// lazyBackoff is the backoff for conflicts, created on first use so that the zero Loop is ready.
type lazyBackoff struct {
	once    sync.Once
	backoff *Backoff
}

func (l *lazyBackoff) get() *Backoff {
	l.once.Do(func() { l.backoff = newBackoff(conflictBase, conflictCap, rand.Float64) })
	return l.backoff
}
