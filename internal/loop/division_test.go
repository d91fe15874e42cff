// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// An object of another process takes no place in a queue, however it is woken, and nothing is recorded of it.
func TestWhatIsAnothersIsNotQueued(t *testing.T) {
	mine := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: "mine"}}
	theirs := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "a", Name: "theirs"}}
	options := withFilter(Options(1), 1, func(r reconcile.Request) bool { return r != theirs })
	q, ok := options.NewQueue("division", NewBackoff()).(*fairQueue)
	if !ok {
		t.Fatal("the queue is another one")
	}
	defer q.ShutDown()
	q.Add(theirs)
	q.AddAfter(theirs, time.Hour)
	q.AddRateLimited(theirs)
	raised{q}.Add(theirs)
	if _, planned := q.alarms.Next(); q.Len() != 0 || planned || q.NumRequeues(theirs) != 0 {
		t.Errorf("%d objects wait, one is to come later: %t, %d attempts are counted", q.Len(), planned, q.NumRequeues(theirs))
	}
	q.Add(mine)
	if got, _ := q.Get(); got != mine || q.Len() != 0 {
		t.Errorf("the next is %s, and %d wait", got, q.Len())
	}
	q.Done(mine)
}
