// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package requests_test

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/controller/requests"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// world runs the controllers of installations; the test asks as tools of Flux do.
type world struct {
	*testing.T
	server    *testkit.APIServer
	namespace string
}

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{T: t, server: testkit.Server(t)}
	w.namespace = w.server.Namespace(t)
	options := managed.Options(w.namespace)
	options.Controllers = []string{"installations", "executions", "deployitems"}
	managed.Run(t, w.server.Config(), options)
	return w
}

func (w world) ask(object client.Object, value string) {
	w.Helper()
	before := object.DeepCopyObject().(client.Object)
	annotations := map[string]string{requests.Annotation: value}
	for name, text := range object.GetAnnotations() {
		if name != requests.Annotation {
			annotations[name] = text
		}
	}
	object.SetAnnotations(annotations)
	if err := w.server.Client().Patch(w.Context(), object, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

const empty = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"

// One value of the annotation is one job, and the status has the value once it was heard.
func TestARequestStartsOneJob(t *testing.T) {
	w := newWorld(t)
	inst := testkit.Installation(w.namespace, "app").Blueprint(empty).Build()
	testkit.Create(t, w.server, inst)
	jobs := map[string]bool{}
	for number, value := range []string{"2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"} {
		w.ask(inst, value)
		inst = testkit.Eventually(t, w.server, inst, testkit.Is("finished after "+value, func(i *lsv1alpha1.Installation) bool {
			return i.Status.LastHandledReconcileAt == value && i.Status.IsFinished() && i.Annotations[lsv1alpha1.OperationAnnotation] == "" &&
				i.Status.Phase == lsv1alpha1.PhaseSucceeded && !jobs[i.Status.JobID]
		}))
		if jobs[inst.Status.JobID] = true; len(jobs) != number+1 {
			t.Errorf("after %d requests there were %d jobs", number+1, len(jobs))
		}
	}
	// What was heard is not heard again: an unrelated change starts nothing.
	last := inst.Status.JobID
	before := inst.DeepCopy()
	inst.Annotations["example.com/note"] = "x"
	if err := w.server.Client().Patch(t.Context(), inst, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	other := testkit.Installation(w.namespace, "other").Blueprint(empty).Build()
	testkit.Create(t, w.server, other)
	w.ask(other, "now")
	testkit.Eventually(t, w.server, other, testkit.Is("finished", func(i *lsv1alpha1.Installation) bool {
		return i.Status.LastHandledReconcileAt == "now" && i.Status.IsFinished() && i.Status.JobID != ""
	}))
	if err := w.server.Client().Get(t.Context(), client.ObjectKeyFromObject(inst), inst); err != nil {
		t.Fatal(err)
	}
	if inst.Status.JobID != last || inst.Annotations[lsv1alpha1.OperationAnnotation] != "" {
		t.Errorf("another job: %s, %v", inst.Status.JobID, inst.Annotations)
	}
}

// In the continuous flow the same asks for a reconcile, of executions as well.
func TestARequestIsHeardInTheContinuousFlow(t *testing.T) {
	w := newWorld(t)
	inst := testkit.Installation(w.namespace, "app").Blueprint(empty).Build()
	inst.Spec.Flow = lsv1alpha1.FlowContinuous
	testkit.Create(t, w.server, inst)
	inst = testkit.Eventually(t, w.server, inst, testkit.Is("finished", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseSucceeded }))
	w.ask(inst, "now")
	testkit.Eventually(t, w.server, inst, testkit.Is("heard", func(i *lsv1alpha1.Installation) bool {
		return i.Status.LastHandledReconcileAt == "now" && i.Annotations[lsv1alpha1.OperationAnnotation] == "" && i.Status.Phase == lsv1alpha1.PhaseSucceeded
	}))
}
