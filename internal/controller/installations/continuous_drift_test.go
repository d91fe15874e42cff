// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
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

	// The deployer may be done with what somebody has written before the execution puts it right.
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
}

// A tree changes its flow in both directions, and nothing is deployed because of it.
func TestTheFlowOfATreeChangesWithoutDeployments(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	w.create(w.installation("root", threeLevels()).Reconcile().Build())
	first := w.finished("root", lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)

	w.gitops(recorder, func() {
		w.change("root", func(s *lsv1alpha1.InstallationSpec) { s.Flow = lsv1alpha1.FlowContinuous })
		w.completed("root", lsv1alpha1.PhaseSucceeded)
		w.flowsAre(lsv1alpha1.FlowContinuous)
	}, 0)
	w.gitops(recorder, func() {
		w.rewrite("root", threeLevels(value("2")))
		w.completed("root", lsv1alpha1.PhaseSucceeded)
	}, 1)
	w.gitops(recorder, func() {
		w.change("root", func(s *lsv1alpha1.InstallationSpec) { s.Flow = lsv1alpha1.FlowJob })
		w.flowsAre(lsv1alpha1.FlowJob)
	}, 0)
	w.gitops(recorder, func() {
		w.request("root")
		second := w.finishedAfter("root", first.Status.JobID)
		if second.Status.Phase != lsv1alpha1.PhaseSucceeded {
			t.Errorf("the next job ended in phase %s", second.Status.Phase)
		}
	}, 3)
}

// finishedAfter waits for the end of another job than the given one.
func (w *world) finishedAfter(name, job string) *lsv1alpha1.Installation {
	w.Helper()
	return w.eventually(name, "finished another job", func(i *lsv1alpha1.Installation) bool {
		return i.Status.JobID != job && i.Status.IsFinished() && i.Status.Phase.IsFinal()
	})
}

// flowsAre waits until all objects of the tree have a flow.
func (w *world) flowsAre(flow lsv1alpha1.Flow) {
	w.Helper()
	for _, item := range w.items() {
		w.itemEventually(item, "of flow "+string(flow), func(i *lsv1alpha1.DeployItem) bool {
			return i.Spec.Flow.OrDefault() == flow && i.Status.ObservedGeneration == i.Generation && i.Status.Phase == lsv1alpha1.PhaseSucceeded
		})
	}
	var all lsv1alpha1.InstallationList
	if err := w.cluster.List(w.Context(), &all, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	for i := range all.Items {
		w.eventually(all.Items[i].Name, "at rest in flow "+string(flow), func(i *lsv1alpha1.Installation) bool {
			return i.Spec.Flow.OrDefault() == flow && i.Status.Phase == lsv1alpha1.PhaseSucceeded && (i.Status.ConfigGeneration != "") == (flow == lsv1alpha1.FlowContinuous)
		})
	}
}
