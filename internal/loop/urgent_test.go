// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"espalier.dev/internal/loop"
)

func TestWhatHasBegunGoesFirst(t *testing.T) {
	named := func(name string) reconcile.Request {
		return reconcile.Request{NamespacedName: client.ObjectKey{Name: name}}
	}
	events := loop.Urgent(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{named("begun")} })
	before, after := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	after.ResourceVersion = "2"
	for name, send := range map[string]func(q priorityqueue.PriorityQueue[reconcile.Request]){
		"created": func(q priorityqueue.PriorityQueue[reconcile.Request]) {
			events.Create(t.Context(), event.CreateEvent{Object: after}, q)
		},
		"updated": func(q priorityqueue.PriorityQueue[reconcile.Request]) {
			events.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, q)
		},
		"deleted": func(q priorityqueue.PriorityQueue[reconcile.Request]) {
			events.Delete(t.Context(), event.DeleteEvent{Object: after}, q)
		},
		"something else": func(q priorityqueue.PriorityQueue[reconcile.Request]) {
			events.Generic(t.Context(), event.GenericEvent{Object: after}, q)
		},
	} {
		t.Run(name, func(t *testing.T) {
			queue := newQueue(t, 1)
			queue.Add(named("new"))
			send(queue)
			for _, want := range []string{"begun", "new"} {
				got, _ := queue.Get()
				if got.Name != want {
					t.Errorf("%q came, want %q", got.Name, want)
				}
				queue.Done(got)
			}
		})
	}
}

// After a start, all children arrive at once. Later requests do not wait for them.
func TestWhatIsThereAtTheStartIsNotUrgent(t *testing.T) {
	queue := newQueue(t, 1)
	events := loop.Urgent(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
	})
	old := &corev1.ConfigMap{}
	old.Name = "old"
	events.Create(t.Context(), event.CreateEvent{Object: old, IsInInitialList: true}, queue)
	queue.Add(reconcile.Request{NamespacedName: client.ObjectKey{Name: "new"}})
	for _, want := range []string{"new", "old"} {
		got, _ := queue.Get()
		if got.Name != want {
			t.Errorf("%q came, want %q", got.Name, want)
		}
		queue.Done(got)
	}
}
