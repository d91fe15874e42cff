// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package taskgroup holds goroutines together that go on beside their callers, so that all of them end with their owner, also those that
// somebody starts while the owner ends.
package taskgroup

import (
	"context"
	"sync"
)

// Lifetime is the time in which goroutines may be started. Its methods may be called from many goroutines.
type Lifetime struct {
	ctx    context.Context
	cancel context.CancelFunc

	mutex sync.Mutex
	ended bool
	group sync.WaitGroup
}

// New begins a lifetime, which lasts until End.
func New() *Lifetime {
	ctx, cancel := context.WithCancel(context.Background())
	return &Lifetime{ctx: ctx, cancel: cancel}
}

// Context is done when the lifetime ends.
func (l *Lifetime) Context() context.Context { return l.ctx }

// Go runs a function in a goroutine of its own, or returns false if the lifetime has ended.
func (l *Lifetime) Go(run func()) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.ended {
		return false
	}
	l.group.Go(run)
	return true
}

// End makes the context done and waits for all goroutines. Nothing is started any more.
func (l *Lifetime) End() {
	l.mutex.Lock()
	l.ended = true
	l.mutex.Unlock()
	l.cancel()
	l.group.Wait()
}
