// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployer

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployitem"
)

// queue queues items for another pass, without a request to the API server.
type queue struct {
	mu    sync.Mutex
	inner workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// start is called when the controller starts; before that, there is no queue.
func (q *queue) start(_ context.Context, inner workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.inner = inner
	return nil
}

func (q *queue) wake(key client.ObjectKey) {
	q.mu.Lock()
	inner := q.inner
	q.mu.Unlock()
	if inner != nil {
		inner.Add(reconcile.Request{NamespacedName: key})
	}
}

// calls are the running calls of the deployer, at most one per item. The zero value is ready.
type calls struct {
	mu      sync.Mutex
	running map[types.UID]running
}

// running identifies the work of a call.
type running struct {
	job, finished string
	generation    int64
	ended         bool
	cancel        context.CancelFunc
}

// begin registers a call until the returned function is called.
func (c *calls) begin(item *lsv1alpha1.DeployItem, cancel context.CancelFunc) (end func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running == nil {
		c.running = map[types.UID]running{}
	}
	c.running[item.UID] = running{
		job: item.Status.JobID, finished: item.Status.JobIDFinished, generation: item.Generation,
		ended: item.Status.Phase.IsFinal(), cancel: cancel,
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.running, item.UID)
	}
}

// known reports whether a call for an item is running.
func (c *calls) known(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, known := c.running[uid]
	return known
}

// notice cancels the call for an item that has a new job, or has finished the job of the call: after an interrupt, a
// timeout, or when a job arrives during a repair. In the continuous flow, a new spec and a final phase have the same effect.
// The item must not be older than the one of the call.
func (c *calls) notice(item *lsv1alpha1.DeployItem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.running[item.UID]
	if !ok {
		return
	}
	overtaken := deployitem.FlowOf(item) == lsv1alpha1.FlowContinuous &&
		(r.generation != item.Generation || item.Status.Phase.IsFinal() && !r.ended)
	if overtaken || r.job != item.Status.JobID || r.finished != item.Status.JobIDFinished {
		r.cancel()
	}
}

func (c *calls) cancel(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := c.running[uid]; ok {
		r.cancel()
	}
}

// memory contains facts about items that the process can lose without harm. The zero value is ready.
type memory struct {
	mu    sync.Mutex
	items map[types.UID]recollection
}

type recollection struct {
	// job and generation are those for which the intention was stored.
	job        string
	generation int64
	// lastRepair is the time of the item's last repair; complaint is the reason of its last failure.
	lastRepair time.Time
	complaint  string
	// repairs is set while a repair is in progress.
	repairs bool
	// told is the last message about what the item waits for, and shown its masked form.
	told, shown string
}

func (m *memory) told(uid types.UID, text string) (shown string, known bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.items[uid]
	return r.shown, r.told == text
}

func (m *memory) tell(uid types.UID, text, shown string) {
	m.update(uid, func(r *recollection) { r.told, r.shown = text, shown })
}

func (m *memory) intended(item *lsv1alpha1.DeployItem) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, known := m.items[item.UID]
	return known && r.job == item.Status.JobID && r.generation == item.Generation
}

func (m *memory) intend(item *lsv1alpha1.DeployItem) {
	m.update(item.UID, func(r *recollection) { r.job, r.generation = item.Status.JobID, item.Generation })
}

func (m *memory) lastRepair(uid types.UID) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.items[uid].lastRepair
}

func (m *memory) repaired(uid types.UID, at time.Time) {
	m.update(uid, func(r *recollection) { r.lastRepair, r.repairs = at, false })
}

func (m *memory) repairing(uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.items[uid].repairs
}

func (m *memory) repair(uid types.UID) {
	m.update(uid, func(r *recollection) { r.repairs = true })
}

// complain records why something failed, and reports whether that is news. An empty complaint means that there is no failure.
func (m *memory) complain(uid types.UID, complaint string) (news bool) {
	m.mu.Lock()
	before := m.items[uid].complaint
	m.mu.Unlock()
	if complaint == before {
		return false
	}
	m.update(uid, func(r *recollection) { r.complaint = complaint })
	return complaint != ""
}

func (m *memory) update(uid types.UID, change func(*recollection)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.items == nil {
		m.items = map[types.UID]recollection{}
	}
	r := m.items[uid]
	change(&r)
	m.items[uid] = r
}

func (m *memory) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.items, uid)
}

// follower watches the items that the deployer is working on.
type follower struct{ kind *kind }

// OnAdd does nothing: no call can be running for a new item.
func (f *follower) OnAdd(any, bool) {}

// lookLimit bounds the read of an item's newest version. Usually it comes from the cache.
const lookLimit = 10 * time.Second

// OnUpdate cancels a call that has become obsolete. The event may be older than the item of the call, so it reads the newest version.
func (f *follower) OnUpdate(_, object any) {
	item, ok := object.(*lsv1alpha1.DeployItem)
	if !ok || !f.kind.calls.known(item.UID) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookLimit)
	defer cancel()
	newest := &lsv1alpha1.DeployItem{}
	if err := f.kind.client.Get(ctx, client.ObjectKeyFromObject(item), newest); err == nil {
		f.kind.calls.notice(newest)
	}
}

// OnDelete cancels the call for the item and drops its state.
func (f *follower) OnDelete(object any) {
	if unknown, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	if item, ok := object.(*lsv1alpha1.DeployItem); ok {
		f.kind.calls.cancel(item.UID)
		f.kind.memory.forget(item.UID)
	}
}
