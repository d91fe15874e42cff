// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// urgentPriority is above that of events about the objects themselves, which is zero.
const urgentPriority = 10

// Urgent makes a controller process the objects of an event before it starts others. Events about children are urgent: work that has
// started is finished before more is started, so that the first of many objects finish early.
func Urgent(objects handler.MapFunc) handler.EventHandler {
	return urgent{handler.EnqueueRequestsFromMapFunc(objects)}
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

type urgent struct{ events handler.EventHandler }

// Create implements handler.EventHandler. The existence of a child when a process starts is not news, and there may be thousands.
func (u urgent) Create(ctx context.Context, e event.CreateEvent, q queue) {
	if e.IsInInitialList {
		u.events.Create(ctx, e, q)
		return
	}
	u.events.Create(ctx, e, raised{q})
}

// Update implements handler.EventHandler.
func (u urgent) Update(ctx context.Context, e event.UpdateEvent, q queue) {
	u.events.Update(ctx, e, raised{q})
}

// Delete implements handler.EventHandler.
func (u urgent) Delete(ctx context.Context, e event.DeleteEvent, q queue) {
	u.events.Delete(ctx, e, raised{q})
}

// Generic implements handler.EventHandler.
func (u urgent) Generic(ctx context.Context, e event.GenericEvent, q queue) {
	u.events.Generic(ctx, e, raised{q})
}

// raised is a queue in which everything is urgent.
type raised struct{ queue }

// Add implements workqueue.TypedInterface.
func (r raised) Add(item reconcile.Request) {
	priority := urgentPriority
	if q, ok := r.queue.(priorityqueue.PriorityQueue[reconcile.Request]); ok {
		q.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, item)
		return
	}
	r.queue.Add(item)
}
