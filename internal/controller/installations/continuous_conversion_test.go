// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/testkit"
)

// phases returns the phases of all objects in the namespace.
func (w *world) phases() map[string]lsv1alpha1.Phase {
	w.Helper()
	phases := map[string]lsv1alpha1.Phase{}
	var installations lsv1alpha1.InstallationList
	var executions lsv1alpha1.ExecutionList
	for _, list := range []client.ObjectList{&installations, &executions} {
		if err := w.cluster.List(w.Context(), list, client.InNamespace(w.namespace)); err != nil {
			w.Fatal(err)
		}
	}
	for _, i := range installations.Items {
		phases["installation "+i.Name] = i.Status.Phase
	}
	for _, e := range executions.Items {
		phases["execution "+e.Name] = e.Status.Phase
	}
	for name, i := range w.items() {
		phases["deploy item "+name] = i.Status.Phase
	}
	return phases
}

// convert changes the flow of a tree, and checks that the whole tree follows, without deployments and with the same phases.
func (w *world) convert(recorder *testkit.Recorder, flow lsv1alpha1.Flow) {
	w.Helper()
	before := w.phases()
	w.gitops(recorder, func() {
		w.change("root", func(s *lsv1alpha1.InstallationSpec) { s.Flow = flow })
		w.flowsAre(flow)
	}, 0)
	if after := w.phases(); !maps.Equal(before, after) {
		w.Errorf("the phases were %v and are %v", before, after)
	}
}

// flowsAre waits until all objects of the tree have a flow and are at rest.
func (w *world) flowsAre(flow lsv1alpha1.Flow) {
	w.Helper()
	for _, item := range w.items() {
		w.itemEventually(item, "of flow "+string(flow), func(i *lsv1alpha1.DeployItem) bool {
			return i.Spec.Flow.OrDefault() == flow && i.Status.ObservedGeneration == i.Generation && i.Status.Phase.IsCompleted()
		})
	}
	var all lsv1alpha1.InstallationList
	if err := w.cluster.List(w.Context(), &all, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	for i := range all.Items {
		w.eventually(all.Items[i].Name, "at rest in flow "+string(flow), func(i *lsv1alpha1.Installation) bool {
			return i.Spec.Flow.OrDefault() == flow && i.Status.Phase.IsCompleted() &&
				installation.Entered(&i.Status) == (flow == lsv1alpha1.FlowContinuous)
		})
	}
}

// A tree changes its flow in both directions, whether it has succeeded or failed, without any deployment. Afterwards it is processed as
// the new flow requires.
func TestTheFlowOfATreeChangesWithoutDeployments(t *testing.T) {
	for name, test := range map[string]struct {
		settings string
		phase    lsv1alpha1.Phase
	}{"succeeded": {value("1"), lsv1alpha1.PhaseSucceeded}, "failed": {failing, lsv1alpha1.PhaseFailed}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			recorder := w.recorded()
			w.create(w.installation("root", threeLevels(test.settings)).Reconcile().Build())
			first := w.finished("root", test.phase)
			recorder.Quiet(t, time.Second)

			w.convert(recorder, lsv1alpha1.FlowContinuous)
			w.gitops(recorder, func() {
				w.rewrite("root", threeLevels(test.settings, "initialPhase: Progressing"))
				w.completed("root", test.phase)
			}, 1)
			w.convert(recorder, lsv1alpha1.FlowJob)
			w.gitops(recorder, func() {
				w.request("root")
				if second := w.finishedAfter("root", first.Status.JobID); second.Status.Phase != test.phase {
					t.Errorf("the next job ended in phase %s", second.Status.Phase)
				}
			}, 3)
			w.convert(recorder, lsv1alpha1.FlowContinuous)
		})
	}
}

// finishedAfter waits for the end of a job other than the given one.
func (w *world) finishedAfter(name, job string) *lsv1alpha1.Installation {
	w.Helper()
	return w.eventually(name, "finished another job", func(i *lsv1alpha1.Installation) bool {
		return i.Status.JobID != job && i.Status.IsFinished() && i.Status.Phase.IsFinal()
	})
}

// While a tree is in progress, the API server rejects a change of its flow in either direction, and says what to do. Doing that leads to
// the change.
func TestTheFlowOfATreeIsNotChangedOnItsWay(t *testing.T) {
	for name, test := range map[string]struct {
		build func(*testkit.InstallationBuilder) *testkit.InstallationBuilder
		to    lsv1alpha1.Flow
		end   lsv1alpha1.Operation
		phase lsv1alpha1.Phase
	}{
		"to jobs":          {(*testkit.InstallationBuilder).Continuous, lsv1alpha1.FlowJob, lsv1alpha1.OperationAbort, lsv1alpha1.PhaseAborted},
		"to the other one": {(*testkit.InstallationBuilder).Reconcile, lsv1alpha1.FlowContinuous, lsv1alpha1.OperationInterrupt, lsv1alpha1.PhaseFailed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			recorder := w.recorded()
			w.create(test.build(w.installation("root", threeLevels(endless))).Build())
			w.itemOf("leaf", lsv1alpha1.PhaseProgressing)
			change := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"flow":"`+string(test.to)+`"}}`))
			err := w.cluster.Patch(t.Context(), w.named("root"), change)
			for _, word := range []string{"spec.flow", "flow can only be changed while the installation is at rest", "operation=" + string(test.end)} {
				if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), word) {
					t.Errorf("on its way: %v; want it to say %q", err, word)
				}
			}
			w.operate("root", test.end)
			w.completed("root", test.phase)
			w.itemOf("leaf", lsv1alpha1.PhaseFailed)
			recorder.Quiet(t, time.Second)
			w.gitops(recorder, func() {
				if err := w.cluster.Patch(t.Context(), w.named("root"), change); err != nil {
					t.Fatal(err)
				}
				w.flowsAre(test.to)
			}, 0)
		})
	}
}
