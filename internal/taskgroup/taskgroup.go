// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package taskgroup groups goroutines that outlive their callers, so that all of them end with their owner, including those that are
// started while the owner ends.
package taskgroup

import (
	"context"
	"sync"
)

// Group is a set of goroutines to which more can be added until it ends. Its methods are safe for concurrent use.
type Group struct {
	ctx    context.Context
	cancel context.CancelFunc

	mutex sync.Mutex
	ended bool
	group sync.WaitGroup
}

// New returns a group that lasts until End.
func New() *Group {
	ctx, cancel := context.WithCancel(context.Background())
	return &Group{ctx: ctx, cancel: cancel}
}

// Context is done when the group ends.
func (g *Group) Context() context.Context { return g.ctx }

// Go runs a function in a new goroutine, or returns false if the group has ended.
func (g *Group) Go(run func()) bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.ended {
		return false
	}
	g.group.Go(run)
	return true
}

// End cancels the context and waits for all goroutines. Go starts nothing any more.
func (g *Group) End() {
	g.mutex.Lock()
	g.ended = true
	g.mutex.Unlock()
	g.cancel()
	g.group.Wait()
}
