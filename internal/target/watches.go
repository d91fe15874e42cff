// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/taskgroup"
)

// watchKey identifies a shared watch of a cluster. The namespace is empty for cluster-scoped kinds.
type watchKey struct {
	gvk       schema.GroupVersionKind
	namespace string
}

// watches manages the watches of one cluster and their subscribers. A watch starts with its first subscriber and ends with
// its last.
type watches struct {
	client client.WithWatch
	tasks  *taskgroup.Group
	timing timing
	// closeIdle closes connections that are no longer needed.
	closeIdle func()

	mutex   sync.Mutex
	active  map[watchKey]*sharedWatch
	retired bool
}

// sharedWatch is one watch and its subscribers by object name. The mutex of watches protects it.
type sharedWatch struct {
	cancel      context.CancelFunc
	subscribers map[string]map[*subscription]bool
}

type subscription struct{ wake func() }

// add subscribes to an object.
func (w *watches) add(key watchKey, name string, wake func()) (stop func(), err error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	shared := w.active[key]
	if shared == nil {
		if shared, err = w.beginLocked(key); err != nil {
			return nil, err
		}
	}
	s := &subscription{wake: wake}
	if shared.subscribers[name] == nil {
		shared.subscribers[name] = map[*subscription]bool{}
	}
	shared.subscribers[name][s] = true
	return sync.OnceFunc(func() { w.remove(key, shared, name, s) }), nil
}

func (w *watches) beginLocked(key watchKey) (*sharedWatch, error) {
	ctx, cancel := context.WithCancel(w.tasks.Context())
	shared := &sharedWatch{cancel: cancel, subscribers: map[string]map[*subscription]bool{}}
	follower := &follower{
		client: w.client, key: key, timing: w.timing,
		changed: func(name string) { w.wake(shared, name) },
		unsure:  func() { w.wakeShared(shared) },
	}
	started := w.tasks.Go(func() {
		defer cancel()
		follower.run(ctx)
	})
	if !started {
		cancel()
		return nil, errClosed
	}
	w.active[key] = shared
	return shared, nil
}

func (w *watches) remove(key watchKey, shared *sharedWatch, name string, s *subscription) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	delete(shared.subscribers[name], s)
	if len(shared.subscribers[name]) == 0 {
		delete(shared.subscribers, name)
	}
	if len(shared.subscribers) > 0 {
		return
	}
	shared.cancel()
	delete(w.active, key)
	if w.retired && len(w.active) == 0 {
		w.closeIdle()
	}
}

// any reports whether there are watches.
func (w *watches) any() bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return len(w.active) > 0
}

// wake wakes the subscribers of the object, and those of all objects.
func (w *watches) wake(shared *sharedWatch, name string) {
	w.mutex.Lock()
	subscribers := appendKeys(appendKeys(nil, shared.subscribers[name]), shared.subscribers[""])
	w.mutex.Unlock()
	wakeEach(subscribers)
}

// wakeShared wakes all subscribers of a watch.
func (w *watches) wakeShared(shared *sharedWatch) {
	w.mutex.Lock()
	var subscribers []*subscription
	for _, ofName := range shared.subscribers {
		subscribers = appendKeys(subscribers, ofName)
	}
	w.mutex.Unlock()
	wakeEach(subscribers)
}

// retire wakes all subscribers, so that they look for another client, and closes connections.
func (w *watches) retire() {
	w.mutex.Lock()
	w.retired = true
	all := make([]*sharedWatch, 0, len(w.active))
	for _, shared := range w.active {
		all = append(all, shared)
	}
	w.mutex.Unlock()
	w.closeIdle()
	for _, shared := range all {
		w.wakeShared(shared)
	}
}

func appendKeys(list []*subscription, set map[*subscription]bool) []*subscription {
	for s := range set {
		list = append(list, s)
	}
	return list
}

// wakeEach is called without the lock, because a wake function may stop a watch.
func wakeEach(subscribers []*subscription) {
	for _, s := range subscribers {
		s.wake()
	}
}
