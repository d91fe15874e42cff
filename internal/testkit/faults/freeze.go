// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"net/http"
)

// Before calls a function just before the write of that number is sent, by any client: the function's effects come first. It
// simulates a user who interferes at a chosen moment. It must be set before the write arrives.
func (t *Transport) Before(write int, do func()) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.hooks[write] = append(t.hooks[write], do)
}

// BeforeNth is Before for the nth request that matches a pattern. Conflicts and other writes do not move that moment.
func (t *Transport) BeforeNth(n int, pattern string, do func()) {
	what, err := parsePattern(pattern)
	if err != nil {
		panic(err)
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.moments = append(t.moments, moment{what: what, left: n, do: do})
}

// moment is when to call a function: after a number of matching requests.
type moment struct {
	what Pattern
	left int
	do   func()
}

// dueLocked returns the functions to call before a request.
func (t *Transport) dueLocked(r Request, write int) []func() {
	due := t.hooks[write] // there are none for 0
	delete(t.hooks, write)
	for i := range t.moments {
		if m := &t.moments[i]; m.what.Matches(r) {
			if m.left--; m.left == 0 {
				due = append(due, m.do)
			}
		}
	}
	return due
}

// Freeze withholds every request and every event until Thaw, like a process that is not scheduled. Withheld requests are then sent, however
// old.
func (t *Transport) Freeze() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.frozen = true
}

// Thaw ends a Freeze.
func (t *Transport) Thaw() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.frozen = false
	t.changed.Broadcast()
}

// awaitThaw returns an error if the request is cancelled, or the connection ends, while it waits.
func (t *Transport) awaitThaw(httpRequest *http.Request) error {
	ctx := httpRequest.Context()
	defer context.AfterFunc(ctx, func() {
		t.mutex.Lock()
		defer t.mutex.Unlock()
		t.changed.Broadcast()
	})()
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for t.frozen {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if t.IsCrashed() {
			return resetError()
		}
		t.changed.Wait()
	}
	return nil
}

// OpenWatches counts the open watches.
func (t *Transport) OpenWatches() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return len(t.streams)
}
