// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"
)

// watchFaults is the current state of the faults of watches, by resource. A resource is held as long as any fault holds it.
type watchFaults struct {
	holds map[string]int
	slow  map[string]time.Duration
	ended map[int]bool // by index in the plan: a fault of watches ends only once
}

func newWatchFaults() watchFaults {
	return watchFaults{holds: map[string]int{}, slow: map[string]time.Duration{}, ended: map[int]bool{}}
}

func (w watchFaults) holding(r Request) bool {
	for resource, holders := range w.holds {
		if holders > 0 && names(resource, r) {
			return true
		}
	}
	return false
}

func (w watchFaults) delay(r Request) time.Duration {
	for resource, delay := range w.slow {
		if names(resource, r) {
			return delay
		}
	}
	return 0
}

// Hold withholds the events of a resource, given with or without its group, from now on.
func (t *Transport) Hold(resource string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.watchFaults.holds[resource]++
}

// Release delivers the withheld events of a resource, for all holds, and lets further events pass.
func (t *Transport) Release(resource string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	maps.DeleteFunc(t.watchFaults.holds, func(held string, _ int) bool {
		return held == resource || strings.HasPrefix(held, resource+".") || strings.HasPrefix(resource, held+".")
	})
	t.changed.Broadcast()
}

// Cut closes the open watches of a resource. Their clients resume them, and a hold continues.
func (t *Transport) Cut(resource string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.cutLocked(resource)
}

// Expire ends the open watches of a resource with 410 Gone and drops withheld events. Their clients list again.
func (t *Transport) Expire(resource string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.expireLocked(resource)
}

// AwaitHeld returns when at least the given number of events of a resource is withheld.
func (t *Transport) AwaitHeld(ctx context.Context, resource string, events int) error {
	defer context.AfterFunc(ctx, func() {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		t.changed.Broadcast()
	})()
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for t.heldLocked(resource) < events {
		if ctx.Err() != nil {
			return fmt.Errorf("%d of %d events of %s are withheld: %w", t.heldLocked(resource), events, resource, ctx.Err())
		}
		t.changed.Wait()
	}
	return nil
}

func (t *Transport) heldLocked(resource string) int {
	held := 0
	for s := range t.streams {
		if names(resource, s.request) && t.watchFaults.holding(s.request) {
			held += s.withheld()
		}
	}
	return held
}

func (t *Transport) cutLocked(resource string) {
	for s := range t.streams {
		if names(resource, s.request) {
			s.endLocked(errEnd)
		}
	}
	t.changed.Broadcast()
}

func (t *Transport) expireLocked(resource string) {
	for s := range t.streams {
		if names(resource, s.request) {
			s.expireLocked()
		}
	}
	t.changed.Broadcast()
}

// beginWatchFaults is called with the lock held just before a write is sent, and with 0 at the start.
func (t *Transport) beginWatchFaults(write int) {
	for i, fault := range t.plan.Watches {
		if fault.From == write {
			t.begin(i, fault)
		}
	}
}

func (t *Transport) begin(index int, fault WatchFault) {
	switch fault.Do {
	case Hold, Relist:
		t.watchFaults.holds[fault.Resource]++
	case SlowWatch:
		t.watchFaults.slow[fault.Resource] = fault.Delay
	case Cut:
		t.cutLocked(fault.Resource)
	case Gone:
		t.expireLocked(fault.Resource)
	}
	lasts := fault.For
	if fault.To > 0 && fault.Do != SlowWatch {
		lasts = t.maxHold
	}
	if lasts > 0 {
		time.AfterFunc(lasts, func() {
			t.mutex.Lock()
			defer t.mutex.Unlock()
			t.end(index, fault)
		})
	}
}

// endWatchFaults is called with the lock held once a write was answered.
func (t *Transport) endWatchFaults(write int) {
	for i, fault := range t.plan.Watches {
		if fault.To == write {
			t.end(i, fault)
		}
	}
}

func (t *Transport) end(index int, fault WatchFault) {
	if t.watchFaults.ended[index] {
		return
	}
	t.watchFaults.ended[index] = true
	switch fault.Do {
	case SlowWatch:
		delete(t.watchFaults.slow, fault.Resource)
	case Relist:
		t.expireLocked(fault.Resource)
		t.unhold(fault.Resource)
	case Hold:
		t.unhold(fault.Resource)
	}
	t.changed.Broadcast()
}

func (t *Transport) unhold(resource string) {
	if t.watchFaults.holds[resource] > 0 {
		t.watchFaults.holds[resource]--
	}
}
