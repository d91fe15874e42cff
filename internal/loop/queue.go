// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"espalier.dev/internal/fairness"
)

// spareOf returns the number of workers in addition to those that one namespace may occupy. They ensure that an idle namespace need not
// wait for the passes of another one, some of which take minutes.
func spareOf(workers int) int { return workers / 4 }

// Options returns the options of a controller with a fair queue: the given number of workers per namespace, and some more for other
// namespaces.
func Options(workers int) controller.Options {
	workers = max(workers, 1)
	return controller.Options{
		MaxConcurrentReconciles: workers + spareOf(workers),
		RateLimiter:             NewBackoff(),
		NewQueue: func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) queue {
			return newFairQueue(name, limiter, workers)
		},
	}
}

// withFilter makes the queue accept only what passes a filter.
func withFilter(options controller.Options, workers int, mine func(reconcile.Request) bool) controller.Options {
	options.NewQueue = func(name string, limiter workqueue.TypedRateLimiter[reconcile.Request]) queue {
		q := newFairQueue(name, limiter, workers)
		q.mine = mine
		return q
	}
	return options
}

// fairQueue is a queue of objects in which namespaces take turns. An object is in it at most once; one that is added while it is being
// processed is processed again afterwards, never by two workers at a time. Of several additions with a delay, the earliest counts, and one
// without a delay replaces them: each pass over an object returns when the next one is due. It is safe for concurrent use.
type fairQueue struct {
	limiter workqueue.TypedRateLimiter[reconcile.Request]
	// mine selects what is accepted; nil accepts everything.
	mine func(reconcile.Request) bool

	mu     sync.Mutex
	wake   *sync.Cond
	order  *fairness.Order[reconcile.Request]
	alarms fairness.Alarms[reconcile.Request]
	timer  *time.Timer
	books  *books
	// closed is set once no additions are accepted; stopped is set once no objects are handed out either.
	closed, stopped bool
}

var _ priorityqueue.PriorityQueue[reconcile.Request] = &fairQueue{}

// newFairQueue returns a queue that processes at most share objects of a namespace at a time.
func newFairQueue(name string, limiter workqueue.TypedRateLimiter[reconcile.Request], share int) *fairQueue {
	q := &fairQueue{
		limiter: limiter,
		order:   fairness.NewOrder(share, func(req reconcile.Request) string { return req.Namespace }),
		books:   newBooks(name),
	}
	q.wake = sync.NewCond(&q.mu)
	q.timer = time.AfterFunc(time.Hour, q.ring)
	q.timer.Stop()
	return q
}

// classOf maps the priorities of controller-runtime and this package to three classes.
func classOf(priority int) fairness.Class {
	switch {
	case priority > 0:
		return fairness.First
	case priority < 0:
		return fairness.Later
	default:
		return fairness.Soon
	}
}

func priorityOf(class fairness.Class) int {
	return map[fairness.Class]int{fairness.First: urgentPriority, fairness.Later: handler.LowPriority}[class]
}

// AddWithOpts implements priorityqueue.PriorityQueue.
func (q *fairQueue) AddWithOpts(opts priorityqueue.AddOpts, items ...reconcile.Request) {
	class := fairness.Soon
	if opts.Priority != nil {
		class = classOf(*opts.Priority)
	}
	if q.mine != nil {
		items = slices.DeleteFunc(slices.Clone(items), func(item reconcile.Request) bool { return !q.mine(item) })
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	for _, item := range items {
		after := opts.After
		if opts.RateLimited {
			if limit := q.limiter.When(item); after == 0 || limit < after {
				after = limit
			}
		}
		if after > 0 && !q.order.Wanted(item) {
			q.alarms.Set(item, class, time.Now().Add(after))
		} else {
			q.add(item, class)
		}
	}
	q.setTimer()
}

// add enqueues an object, and cancels its alarm. The caller holds the lock.
func (q *fairQueue) add(item reconcile.Request, class fairness.Class) {
	if planned, ok := q.alarms.Cancel(item); ok {
		class = max(class, planned)
	}
	q.order.Add(item, class)
	q.books.Add(item)
	q.wake.Signal()
}

// ring adds the objects that are due.
func (q *fairQueue) ring() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	for _, due := range q.alarms.Due(time.Now()) {
		q.add(due.Item, due.Class)
	}
	q.setTimer()
}

// setTimer sets the timer to the next alarm. The caller holds the lock.
func (q *fairQueue) setTimer() {
	if next, ok := q.alarms.Next(); ok {
		q.timer.Reset(max(0, time.Until(next)))
	}
}

// Add implements workqueue.TypedInterface.
func (q *fairQueue) Add(item reconcile.Request) { q.AddWithOpts(priorityqueue.AddOpts{}, item) }

// AddAfter implements workqueue.TypedDelayingInterface.
func (q *fairQueue) AddAfter(item reconcile.Request, after time.Duration) {
	q.AddWithOpts(priorityqueue.AddOpts{After: after}, item)
}

// AddRateLimited implements workqueue.TypedRateLimitingInterface.
func (q *fairQueue) AddRateLimited(item reconcile.Request) {
	q.AddWithOpts(priorityqueue.AddOpts{RateLimited: true}, item)
}

// GetWithPriority implements priorityqueue.PriorityQueue.
func (q *fairQueue) GetWithPriority() (item reconcile.Request, priority int, shutdown bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for !q.stopped && !q.order.Ready() && !q.drained() {
		q.wake.Wait()
	}
	if q.stopped || !q.order.Ready() {
		return item, 0, true
	}
	item, class, _ := q.order.Next()
	q.books.take(item)
	return item, priorityOf(class), false
}

// drained reports whether the queue stays empty. The caller holds the lock. Objects that are being processed may be added again.
func (q *fairQueue) drained() bool { return q.closed && q.order.Len()+q.order.Working() == 0 }

// Get implements workqueue.TypedInterface.
func (q *fairQueue) Get() (item reconcile.Request, shutdown bool) {
	item, _, shutdown = q.GetWithPriority()
	return item, shutdown
}

// Done implements workqueue.TypedInterface.
func (q *fairQueue) Done(item reconcile.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.order.Done(item)
	q.books.Done(item)
	if q.closed {
		q.wake.Broadcast()
	} else {
		q.wake.Signal()
	}
}

// Forget implements workqueue.TypedRateLimitingInterface.
func (q *fairQueue) Forget(item reconcile.Request) { q.limiter.Forget(item) }

// NumRequeues implements workqueue.TypedRateLimitingInterface.
func (q *fairQueue) NumRequeues(item reconcile.Request) int { return q.limiter.NumRequeues(item) }

// Len implements workqueue.TypedInterface: it returns how many objects wait, without delayed ones.
func (q *fairQueue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.order.Len()
}

// ShuttingDown implements workqueue.TypedInterface.
func (q *fairQueue) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// ShutDown implements workqueue.TypedInterface. It starts no more work: the next process checks all objects when it starts.
func (q *fairQueue) ShutDown() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.close()
	q.stopped = true
}

// ShutDownWithDrain implements workqueue.TypedInterface. It accepts no additions, and returns when everything that waits was processed.
func (q *fairQueue) ShutDownWithDrain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.close()
	for !q.stopped && !q.drained() {
		q.wake.Wait()
	}
}

// close accepts no more additions. The caller holds the lock.
func (q *fairQueue) close() {
	q.closed = true
	q.timer.Stop()
	q.books.ShutDown()
	q.wake.Broadcast()
}

// books is a work queue that only records what is added, taken and done, and provides the metrics of
// every work queue.
type books struct {
	*workqueue.Typed[reconcile.Request]
	taken *designated
}

func newBooks(name string) *books {
	taken := &designated{}
	return &books{
		Typed: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[reconcile.Request]{Name: name, Queue: taken}),
		taken: taken,
	}
}

// take records that an object is being processed.
func (b *books) take(item reconcile.Request) {
	b.taken.item = item
	b.Get()
}

// designated is an order that returns the item that was set.
type designated struct{ item reconcile.Request }

func (d *designated) Touch(reconcile.Request) {}
func (d *designated) Push(reconcile.Request)  {}
func (d *designated) Len() int                { return 1 }
func (d *designated) Pop() reconcile.Request  { return d.item }
