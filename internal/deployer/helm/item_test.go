// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/deployer"
	"espalier.dev/internal/deployer/helm"
	"espalier.dev/internal/deployer/helm/charts"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/target"
	"espalier.dev/internal/testkit"
)

// process runs the deployer in a manager for the world's namespace until the test ends, with the item and its Target stored.
func (w *world) process() {
	w.t.Helper()
	mgr := testkit.NewManager(w.t, w.server.Config(), w.namespace)
	clusters := target.NewClusters(target.Options{Host: mgr.GetAPIReader(), Dialer: dial.Rules{AllowLoopback: true}})
	w.t.Cleanup(clusters.Close)
	d := helm.New(charts.Options{Host: mgr.GetAPIReader(), Dialer: dial.Rules{AllowLoopback: true}})
	err := deployer.Setup(mgr, d, deployer.Options{Name: helm.Name, Clusters: clusters, Workers: 2, CallTimeout: helm.CallTimeout})
	if err != nil {
		w.t.Fatal(err)
	}
	testkit.Run(w.t, mgr.Start)
	w.item.UID, w.item.Generation, w.item.Finalizers = "", 0, []string{landscaper.Finalizer}
	testkit.Create(w.t, w.server, w.targets[ownTarget], w.item)
}

// begin starts a job of the item, as its execution would.
func (w *world) begin(job string) {
	w.t.Helper()
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"jobID": job}})
	if err == nil {
		err = w.server.Client().Status().Patch(w.t.Context(), w.item, client.RawPatch(types.MergePatchType, patch))
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestAnItemFromJobToDeletion(t *testing.T) {
	w := newWorld(t)
	w.use(oneConfigMap)
	w.configure("{values: {key: first}, exports: {exports: [{key: word, jsonPath: .Values.key}]}}")
	w.process()
	w.begin("first")
	done := testkit.EventuallyFinished(t, w.server, w.item, landscaper.PhaseSucceeded)
	if !strings.Contains(string(done.Status.ProviderStatus.Raw), `"revision":1`) {
		t.Errorf("the status is %s", done.Status.ProviderStatus.Raw)
	}
	secret := &corev1.Secret{}
	if !w.read("item-export", secret) || string(secret.Data["config"]) != `{"word":"first"}` {
		t.Errorf("the exports are %s", secret.Data["config"])
	}
	if err := w.server.Client().Delete(t.Context(), done); err != nil {
		t.Fatal(err)
	}
	w.begin("second")
	testkit.EventuallyGone(t, w.server, done)
	if got := w.content(); len(got) > 0 {
		t.Errorf("left behind: %v", got)
	}
}

// A call ends before the item's deadline, and says which hook did not end.
func TestAnItemWhoseHookDoesNotEndSaysSoInTime(t *testing.T) {
	w := newWorld(t)
	w.use(withJobHook)
	w.configure("")
	timeout := landscaper.NewDuration(40 * time.Second) // enough for a slow machine to begin with the hook
	w.item.Spec.Timeout = &timeout
	w.process()
	w.begin("first")
	told := testkit.Eventually(t, w.server, w.item, testkit.Is("told of an error", func(i *landscaper.DeployItem) bool { return i.Status.LastError != nil }))
	if !strings.Contains(told.Status.LastError.Message, "the hook Job migrate") ||
		!slices.Contains(told.Status.LastError.Codes, landscaper.ErrorTimeout) {
		t.Errorf("the last error is %+v", told.Status.LastError)
	}
	if told.Status.Phase.IsFinal() {
		t.Errorf("the phase is %s", told.Status.Phase)
	}
}

// When somebody interrupts the job while a hook runs, the operation ends, too, and the record says so.
func TestAnInterruptedItemEndsTheOperation(t *testing.T) {
	w := newWorld(t)
	w.use(withJobHook)
	w.configure("")
	w.process()
	w.begin("first")
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "migrate"}}
	testkit.Eventually(t, w.server, job, testkit.Is("created", func(*batchv1.Job) bool { return true }))
	patch := `{"status":{"jobIDFinished":"first","phase":"Failed"}}`
	if err := w.server.Client().Status().Patch(t.Context(), w.item, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	record := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "sh.helm.release.v1.shop.v1"}}
	testkit.Eventually(t, w.server, record, testkit.Is("failed", func(s *corev1.Secret) bool { return s.Labels["status"] == "failed" }))
}

// No value shows up in the item's status or in an event.
func TestNothingShowsAValue(t *testing.T) {
	w := newWorld(t)
	w.use("\n-- templates/x.yaml --\n{{ fail .Values.password }}\n")
	w.configure("values: {password: " + secretValue + "}")
	w.process()
	w.begin("first")
	done := testkit.EventuallyFinished(t, w.server, w.item, landscaper.PhaseFailed)
	status, err := json.Marshal(done.Status)
	if err != nil || strings.Contains(string(status), secretValue) || !strings.Contains(done.Status.LastError.Message, "<masked>") {
		t.Errorf("the status is %s, %v", status, err)
	}
	if note := w.warning(done); strings.Contains(note, secretValue) || !strings.Contains(note, "<masked>") {
		t.Errorf("the event says %s", note)
	}
}

// warning waits for a Warning about the item, and returns its note.
func (w *world) warning(item *landscaper.DeployItem) string {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), testkit.Patience)
	defer cancel()
	events, err := w.server.Client().Watch(ctx, &eventsv1.EventList{}, client.InNamespace(item.Namespace))
	if err != nil {
		w.t.Fatal(err)
	}
	defer events.Stop()
	for e := range events.ResultChan() {
		if event, ok := e.Object.(*eventsv1.Event); ok && event.Regarding.UID == item.UID && event.Type == corev1.EventTypeWarning {
			return event.Note
		}
	}
	w.t.Fatal("there is no warning")
	return ""
}
