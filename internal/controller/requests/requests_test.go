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

func TestMain(m *testing.M) { testkit.MainWithOthers(m) }

// world runs the controllers of installations; the test sends requests as tools of Flux do.
type world struct{ *managed.World }

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{managed.NewWorld(t, managed.Controllers("installations", "executions", "deployitems"))}
	w.Manage()
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
	if err := w.Client().Patch(w.Context(), object, client.MergeFrom(before)); err != nil {
		w.Fatal(err)
	}
}

const empty = "apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n"

// One value of the annotation starts one job, and the status has the value once it was handled.
func TestARequestStartsOneJob(t *testing.T) {
	w := newWorld(t)
	inst := testkit.Installation(w.Namespace, "app").Blueprint(empty).Build()
	w.Create(inst)
	jobs := map[string]bool{}
	for number, value := range []string{"2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"} {
		w.ask(inst, value)
		inst = testkit.Eventually(t, w.APIServer, inst, testkit.Is("finished after "+value, func(i *lsv1alpha1.Installation) bool {
			return i.Status.LastHandledReconcileAt == value && i.Status.IsFinished() && i.Annotations[lsv1alpha1.OperationAnnotation] == "" &&
				i.Status.Phase == lsv1alpha1.PhaseSucceeded && !jobs[i.Status.JobID]
		}))
		if jobs[inst.Status.JobID] = true; len(jobs) != number+1 {
			t.Errorf("after %d requests there were %d jobs", number+1, len(jobs))
		}
	}
	// A handled value is not handled again: an unrelated change starts nothing.
	last := inst.Status.JobID
	before := inst.DeepCopy()
	inst.Annotations["example.com/note"] = "x"
	if err := w.Client().Patch(t.Context(), inst, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	other := testkit.Installation(w.Namespace, "other").Blueprint(empty).Build()
	w.Create(other)
	w.ask(other, "now")
	testkit.Eventually(t, w.APIServer, other, testkit.Is("finished", func(i *lsv1alpha1.Installation) bool {
		return i.Status.LastHandledReconcileAt == "now" && i.Status.IsFinished() && i.Status.JobID != ""
	}))
	if err := w.Client().Get(t.Context(), client.ObjectKeyFromObject(inst), inst); err != nil {
		t.Fatal(err)
	}
	if inst.Status.JobID != last || inst.Annotations[lsv1alpha1.OperationAnnotation] != "" {
		t.Errorf("another job: %s, %v", inst.Status.JobID, inst.Annotations)
	}
}

// In the continuous flow, the same annotation requests a reconcile, of executions and deploy items as well. In the job flow, these and nested
// installations get their jobs from above, or by status.jobID: a request without effect is not handled.
func TestARequestIsHeardInTheContinuousFlow(t *testing.T) {
	w := newWorld(t)
	inst := testkit.Installation(w.Namespace, "app").Blueprint(empty).Build()
	inst.Spec.Flow = lsv1alpha1.FlowContinuous
	unheard := []client.Object{
		testkit.Installation(w.Namespace, "of-jobs").Blueprint(empty).Label(lsv1alpha1.EncompassedByLabel, "elsewhere").Build(),
		testkit.Execution(w.Namespace, "of-jobs").Build(), testkit.DeployItem(w.Namespace, "of-jobs").Build(),
	}
	execution := testkit.Execution(w.Namespace, "execution").Build()
	execution.Spec.Flow = lsv1alpha1.FlowContinuous
	item := testkit.DeployItem(w.Namespace, "item").Build()
	item.Spec.Flow = lsv1alpha1.FlowContinuous
	w.Create(append(unheard, inst, execution, item)...)
	inst = testkit.Eventually(
		t,
		w.APIServer,
		inst,
		testkit.Is("finished", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseSucceeded }),
	)
	for _, object := range append(unheard, inst, execution, item) {
		w.ask(object, "now")
	}
	testkit.Eventually(t, w.APIServer, inst, testkit.Is("heard", func(i *lsv1alpha1.Installation) bool {
		return i.Status.LastHandledReconcileAt == "now" && i.Annotations[lsv1alpha1.OperationAnnotation] == "" &&
			i.Status.Phase == lsv1alpha1.PhaseSucceeded
	}))
	testkit.Eventually(t, w.APIServer, execution, testkit.Is("heard", func(e *lsv1alpha1.Execution) bool {
		return e.Status.LastHandledReconcileAt == "now" && e.Annotations[lsv1alpha1.OperationAnnotation] == ""
	}))
	// No deployer runs here: the test starts the work and removes the operation.
	item = testkit.Eventually(t, w.APIServer, item, testkit.Is("asked", func(i *lsv1alpha1.DeployItem) bool {
		return i.Annotations[lsv1alpha1.OperationAnnotation] == string(lsv1alpha1.OperationReconcile)
	}))
	w.Annotate(item, lsv1alpha1.OperationAnnotation, "")
	testkit.Eventually(t, w.APIServer, item, testkit.Is("heard", func(i *lsv1alpha1.DeployItem) bool {
		return i.Status.LastHandledReconcileAt == "now"
	}))
	for _, object := range unheard {
		if err := w.Client().Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		if handled := lastHandled(object); handled != "" || object.GetAnnotations()[requests.TakenAnnotation] != "" {
			t.Errorf("a %T of the job flow says that it was heard: %q, %v", object, handled, object.GetAnnotations())
		}
	}
}

func lastHandled(object client.Object) string {
	switch o := object.(type) {
	case *lsv1alpha1.Installation:
		return o.Status.LastHandledReconcileAt
	case *lsv1alpha1.Execution:
		return o.Status.LastHandledReconcileAt
	default:
		return o.(*lsv1alpha1.DeployItem).Status.LastHandledReconcileAt
	}
}
