// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	containerv1alpha1 "espalier.dev/api/deployer/container/v1alpha1"
	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/container"
	"espalier.dev/internal/deployer/container/inside"
	"espalier.dev/internal/testkit"
)

// A failed run reports its exit code and its last output, without secrets.
func TestFailuresAreToldWithoutSecrets(t *testing.T) {
	w := newWorld(t)
	w.process("")
	item := w.item("shop", "image: shop\nimportValues: {password: s3cretword}", w.withTarget(map[string]any{"token": "t0kenofthetarget"}))
	pod := w.pod(item)
	w.runs(pod, func(inside.Environment) (int32, string) {
		return 42, "connecting\nwrong password s3cretword for t0kenofthetarget\ngiving up"
	})
	failed := w.fails(item)
	got := lastError(failed)
	for _, want := range []string{"RunMainContainer", "exit code 42", "giving up", "<masked>"} {
		if !strings.Contains(got, want) {
			t.Errorf("the error lacks %q: %s", want, got)
		}
	}
	all := got + string(failed.Status.ProviderStatus.Raw)
	if strings.Contains(all, "s3cret") || strings.Contains(all, "t0ken") {
		t.Errorf("it shows a secret: %s", all)
	}
	if status := w.status(item); *status.PodStatus.ContainerStatus.ExitCode != 42 {
		t.Errorf("the exit code in the status is %v", status.PodStatus.ContainerStatus.ExitCode)
	}
	if !w.Read(pod) {
		t.Error("the failed pod has gone before the next job")
	}
	w.begin(item, "second")
	w.runs(w.podAfter(item, string(pod.UID)), nothing)
	w.succeeds(item)
}

// The cause that keeps a pod from running is reported at once, and fails the job at once if it cannot resolve itself.
func TestPodsThatDoNotStart(t *testing.T) {
	w := newWorld(t)
	w.process("")
	stuck := w.item("stuck", "image: shop")
	pod := w.pod(stuck)
	w.bind(pod)
	w.tell(pod, func(s *corev1.PodStatus) {
		s.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "no such image"},
		}}}
	})
	if got := lastError(w.fails(stuck)); !strings.HasPrefix(got, "RunMainContainer | ErrImagePull | ") ||
		!strings.Contains(got, "no such image") {
		t.Errorf("got %s", got)
	}
	w.terminates(pod)

	crowded := w.item("crowded", "image: shop")
	pod = w.pod(crowded)
	w.tell(pod, func(s *corev1.PodStatus) {
		s.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			Message: "0/3 nodes are available: 3 Insufficient cpu.",
		}}
	})
	if got := w.waits(crowded, container.WaitingForNode); !strings.Contains(got, "Insufficient cpu") {
		t.Errorf("got %s", got)
	}
	w.runs(pod, nothing)
	w.succeeds(crowded)
}

// terminates plays the end of a pod in deletion: its containers stop, and it disappears.
func (w *world) terminates(pod *corev1.Pod) {
	w.Helper()
	testkit.Eventually(w.T, w.APIServer, pod, testkit.Is("being deleted", func(p *corev1.Pod) bool { return p.DeletionTimestamp != nil }))
	w.Read(pod)
	w.tell(pod, func(s *corev1.PodStatus) { s.Phase = corev1.PodFailed })
	if err := w.Client().Delete(w.Context(), pod, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	w.gone(pod)
}

func TestInterruptAndTimeoutEndThePod(t *testing.T) {
	w := newWorld(t)
	w.process("")
	for name, end := range map[string]func(*landscaper.DeployItem){
		"interrupt": w.interrupt,
		"timeout":   func(*landscaper.DeployItem) {},
	} {
		t.Run(name, func(t *testing.T) {
			item := w.item(name, "image: shop", func(i *landscaper.DeployItem) {
				if name == "timeout" {
					i.Spec.Timeout = new(landscaper.Duration("3s"))
				}
			})
			pod := w.pod(item)
			w.starts(pod)
			end(item)
			got := lastError(w.fails(item))
			if waited := "has been waiting since "; name == "timeout" && !(strings.Contains(got, waited) && strings.Contains(got, pod.Name)) {
				t.Errorf("it does not name what it last waited for: %s", got)
			}
			w.terminates(pod)
			w.Patch(item, `{"spec":{"timeout":"10m"}}`)
			w.begin(item, "second")
			w.runs(w.podAfter(item, string(pod.UID)), nothing)
			w.succeeds(item)
		})
	}
}

// The next run does not start before the pod of an interrupted run has stopped.
func TestTheNextRunWaitsForTheLastOne(t *testing.T) {
	w := newWorld(t)
	w.process("")
	item := w.item("shop", "image: shop")
	pod := w.pod(item)
	w.bind(pod)
	w.interrupt(item)
	w.begin(item, "second")
	if got := w.waits(item, container.WaitingForEarlierPod); !strings.Contains(got, "on node node") {
		t.Errorf("got %s", got)
	}
	w.terminates(pod)
	next := w.podAfter(item, string(pod.UID))
	w.runs(next, nothing)
	w.succeeds(item)
	w.createdPods(2)
}

// If the spec changes in the middle of a job, the new spec is what runs in the end.
func TestANewSpecEndsTheRun(t *testing.T) {
	w := newWorld(t)
	w.process("")
	item := w.item("shop", "image: shop\nimportValues: {version: 1}")
	pod := w.pod(item)
	w.bind(pod)
	w.Patch(item, `{"spec":{"config":{"importValues":{"version":2}}}}`)
	w.terminates(pod)
	w.runs(w.podAfter(item, string(pod.UID)), func(env inside.Environment) (int32, string) {
		return write(env, inside.EnvExports, read(env, inside.EnvImports))
	})
	w.succeeds(item)
	if got := w.exports(item); got["version"] != 2.0 {
		t.Errorf("the exports are %v", got)
	}
}

// A deletion in the middle of a job waits for the job; then the image runs with DELETE.
func TestADeletionWaitsForTheRun(t *testing.T) {
	w := newWorld(t)
	w.process("")
	item := w.item("shop", "image: shop")
	pod := w.pod(item)
	w.Delete(item)
	w.runs(pod, nothing)
	w.succeeds(item)
	w.begin(item, "second")
	w.runs(w.podAfter(item, string(pod.UID)), func(env inside.Environment) (int32, string) {
		if env(inside.EnvOperation) != "DELETE" {
			t.Errorf("the operation is %s", env(inside.EnvOperation))
		}
		return 0, ""
	})
	testkit.EventuallyGone(t, w.APIServer, item)
}

// A failed DELETE keeps the item and reports the way out.
func TestAFailedDeletionCanBeForced(t *testing.T) {
	w := newWorld(t)
	w.process("")
	item, _ := w.deployed("shop")
	w.Delete(item)
	w.begin(item, "second")
	last := w.pod(item)
	w.runs(last, func(inside.Environment) (int32, string) { return 3, "cannot" })
	failed := testkit.EventuallyFinished(t, w.APIServer, item, landscaper.PhaseDeleteFailed)
	if got := lastError(failed); !strings.Contains(got, "exit code 3") || !strings.Contains(got, containerv1alpha1.ForceCleanupAnnotation) {
		t.Errorf("got %s", got)
	}
	w.Annotate(item, containerv1alpha1.ForceCleanupAnnotation, "true")
	w.begin(item, "third")
	testkit.EventuallyGone(t, w.APIServer, item)
	w.gone(last)
	w.nothingLeft()
	w.createdPods(2)
}

// An item whose image never ran, because of its configuration, is deleted without a run.
func TestAnItemThatNeverRan(t *testing.T) {
	w := newWorld(t)
	w.process("")
	item := w.item("shop", "image: shop\nregistryPullSecrets: [{name: login, namespace: elsewhere}, {}]")
	failed := w.fails(item)
	got := lastError(failed)
	if !strings.Contains(got, "registryPullSecrets[0].namespace") || !strings.Contains(got, "registryPullSecrets[1].name") ||
		!slices.Contains(failed.Status.LastError.Codes, landscaper.ErrorConfigurationProblem) {
		t.Errorf("got %s", got)
	}
	w.Delete(item)
	w.begin(item, "second")
	testkit.EventuallyGone(t, w.APIServer, item)
	w.createdPods(0)
}

// Leftovers of an item that is released without its deployer are removed, even in the middle of a run, and even if no process
// was running at the time.
func TestNothingIsLeftOfItemsThatVanish(t *testing.T) {
	w := newWorld(t)
	first := w.process("")
	item := w.item("shop", "image: shop")
	pod := w.pod(item)
	w.bind(pod)
	w.Annotate(item, landscaper.DeleteWithoutUninstallAnnotation, "true")
	w.Delete(item)
	testkit.EventuallyGone(t, w.APIServer, item)
	w.terminates(pod)
	w.eventually("everything is removed", func() bool { return len(w.objects(w.Namespace)) == 0 })

	other, _ := w.deployed("other")
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	w.Patch(other, `{"metadata":{"finalizers":null}}`)
	w.Delete(other)
	testkit.EventuallyGone(t, w.APIServer, other)
	stranger := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "stranger"}}
	w.Create(stranger)
	w.process("")
	w.eventually("everything is removed", func() bool { return len(w.objects(w.Namespace)) == 0 })
	if !w.Read(stranger) {
		t.Error("a Secret of somebody else is gone")
	}
}
