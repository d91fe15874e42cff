// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package loop_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"espalier.dev/internal/loop"
	"espalier.dev/internal/testkit"
)

type fairQueue = priorityqueue.PriorityQueue[reconcile.Request]

// newQueue is the queue of a controller with the given number of workers per namespace.
func newQueue(t *testing.T, workers int) fairQueue {
	t.Helper()
	queue := queueNamed("", workers)
	t.Cleanup(queue.ShutDown)
	return queue
}

func queueNamed(name string, workers int) fairQueue {
	options := loop.Options(workers)
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute)
	return options.NewQueue(name, limiter).(fairQueue)
}

func object(namespace string, number int) reconcile.Request {
	return reconcile.Request{NamespacedName: client.ObjectKey{Namespace: namespace, Name: fmt.Sprint(number)}}
}

// take returns the next object, which must exist.
func take(t *testing.T, queue fairQueue) reconcile.Request {
	t.Helper()
	if queue.Len() == 0 {
		t.Fatal("nothing waits")
	}
	got, down := queue.Get()
	if down {
		t.Fatal("the queue is closed")
	}
	return got
}

func TestASingleObjectOvertakesTheManyOfAnotherNamespace(t *testing.T) {
	queue := newQueue(t, 8)
	for i := range 400 {
		queue.Add(object("flood", i))
	}
	queue.Add(object("single", 0))
	for i, want := range []reconcile.Request{object("flood", 0), object("single", 0), object("flood", 1), object("flood", 2)} {
		if got := take(t, queue); got != want {
			t.Errorf("%d. came %s, want %s", i, got, want)
		}
	}
}

// A namespace keeps no more workers busy than one namespace may have, although there are more; another namespace gets the others at once,
// however long the passes of the first one take.
func TestSomeWorkersAreLeftForOtherNamespaces(t *testing.T) {
	const workers = 8
	if all := loop.Options(workers).MaxConcurrentReconciles; all <= workers {
		t.Fatalf("there are %d workers, want some more than the %d of one namespace", all, workers)
	}
	synctest.Test(t, func(t *testing.T) {
		queue := queueNamed("", workers)
		defer queue.ShutDown()
		for i := range 400 {
			queue.Add(object("flood", i))
		}
		var begun []reconcile.Request
		for range workers {
			begun = append(begun, take(t, queue))
		}
		spare := make(chan reconcile.Request, 1)
		go func() {
			got, _ := queue.Get()
			spare <- got
		}()
		synctest.Wait()
		if len(spare) > 0 {
			t.Fatalf("%s came beyond the share of its namespace", <-spare)
		}
		queue.Add(object("single", 0))
		if got := <-spare; got != object("single", 0) {
			t.Errorf("%s came, want the object of the other namespace", got)
		}
		queue.Done(begun[0])
		if got := take(t, queue); got != object("flood", workers) {
			t.Errorf("%s came, want the next one of the flood", got)
		}
	})
}

func TestOneWorkerStaysOne(t *testing.T) {
	if got := loop.Options(1).MaxConcurrentReconciles; got != 1 {
		t.Errorf("%d workers, want 1 as asked for", got)
	}
}

func TestDelays(t *testing.T) {
	a := object("ns", 1)
	after := func(d time.Duration) priorityqueue.AddOpts { return priorityqueue.AddOpts{After: d} }
	for name, c := range map[string]struct {
		add  []priorityqueue.AddOpts
		want []time.Duration // when it comes, from the start
	}{
		"at its time":                     {[]priorityqueue.AddOpts{after(3 * time.Second)}, []time.Duration{3 * time.Second}},
		"at the earlier of two times":     {[]priorityqueue.AddOpts{after(3 * time.Second), after(time.Second)}, []time.Duration{time.Second}},
		"not later than said before":      {[]priorityqueue.AddOpts{after(time.Second), after(3 * time.Second)}, []time.Duration{time.Second}},
		"at once, and not again":          {[]priorityqueue.AddOpts{after(time.Second), {}}, []time.Duration{0}},
		"at once, and no time is planned": {[]priorityqueue.AddOpts{{}, after(time.Second)}, []time.Duration{0}},
		"when the limit says":             {[]priorityqueue.AddOpts{{RateLimited: true}}, []time.Duration{time.Second}},
		"not later than the limit says": {
			[]priorityqueue.AddOpts{{RateLimited: true, After: time.Minute}}, []time.Duration{time.Second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queue, began := queueNamed("", 1), time.Now()
				for _, opts := range c.add {
					queue.AddWithOpts(opts, a)
				}
				var came []time.Duration
				go func() {
					for {
						got, down := queue.Get()
						if down {
							return
						}
						came = append(came, time.Since(began))
						queue.Done(got)
					}
				}()
				<-time.After(time.Hour) //lint:allow patience the time is that of a synctest bubble
				queue.ShutDown()
				synctest.Wait()
				if fmt.Sprint(came) != fmt.Sprint(c.want) {
					t.Errorf("it came after %v, want %v", came, c.want)
				}
			})
		})
	}
}

func TestTheLimitGrowsUntilItIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue, a := queueNamed("", 1), object("ns", 1)
		defer queue.ShutDown()
		wait := func() time.Duration {
			began := time.Now()
			queue.AddRateLimited(a)
			got, _ := queue.Get()
			queue.Done(got)
			return time.Since(began)
		}
		if first, next := wait(), wait(); first != time.Second || next != 2*time.Second {
			t.Errorf("intervals %v and %v, want 1s and 2s", first, next)
		}
		if got := queue.NumRequeues(a); got != 2 {
			t.Errorf("%d repetitions, want 2", got)
		}
		queue.Forget(a)
		if again := wait(); again != time.Second {
			t.Errorf("interval %v after it was forgotten, want 1s", again)
		}
	})
}

// An object that controller-runtime requeues keeps its priority, which the queue must therefore return.
func TestPrioritiesAreReported(t *testing.T) {
	queue := newQueue(t, 1)
	for _, priority := range []int{handler.LowPriority, 0, 10} {
		queue.AddWithOpts(priorityqueue.AddOpts{Priority: &priority}, object("ns", priority))
	}
	for _, want := range []int{10, 0, handler.LowPriority} {
		got, priority, _ := queue.GetWithPriority()
		if got != object("ns", want) || priority != want {
			t.Errorf("%s of priority %d, want that of priority %d", got, priority, want)
		}
		queue.Done(got)
	}
}

func TestAfterTheEndNothingIsBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue, ended := queueNamed("", 1), make(chan bool, 1)
		queue.AddAfter(object("ns", 1), time.Minute)
		go func() {
			_, down := queue.Get()
			ended <- down
		}()
		synctest.Wait()
		queue.ShutDown()
		if !<-ended {
			t.Error("who waited was given something")
		}
		queue.Add(object("ns", 2))
		<-time.After(time.Hour) //lint:allow patience the time is that of a synctest bubble
		if queue.Len() != 0 || !queue.ShuttingDown() {
			t.Errorf("%d objects wait in a queue that is closed", queue.Len())
		}
	})
	queue := newQueue(t, 1)
	queue.Add(object("ns", 1))
	queue.ShutDown()
	if got, down := queue.Get(); !down {
		t.Errorf("%s is begun after the end", got)
	}
}

func TestWhatWaitsIsDoneBeforeADrainedQueueEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue, drained := queueNamed("", 1), make(chan struct{})
		for i := range 3 {
			queue.Add(object("ns", i))
		}
		queue.AddAfter(object("ns", 99), time.Minute)
		first := take(t, queue)
		queue.Add(first) // again
		go func() {
			queue.ShutDownWithDrain()
			close(drained)
		}()
		synctest.Wait()
		queue.Add(object("ns", 4)) // too late
		queue.Done(first)
		for _, want := range []int{1, 2, 0} {
			select {
			case <-drained:
				t.Fatal("the queue has ended too early")
			default:
			}
			got := take(t, queue)
			if got != object("ns", want) {
				t.Errorf("%s came, want %d", got, want)
			}
			queue.Done(got)
		}
		<-drained
		if got, down := queue.Get(); !down {
			t.Errorf("%s came after the end", got)
		}
	})
}

func TestADrainThatTakesTooLongCanBeCutShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		queue, drained := queueNamed("", 1), make(chan struct{})
		queue.Add(object("ns", 1))
		take(t, queue)
		go func() {
			queue.ShutDownWithDrain()
			close(drained)
		}()
		synctest.Wait()
		queue.ShutDown()
		<-drained
	})
}

// Many goroutines add and process objects: a pass that starts later follows each addition, no object is ever processed by two workers at
// once, and no namespace has more in progress than it may.
func TestNothingIsLostAndNothingIsInTwoHands(t *testing.T) {
	const workers, adders, additions, namespaces, objects = 4, 6, 2000, 3, 5
	queue := newQueue(t, workers)
	var wanted, seen [namespaces][objects]atomic.Int64
	var hands [namespaces][objects]atomic.Int64
	var inWork [namespaces]atomic.Int64
	var working, adding sync.WaitGroup
	for range loop.Options(workers).MaxConcurrentReconciles {
		working.Go(func() {
			for {
				got, down := queue.Get()
				if down {
					return
				}
				var ns, o int
				_, _ = fmt.Sscan(got.Namespace, &ns)
				_, _ = fmt.Sscan(got.Name, &o)
				if hands[ns][o].Add(1) != 1 {
					t.Errorf("%s is in two hands", got)
				}
				if inWork[ns].Add(1) > workers {
					t.Errorf("namespace %d has more in work than it may", ns)
				}
				seen[ns][o].Store(wanted[ns][o].Load())
				inWork[ns].Add(-1)
				hands[ns][o].Add(-1)
				queue.Done(got)
			}
		})
	}
	for range adders {
		adding.Go(func() {
			for range additions {
				ns, o := rand.IntN(namespaces), rand.IntN(objects)
				wanted[ns][o].Add(1)
				priority := rand.IntN(3) - 1
				opts := priorityqueue.AddOpts{Priority: &priority, After: time.Duration(rand.IntN(2)) * time.Microsecond}
				queue.AddWithOpts(opts, object(fmt.Sprint(ns), o))
			}
		})
	}
	adding.Wait()
	err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, testkit.Patience, true, func(context.Context) (bool, error) {
		for ns := range namespaces {
			for o := range objects {
				if seen[ns][o].Load() != wanted[ns][o].Load() {
					return false, nil
				}
			}
		}
		return true, nil
	})
	if err != nil {
		t.Errorf("some additions were not followed by a pass: %v", err)
	}
	queue.ShutDownWithDrain()
	working.Wait()
}

// The queue has the metrics of every work queue.
func TestTheQueueHasMetrics(t *testing.T) {
	queue := queueNamed("queue-of-this-test", 1)
	defer queue.ShutDown()
	for i := range 3 {
		queue.Add(object("ns", i))
	}
	queue.Add(object("ns", 0)) // already waits
	queue.Done(take(t, queue))
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "name" && label.GetValue() == "queue-of-this-test" {
					found[family.GetName()] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue() +
						float64(metric.GetHistogram().GetSampleCount())
				}
			}
		}
	}
	for name, want := range map[string]float64{
		"workqueue_depth": 2, "workqueue_adds_total": 3, "workqueue_queue_duration_seconds": 1, "workqueue_work_duration_seconds": 1,
	} {
		if found[name] != want {
			t.Errorf("%s is %v, want %v; there are %v", name, found[name], want, found)
		}
	}
}
