// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fairness

import "time"

// Limits say how many may be under way at once, and how many may begin in a second.
type Limits struct {
	// Shared is how many the lanes share while there are several: each may have its part of them under way, but not less than a quarter,
	// so that few that hang do not hold up a lane. A lane that is alone has no limit, for nobody waits because of it. Zero means any number.
	Shared int
	// Rate is how many may begin in a second, and Burst how many of those at once that did not begin before. A Rate of zero means any
	// number.
	Rate  float64
	Burst int
}

// memory is how long a lane counts as one of several after it had something under way. Between two steps of a job there is less.
const memory = time.Second

// Admission lets items begin in a fair order. It is not safe for concurrent use.
type Admission[T comparable] struct {
	limits Limits
	laneOf func(T) string
	order  *Order[T]
	// seen is when something of a lane began or ended. The lane without a name is nobody's.
	seen map[string]time.Time
	// tokens is how many may begin, as of a time.
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

// Enter lets an item wait, and returns those that begin now, maybe it.
func (a *Admission[T]) Enter(item T, now time.Time) []T {
	a.order.Add(item, Soon)
	return a.after(item, now)
}

// Leave says that an item is no longer under way, or waits no longer, and returns those that begin now.
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

// Admit returns those that begin now because time has passed.
func (a *Admission[T]) Admit(now time.Time) []T {
	var begin []T
	for a.order.Ready() && a.token(now) {
		item, _, _ := a.order.Next()
		begin = append(begin, item)
	}
	return begin
}

// Next is how long it takes until something may begin that waits for nothing but its time, zero if there is nothing.
func (a *Admission[T]) Next(now time.Time) time.Duration {
	if a.limits.Rate == 0 || !a.order.Ready() {
		return 0
	}
	a.refill(now)
	return max(time.Microsecond, time.Duration((1-a.tokens)/a.limits.Rate*float64(time.Second)))
}

// share says how much each lane may have under way, now that one has been heard of.
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

// token takes one of those that may begin.
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
