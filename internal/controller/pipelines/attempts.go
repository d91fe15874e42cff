// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"espalier.dev/internal/pipeline"
	"espalier.dev/internal/taskgroup"
)

// work is what an attempt does. It looks for results of an earlier attempt before it creates new ones, because a restart of the process
// loses all attempts.
type work func(ctx context.Context) (pipeline.Result, error)

// task is work together with the pools that it must find room in.
type task struct {
	in []pool
	do work
}

// pool limits the number of concurrent attempts.
type pool chan struct{}

func newPool(size int) pool { return make(pool, max(1, size)) }

// enter waits until there is room in all pools, in their order, so that a task that waits for a narrow pool takes no room in a wide one.
// The caller must call leave in any case.
func enter(ctx context.Context, pools []pool) (leave func(), err error) {
	var entered []pool
	leave = func() {
		for _, p := range entered {
			<-p
		}
	}
	for _, p := range pools {
		select {
		case p <- struct{}{}:
			entered = append(entered, p)
		case <-ctx.Done():
			return leave, ctx.Err()
		}
	}
	return leave, nil
}

// attempts runs slow work concurrently with the passes of the controller, and keeps the results until the process ends; the status records
// which attempts are outstanding.
type attempts struct {
	// wake is called when an attempt has finished.
	wake func(types.NamespacedName)
	// timeout ends an attempt that hangs. It does not count while the attempt waits for its turn.
	timeout time.Duration

	tasks *taskgroup.Group

	mu    sync.Mutex
	known map[types.NamespacedName]map[pipeline.AttemptID]*attempt
}

type attempt struct {
	pipeline.Attempt
	cancel context.CancelFunc
}

func newAttempts(timeout time.Duration, wake func(types.NamespacedName)) *attempts {
	return &attempts{wake: wake, timeout: timeout, tasks: taskgroup.New(), known: map[types.NamespacedName]map[pipeline.AttemptID]*attempt{}}
}

// close ends all attempts and waits for them.
func (a *attempts) close() { a.tasks.End() }

// start starts an attempt unless it is already known or the process is ending.
func (a *attempts) start(owner types.NamespacedName, id pipeline.AttemptID, t task) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known[owner][id] != nil {
		return
	}
	ctx, cancel := context.WithCancel(a.tasks.Context())
	entry := &attempt{Attempt: pipeline.Attempt{State: pipeline.AttemptRunning}, cancel: cancel}
	started := a.tasks.Go(func() {
		defer cancel()
		ended := a.attempt(ctx, t)
		a.mu.Lock()
		entry.Attempt = ended
		a.mu.Unlock()
		a.wake(owner)
	})
	if !started {
		cancel()
		return
	}
	if a.known[owner] == nil {
		a.known[owner] = map[pipeline.AttemptID]*attempt{}
	}
	a.known[owner][id] = entry
}

func (a *attempts) attempt(ctx context.Context, t task) (ended pipeline.Attempt) {
	leave, err := enter(ctx, t.in)
	defer leave()
	if err != nil {
		return pipeline.Attempt{State: pipeline.AttemptFailed, Error: problemOf(err)}
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	defer func() {
		if cause := recover(); cause != nil {
			ended = pipeline.Attempt{State: pipeline.AttemptFailed, Error: problemOf(fmt.Errorf("%v: this is a bug in the controller", cause))}
		}
	}()
	result, err := t.do(ctx)
	if err != nil {
		return pipeline.Attempt{State: pipeline.AttemptFailed, Result: result, Error: problemOf(err)}
	}
	return pipeline.Attempt{State: pipeline.AttemptDone, Result: result}
}

// of returns the attempts for a pipeline, and drops those that have finished and are not awaited.
func (a *attempts) of(owner types.NamespacedName, awaited map[pipeline.AttemptID]bool) map[pipeline.AttemptID]pipeline.Attempt {
	a.mu.Lock()
	defer a.mu.Unlock()
	result := make(map[pipeline.AttemptID]pipeline.Attempt, len(a.known[owner]))
	for id, entry := range a.known[owner] {
		if entry.State != pipeline.AttemptRunning && !awaited[id] {
			delete(a.known[owner], id)
			continue
		}
		result[id] = entry.Attempt
	}
	return result
}

// forget ends the attempts for a pipeline that is gone.
func (a *attempts) forget(owner types.NamespacedName) {
	a.mu.Lock()
	gone := maps.Clone(a.known[owner])
	delete(a.known, owner)
	a.mu.Unlock()
	for _, entry := range gone {
		entry.cancel()
	}
}
