// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"sync"
)

// lifetime holds the goroutines of one Clusters together, so that they end with it.
type lifetime struct {
	ctx    context.Context // of everything that is started in it
	cancel context.CancelFunc

	mutex sync.Mutex
	ended bool
	group sync.WaitGroup
}

func newLifetime() *lifetime {
	ctx, cancel := context.WithCancel(context.Background())
	return &lifetime{ctx: ctx, cancel: cancel}
}

// start runs a function in a goroutine of its own, or returns false if the lifetime has ended.
func (l *lifetime) start(run func()) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.ended {
		return false
	}
	l.group.Go(run)
	return true
}

// end cancels the context and waits for all goroutines.
func (l *lifetime) end() {
	l.mutex.Lock()
	l.ended = true
	l.mutex.Unlock()
	l.cancel()
	l.group.Wait()
}
