// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

func (w *world) patch(object client.Object, patch string) {
	w.Helper()
	if err := w.cluster.Patch(w.Context(), object, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		w.Fatal(err)
	}
}

func TestCON05_CON52_CON54_DriftOfWhatIsBelowIsRepairedOnce(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	w.create(w.installation("root", threeLevels()).Continuous().Build())
	w.completed("root", lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)

	// The deployer may have processed a change by somebody else before the execution reverts it.
	low := w.items()["low"]
	generation := low.Generation
	w.patch(low, `{"spec":{"timeout":"3m"}}`)
	w.itemEventually(low, "as before", func(i *lsv1alpha1.DeployItem) bool {
		return i.Spec.Timeout == nil && i.Generation == i.Status.ObservedGeneration && i.Status.Phase == lsv1alpha1.PhaseSucceeded
	})
	recorder.Quiet(t, time.Second)
	if w.get(low); low.Generation != generation+2 {
		t.Errorf("the deploy item was written %d times after it was changed", low.Generation-generation-1)
	}
	execution := &lsv1alpha1.Execution{}
	execution.Namespace, execution.Name = w.namespace, low.Labels[lsv1alpha1.ExecutionManagedByLabel]
	w.get(execution)
	w.eventuallyTold(execution, string(lsv1alpha1.PhaseProgressing), "deploy items have changed: ")
	w.gitops(recorder, func() {
		if err := w.cluster.Delete(t.Context(), low); err != nil {
			t.Fatal(err)
		}
		w.itemEventually(low, "there again", func(i *lsv1alpha1.DeployItem) bool {
			return i.UID != low.UID && i.Status.Phase == lsv1alpha1.PhaseSucceeded
		})
	}, 1)
	w.completed("root", lsv1alpha1.PhaseSucceeded)

	leaf := w.children(w.children("root")["middle"].Name)["leaf"]
	w.gitops(recorder, func() {
		if err := w.cluster.Delete(t.Context(), leaf); err != nil {
			t.Fatal(err)
		}
		w.eventually(leaf.Name, "there again", func(i *lsv1alpha1.Installation) bool {
			return i.UID != leaf.UID && i.Status.Phase == lsv1alpha1.PhaseSucceeded
		})
	}, 1)
	w.completed("root", lsv1alpha1.PhaseSucceeded)
	w.gitops(recorder, func() {
		w.get(execution)
		if err := w.cluster.Delete(t.Context(), execution); err != nil {
			t.Fatal(err)
		}
		testkit.Eventually(t, w.server, w.executionOf("leaf"), testkit.Is("there again", func(e *lsv1alpha1.Execution) bool {
			return e.UID != execution.UID && e.Status.Phase == lsv1alpha1.PhaseSucceeded
		}))
	}, 1)
	w.completed("root", lsv1alpha1.PhaseSucceeded)
	w.generationsAreKept("leaf")
}

// generationsAreKept checks what the execution of a level records of its only deploy item.
func (w *world) generationsAreKept(level string) {
	w.Helper()
	e, item := w.executionOf(level), w.itemOf(level, lsv1alpha1.PhaseSucceeded)
	w.get(e)
	want := lsv1alpha1.DeployItemGeneration{
		Name: item.Labels[lsv1alpha1.ExecutionManagedNameLabel], ExecutionGeneration: e.Generation, DeployItemGeneration: item.Generation,
	}
	if got := e.Status.DeployItemGenerations; len(got) != 1 || got[0] != want {
		w.Errorf("the execution keeps %+v, want %+v", got, want)
	}
}
