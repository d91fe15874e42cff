// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// maxLag is how long a status that a decision has marked as not urgent may lag behind. A longer lag is reported.
const maxLag = 2 * time.Second

// lags records since when the status of each object has not been stored. The zero value is ready.
type lags struct {
	mu    sync.Mutex
	since map[reconcile.Request]time.Time
}

// left returns how long the status of an object may still lag.
func (l *lags) left(req reconcile.Request, now time.Time) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.since == nil {
		l.since = map[reconcile.Request]time.Time{}
	}
	since, known := l.since[req]
	if !known {
		since = now
		l.since[req] = now
	}
	return since.Add(maxLag).Sub(now)
}

func (l *lags) end(req reconcile.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.since, req)
}

// lagging returns how long the outcome of a pass may stay unstored, zero if it must be stored now.
func (l *Loop[T, O, P, E]) lagging(req reconcile.Request, p *pass[T, O, P, E]) time.Duration {
	if p.err == nil && !p.conflict && p.last.Wait && p.last.DeferStatusWrite && p.changed() {
		if wait := l.lags.left(req, l.Clock.Now()); wait > 0 {
			l.count(outcomeSettled)
			return sooner(wait, p.last.RequeueAfter)
		}
	}
	l.lags.end(req)
	return 0
}

// sooner returns the shorter of two waits; the second may be unset.
func sooner(wait, other time.Duration) time.Duration {
	if other > 0 && other < wait {
		return other
	}
	return wait
}

// waits records since when each object has waited. The zero value is ready.
type waits struct {
	mu    sync.Mutex
	begun map[reconcile.Request]time.Time
}

// since returns when the wait of an object started; now if it is new.
func (w *waits) since(req reconcile.Request, now time.Time) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.begun == nil {
		w.begun = map[reconcile.Request]time.Time{}
	}
	if _, known := w.begun[req]; !known {
		w.begun[req] = now
	}
	return w.begun[req]
}

func (w *waits) end(req reconcile.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.begun, req)
}
