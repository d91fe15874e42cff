// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fairness

import "time"

// Limits say how many items may be under way at once, and how many may start per second.
type Limits struct {
	// Shared is the number of items that the lanes share while there are several: each may have its part of them under way, but at least a
	// quarter, so that a few hanging items do not block a lane. A single lane has no limit, because no other lane waits for it. Zero means no
	// limit.
	Shared int
	// Rate is the number of items that may start per second, and Burst the number of saved-up ones that may start at once. A Rate of zero
	// means no limit.
	Rate  float64
	Burst int
}

// memory is how long a lane counts as one of several after it last had something under way. The pause between two steps of a job is
// shorter.
const memory = time.Second

// Admission starts items in a fair order. It is not safe for concurrent use.
type Admission[T comparable] struct {
	limits Limits
	laneOf func(T) string
	order  *Order[T]
	// seen is when an item of a lane last started or ended. The empty lane is not counted.
	seen map[string]time.Time
	// tokens is the number of items that may start, as of a time.
	tokens float64
	asOf   time.Time
}

// NewAdmission returns an admission with nothing under way.
func NewAdmission[T comparable](limits Limits, laneOf func(T) string) *Admission[T] {
	limits.Burst = max(limits.Burst, 1)
	return &Admission[T]{
		limits: limits, laneOf: laneOf, order: NewOrder(0, laneOf), seen: map[string]time.Time{}, tokens: float64(limits.Burst),
	}
}

// Enter adds a waiting item, and returns the items that start now, possibly including it.
func (a *Admission[T]) Enter(item T, now time.Time) []T {
	a.order.Add(item, Soon)
	return a.after(item, now)
}

// Leave removes an item that is no longer under way or waiting, and returns the items that start now.
func (a *Admission[T]) Leave(item T, now time.Time) []T {
	if !a.order.Remove(item) {
		a.order.Done(item)
	}
	return a.after(item, now)
}

func (a *Admission[T]) after(item T, now time.Time) []T {
	if lane := a.laneOf(item); lane != "" {
		a.seen[lane] = now
	}
	a.share(now)
	return a.Admit(now)
}

// Admit returns the items that start now because time has passed.
func (a *Admission[T]) Admit(now time.Time) []T {
	var begin []T
	for a.order.Ready() && a.token(now) {
		item, _, _ := a.order.Next()
		begin = append(begin, item)
	}
	return begin
}

// Next returns the time until an item may start that waits only for its time; zero if there is none.
func (a *Admission[T]) Next(now time.Time) time.Duration {
	if a.limits.Rate == 0 || !a.order.Ready() {
		return 0
	}
	a.refill(now)
	return max(time.Microsecond, time.Duration((1-a.tokens)/a.limits.Rate*float64(time.Second)))
}

// share updates how many items each lane may have under way, after one lane was seen.
func (a *Admission[T]) share(now time.Time) {
	if a.limits.Shared == 0 {
		return
	}
	for lane, at := range a.seen {
		if now.Sub(at) > memory && !a.order.knows(lane) {
			delete(a.seen, lane)
		}
	}
	if len(a.seen) > 1 {
		a.order.SetShare(max(1, a.limits.Shared/4, a.limits.Shared/len(a.seen)))
	} else {
		a.order.SetShare(0)
	}
}

// token takes a token, if there is one.
func (a *Admission[T]) token(now time.Time) bool {
	if a.limits.Rate == 0 {
		return true
	}
	a.refill(now)
	if a.tokens < 1 {
		return false
	}
	a.tokens--
	return true
}

func (a *Admission[T]) refill(now time.Time) {
	if !a.asOf.IsZero() {
		a.tokens = min(a.tokens+max(0, now.Sub(a.asOf).Seconds())*a.limits.Rate, float64(a.limits.Burst))
	}
	a.asOf = now
}
