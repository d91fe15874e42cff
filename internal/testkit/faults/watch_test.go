// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// observer is an informer behind a faulty connection, like those of controllers.
type observer struct {
	store  cache.Store
	events chan string
}

func observe(t *testing.T, w *world) *observer {
	t.Helper()
	clients, err := kubernetes.NewForConfig(w.transport.Config(testkit.Server(t).Config()))
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(w.Namespace))
	informer := factory.Core().V1().ConfigMaps().Informer()
	o := &observer{store: informer.GetStore(), events: make(chan string, 100)}
	if _, err := informer.AddEventHandler(o.handler()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory.StartWithContext(ctx)
	t.Cleanup(func() { cancel(); factory.Shutdown() })
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer did not sync")
	}
	return o
}

func (o *observer) handler() cache.ResourceEventHandler {
	value := func(object any) string {
		m := object.(*corev1.ConfigMap)
		return fmt.Sprintf("%s=%s", m.Name, m.Data["value"])
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { o.events <- "add " + value(object) },
		UpdateFunc: func(_, object any) { o.events <- "update " + value(object) },
		DeleteFunc: func(object any) {
			if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = unknown.Obj
			}
			o.events <- "delete " + value(object)
		},
	}
}

// expect waits for exactly these events, in this order.
func (o *observer) expect(t *testing.T, want ...string) {
	t.Helper()
	for _, next := range want {
		select {
		case got := <-o.events:
			if got != next {
				t.Fatalf("saw %q, want %q", got, next)
			}
		case <-time.After(testkit.Patience):
			t.Fatalf("never saw %q", next)
		}
	}
}

func (o *observer) expectNothingYet(t *testing.T) {
	t.Helper()
	select {
	case got := <-o.events:
		t.Fatalf("saw %q, which was withheld", got)
	default:
	}
}

func awaitHeld(t *testing.T, w *world, events int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	defer cancel()
	if err := w.transport.AwaitHeld(ctx, "configmaps", events); err != nil {
		t.Fatal(err)
	}
}

func TestHoldDelaysAndKeepsTheOrder(t *testing.T) {
	w := newWorld(t, "watch:configmaps:hold")
	w.write("old", "1")
	o := observe(t, w) // the list passes
	o.expect(t, "add old=1")
	w.write("a", "1")
	w.write("a", "2")
	w.write("b", "1")
	w.delete("a")
	awaitHeld(t, w, 4)
	o.expectNothingYet(t)
	w.transport.Release("configmaps")
	o.expect(t, "add a=1", "update a=2", "add b=1", "delete a=2")
	w.write("c", "1")
	o.expect(t, "add c=1")
}

func TestHoldLeavesOtherResourcesAlone(t *testing.T) {
	w := newWorld(t, "watch:secrets:hold")
	o := observe(t, w)
	w.write("a", "1")
	o.expect(t, "add a=1")
}

func TestHoldBetweenTwoWrites(t *testing.T) {
	w := newWorld(t, "watch:configmaps:hold:2..3")
	w.transport.SetMaxHold(time.Hour)
	o := observe(t, w)
	create := func(name string) {
		t.Helper()
		if err := w.faulty.Create(t.Context(), w.configMap(name)); err != nil {
			t.Fatal(err)
		}
	}
	create("first")
	o.expect(t, "add first=")
	create("second")
	awaitHeld(t, w, 1)
	o.expectNothingYet(t)
	create("third")
	o.expect(t, "add second=", "add third=")
}

func TestHoldEndsWhenTheWriteNeverComes(t *testing.T) {
	w := newWorld(t, "watch:configmaps:hold:1..9")
	w.transport.SetMaxHold(100 * time.Millisecond)
	o := observe(t, w)
	if err := w.faulty.Create(t.Context(), w.configMap("a")); err != nil {
		t.Fatal(err)
	}
	o.expect(t, "add a=")
}

func TestHoldForATime(t *testing.T) {
	w := newWorld(t, "watch:configmaps:hold:1..+100ms")
	o := observe(t, w)
	if err := w.faulty.Create(t.Context(), w.configMap("a")); err != nil {
		t.Fatal(err)
	}
	o.expect(t, "add a=")
}

func TestSlowWatchDeliversEverythingInOrder(t *testing.T) {
	w := newWorld(t, "watch:configmaps:slow=30ms")
	o := observe(t, w)
	w.write("a", "1")
	w.write("a", "2")
	w.write("b", "1")
	o.expect(t, "add a=1", "update a=2", "add b=1")
}

func TestCutWatchIsResumed(t *testing.T) {
	w := newWorld(t, "")
	o := observe(t, w)
	w.write("a", "1")
	o.expect(t, "add a=1")
	watches := countWatches(w)
	w.transport.Cut("configmaps")
	w.write("a", "2")
	w.write("a", "3")
	o.expect(t, "update a=2", "update a=3")
	if countWatches(w) <= watches {
		t.Error("the client did not have to watch again, so nothing was cut")
	}
}

// A cut during a hold makes the client resume; nothing is lost, and the hold continues. The client is a plain one, because an informer
// lists again when a watch ends early without any event, and then knows more than the hold permits.
func TestCutDuringAHold(t *testing.T) {
	w := newWorld(t, "watch:configmaps:hold")
	var list corev1.ConfigMapList
	if err := w.faulty.List(t.Context(), &list, client.InNamespace(w.Namespace)); err != nil {
		t.Fatal(err)
	}
	resume := func() watch.Interface {
		t.Helper()
		options := &client.ListOptions{Namespace: w.Namespace, Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}}
		watcher, err := w.faulty.Watch(t.Context(), &list, options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(watcher.Stop)
		return watcher
	}
	first := resume()
	w.write("a", "1")
	awaitHeld(t, w, 1)
	w.transport.Cut("configmaps")
	if event, open := <-first.ResultChan(); open {
		t.Fatalf("saw %v, which was withheld", event)
	}
	second := resume()
	w.write("a", "2")
	awaitHeld(t, w, 2)
	w.transport.Release("configmaps")
	for _, want := range []watch.EventType{watch.Added, watch.Modified} {
		if event := <-second.ResultChan(); event.Type != want {
			t.Errorf("saw %v, want %s", event, want)
		}
	}
}

func TestGoneMakesTheClientListAgain(t *testing.T) {
	w := newWorld(t, "watch:configmaps:gone:1")
	w.write("a", "1")
	o := observe(t, w)
	o.expect(t, "add a=1")
	lists := countLists(w)
	if err := w.faulty.Create(t.Context(), w.configMap("b")); err != nil {
		t.Fatal(err)
	}
	o.expectAll(t, "add b=", "update a=1")
	if countLists(w) <= lists {
		t.Errorf("the client did not list anew:\n%s", w.transport.Log())
	}
}

// After a relist the client has seen the last state, but none in between, not even that the object was replaced.
func TestRelistSkipsStates(t *testing.T) {
	w := newWorld(t, "")
	w.write("a", "1")
	w.write("b", "1")
	o := observe(t, w)
	o.expectAll(t, "add a=1", "add b=1")
	w.transport.Hold("configmaps")
	w.write("a", "2")
	w.write("a", "3")
	w.delete("b")
	w.write("b", "2")
	awaitHeld(t, w, 4)
	w.transport.Expire("configmaps")
	o.expectAll(t, "update a=3", "update b=2")
	w.transport.Release("configmaps")
	w.write("a", "4")
	o.expect(t, "update a=4")
}

func TestPlannedRelist(t *testing.T) {
	w := newWorld(t, "watch:configmaps:relist:1..2")
	w.transport.SetMaxHold(time.Hour)
	o := observe(t, w)
	object := w.configMap("a")
	if err := w.faulty.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	awaitHeld(t, w, 1)
	object.Data = map[string]string{"value": "2"}
	if err := w.faulty.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	o.expect(t, "add a=2")
}

// expectAll waits for these events in any order: those of a list have none.
func (o *observer) expectAll(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	for range want {
		select {
		case event := <-o.events:
			got = append(got, event)
		case <-time.After(testkit.Patience):
			t.Fatalf("saw only %q of %q", got, want)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Fatalf("saw %q, want %q", got, want)
	}
}

func TestCrashBreaksOpenWatches(t *testing.T) {
	w := newWorld(t, "")
	watcher, err := w.faulty.Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(w.Namespace))
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	w.write("a", "1")
	if event := <-watcher.ResultChan(); event.Type != watch.Added {
		t.Fatalf("saw %v", event)
	}
	w.transport.Crash()
	for deadline, open := time.After(testkit.Patience), true; open; {
		var event watch.Event
		select {
		case event, open = <-watcher.ResultChan():
			if open && event.Type != watch.Error {
				t.Errorf("saw %v after the crash", event)
			}
		case <-deadline:
			t.Fatal("the watch outlives the crash")
		}
	}
	if _, err := w.faulty.Watch(t.Context(), &corev1.ConfigMapList{}, client.InNamespace(w.Namespace)); !isRefused(err) {
		t.Errorf("a new watch after the crash: %v", err)
	}
}

// Clients that request a binary format for built-in kinds, like those for metadata, get JSON.
func TestBinaryWatchesAreTurnedToJSON(t *testing.T) {
	w := newWorld(t, "watch:configmaps:hold")
	metadataClient, err := metadata.NewForConfig(w.transport.Config(testkit.Server(t).Config()))
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := metadataClient.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).
		Namespace(w.Namespace).
		Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watcher.Stop()
	w.write("a", "1")
	awaitHeld(t, w, 1)
	w.transport.Release("configmaps")
	event := <-watcher.ResultChan()
	if object, ok := event.Object.(*metav1.PartialObjectMetadata); !ok || object.Name != "a" {
		t.Errorf("saw %v", event)
	}
}

func TestAwaitHeldGivesUp(t *testing.T) {
	w := newWorld(t, "watch:configmaps:hold")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.transport.AwaitHeld(ctx, "configmaps", 1); err == nil {
		t.Error("it found events where there are none")
	}
}

func countWatches(w *world) int {
	return len(w.transport.Log().Where(func(e faults.Entry) bool { return e.Verb == "watch" }))
}

// countLists counts lists, streamed ones included: those begin with a watch that names no revision.
func countLists(w *world) int {
	return len(w.transport.Log().Where(func(e faults.Entry) bool { return e.Verb == "list" || e.StreamsList }))
}
