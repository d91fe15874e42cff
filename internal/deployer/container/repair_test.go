// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	containerv1alpha1 "espalier.dev/api/deployer/container/v1alpha1"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/testkit"
)

// continuousReconcile runs the image again, with the state of the last run. A job takes precedence.
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

// runsAgain deploys an item and returns the pod of its first repair, once the status records it.
func (w *world) runsAgain(name string, change ...func(*landscaper.DeployItem)) (*landscaper.DeployItem, *corev1.Pod) {
	w.Helper()
	item := w.item(name, "image: shop\ncontinuousReconcile: {every: 1s}", change...)
	pod := w.pod(item)
	w.runs(pod, nothing)
	w.succeeds(item)
	before := w.status(item).PodStatus.Run
	again := w.podAfter(item, string(pod.UID))
	testkit.Eventually(w.T, w.APIServer, item, testkit.Is("recorded as running again", func(i *landscaper.DeployItem) bool {
		var status containerv1alpha1.ProviderStatus
		err := json.Unmarshal(i.Status.ProviderStatus.Raw, &status)
		return err == nil && status.PodStatus.Run != before && status.PodStatus.EndedAt == nil
	}))
	return item, again
}

// What an image has done counts, even if the deployer learns of it late.
func TestARepeatedRunThatHasEndedIsNotTimedOut(t *testing.T) {
	w := newWorld(t)
	process := w.process("")
	item, again := w.runsAgain("shop")
	if err := process.Stop(); err != nil {
		t.Fatal(err)
	}
	w.runs(again, nothing)
	longAgo := time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)
	w.PatchStatus(item, `{"status":{"providerStatus":{"podStatus":{"lastRun":"`+longAgo+`"}}}}`)
	w.process("")
	w.eventuallyEvent("Repaired", "ended with exit code 0")
}

func TestARepeatedRunThatTakesTooLongIsTimedOut(t *testing.T) {
	w := newWorld(t)
	process := w.process("")
	item, again := w.runsAgain("shop")
	if err := process.Stop(); err != nil {
		t.Fatal(err)
	}
	w.starts(again)
	longAgo := time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)
	w.PatchStatus(item, `{"status":{"providerStatus":{"podStatus":{"lastRun":"`+longAgo+`"}}}}`)
	w.process("")
	w.eventuallyEvent("RepairFailed", fmt.Sprintf("timed out after spec.timeout: Pod %s/%s is running on node node with operation RECONCILE "+
		"(created at %s)", again.Namespace, again.Name, again.CreationTimestamp.UTC().Format(time.RFC3339)))
}

// An image that cannot even start says so when its time is up.
func TestARepeatedRunThatNeverStartsSaysWhy(t *testing.T) {
	w := newWorld(t)
	process := w.process("")
	item, again := w.runsAgain("shop")
	if err := process.Stop(); err != nil {
		t.Fatal(err)
	}
	w.tell(again, func(s *corev1.PodStatus) {
		s.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: "0/3 nodes are available: 3 Insufficient cpu.",
		}}
	})
	longAgo := time.Now().Add(-24 * time.Hour).UTC().Format(time.RFC3339)
	w.PatchStatus(item, `{"status":{"providerStatus":{"podStatus":{"lastRun":"`+longAgo+`"}}}}`)
	w.process("")
	w.eventuallyEvent("RepairFailed", "cannot be scheduled: 0/3 nodes are available: 3 Insufficient cpu.")
}

// A run that has started before its tree is suspended finishes, also in another process.
func TestCON10_ARepeatedRunFinishesInASuspendedTree(t *testing.T) {
	w := newWorld(t)
	root := testkit.Installation(w.Namespace, "root").Build()
	w.Create(root)
	above := testkit.Execution(w.Namespace, "root").Build()
	owner := landscaper.SchemeGroupVersion.WithKind("Installation")
	above.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(root, owner)}
	w.Create(above)
	process := w.process("")
	_, again := w.runsAgain("shop", func(item *landscaper.DeployItem) {
		item.Labels = map[string]string{landscaper.ExecutionManagedByLabel: above.Name}
	})
	w.Annotate(root, landscaper.SuspendAnnotation, "true")
	if err := process.Stop(); err != nil {
		t.Fatal(err)
	}
	w.process("")
	w.runs(again, nothing)
	w.eventuallyEvent("Repaired", "ended with exit code 0")
}
