// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"net/http"
)

// Before has a function called just before the write of that number is sent, by whoever sends it: what the function does happens first.
// It is how a user interferes at a chosen moment. It must be set before the write arrives.
func (t *Transport) Before(write int, do func()) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.hooks[write] = append(t.hooks[write], do)
}

func (t *Transport) callHooks(write int) {
	if write == 0 {
		return
	}
	t.mutex.Lock()
	hooks := t.hooks[write]
	delete(t.hooks, write)
	t.mutex.Unlock()
	for _, do := range hooks {
		do()
	}
}

// Freeze keeps every request from being sent, and every event from being seen, until Thaw: so looks a process that is not scheduled.
// What it was about to send, it sends then, however old it may be.
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

// awaitThaw returns an error if the request is given up, or the connection ends, while it waits.
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

// OpenWatches counts the watches that are open.
func (t *Transport) OpenWatches() int {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return len(t.streams)
}
