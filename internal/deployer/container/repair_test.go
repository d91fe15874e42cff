// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container_test

import (
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/deployer/container/inside"
)

// continuousReconcile runs the image again, with the state of the last run. A job comes first.
func TestTheImageRunsAgain(t *testing.T) {
	w := newWorld(t)
	process := w.process("")
	item := w.item("shop", "image: shop\ncontinuousReconcile: {every: 1s}")
	count := func(env inside.Environment) (int32, string) {
		return write(env, inside.EnvState, read(env, inside.EnvState, "counter")+"x", "counter")
	}
	pod := w.pod(item)
	w.runs(pod, count)
	w.succeeds(item)
	for range 2 {
		again := w.podAfter(item, string(pod.UID))
		w.runs(again, count)
		w.gone(again)
		pod = again
	}
	if err := process.Stop(); err != nil {
		t.Fatal(err)
	}
	w.process("")
	again := w.podAfter(item, string(pod.UID))
	w.runs(again, func(env inside.Environment) (int32, string) {
		if got := read(env, inside.EnvState, "counter"); got != "xxx" {
			t.Errorf("the counter is %q", got)
		}
		return 5, "broken"
	})
	w.gone(again)
	w.eventuallyEvent("RepairFailed", "exit code 5")

	interrupted := w.podAfter(item, string(again.UID))
	w.bind(interrupted)
	w.begin(item, "second")
	w.terminates(interrupted)
	job := w.podAfter(item, string(interrupted.UID))
	w.runs(job, nothing)
	w.succeeds(item)
}

// eventuallyEvent waits for an event in the namespace.
func (w *world) eventuallyEvent(reason, part string) {
	w.Helper()
	watcher, err := w.Client().Watch(w.Context(), &eventsv1.EventList{}, client.InNamespace(w.Namespace))
	if err != nil {
		w.Fatal(err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if e, ok := event.Object.(*eventsv1.Event); ok && e.Reason == reason && strings.Contains(e.Note, part) {
			return
		}
	}
	w.Fatalf("there is no event %s with %q", reason, part)
}
