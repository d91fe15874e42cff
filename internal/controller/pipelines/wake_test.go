// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipelines

import (
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// LookNow enqueues the pipeline; without a queue, this replica does not lead.
func TestPIP27_LookingNowIsAnotherPass(t *testing.T) {
	c := &Controller{wakes: &wakes{}}
	c.LookNow(owner)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := c.wakes.source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	if queue.Len() != 0 {
		t.Errorf("%d requests came from before the queue", queue.Len())
	}
	c.LookNow(owner)
	if queue.Len() != 1 {
		t.Fatalf("%d requests, want one", queue.Len())
	}
	if got, _ := queue.Get(); got.NamespacedName != owner {
		t.Errorf("the request is for %s", got)
	}
}
