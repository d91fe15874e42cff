// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"sync"
	"time"
)

// flights run the same work once for all concurrent callers. A caller may stop waiting; the work continues for the others, and ends when
// no caller waits.
type flights struct {
	mutex   sync.Mutex
	running map[string]*flight
}

type flight struct {
	done   chan struct{}
	cancel context.CancelFunc
	err    error
	// waiting is the number of callers that wait for it.
	waiting int
}

// do runs work in its own context, with a timeout, or waits for the same work if it is already running.
func (f *flights) do(ctx context.Context, key string, most time.Duration, work func(context.Context) error) error {
	one := f.join(ctx, key, most, work)
	select {
	case <-one.done:
		f.leave(one)
		return one.err
	case <-ctx.Done():
		f.leave(one)
		return ctx.Err()
	}
}

func (f *flights) join(ctx context.Context, key string, most time.Duration, work func(context.Context) error) *flight {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if one, found := f.running[key]; found {
		one.waiting++
		return one
	}
	if f.running == nil {
		f.running = map[string]*flight{}
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	one := &flight{done: make(chan struct{}), cancel: cancel, waiting: 1}
	f.running[key] = one
	go func() {
		err := work(own)
		f.mutex.Lock()
		one.err = err
		if f.running[key] == one {
			delete(f.running, key)
		}
		f.mutex.Unlock()
		cancel()
		close(one.done)
	}()
	return one
}

// leave ends the work if no caller waits any more. A later caller starts it again.
func (f *flights) leave(one *flight) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if one.waiting--; one.waiting > 0 {
		return
	}
	one.cancel()
	for key, other := range f.running {
		if other == one {
			delete(f.running, key)
		}
	}
}
