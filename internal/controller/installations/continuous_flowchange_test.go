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

// grown is a tree of three levels that has finished in one of the flows.
type grown struct {
	flow  lsv1alpha1.Flow
	phase lsv1alpha1.Phase
}

var everyEnd = map[string]grown{
	"continuous, succeeded": {lsv1alpha1.FlowContinuous, lsv1alpha1.PhaseSucceeded},
	"continuous, failed":    {lsv1alpha1.FlowContinuous, lsv1alpha1.PhaseFailed},
	"continuous, aborted":   {lsv1alpha1.FlowContinuous, lsv1alpha1.PhaseAborted},
	"job, succeeded":        {lsv1alpha1.FlowJob, lsv1alpha1.PhaseSucceeded},
	"job, failed":           {lsv1alpha1.FlowJob, lsv1alpha1.PhaseFailed},
	"job, interrupted":      {lsv1alpha1.FlowJob, ""},
}

// grow creates the tree, and waits until it has finished.
func (w *world) grow(g grown) {
	w.Helper()
	settings := map[lsv1alpha1.Phase]string{lsv1alpha1.PhaseSucceeded: value("1"), lsv1alpha1.PhaseFailed: failing}[g.phase]
	if settings == "" {
		settings = endless
	}
	tree := w.installation("root", threeLevels(settings))
	if g.flow == lsv1alpha1.FlowContinuous {
		w.create(tree.Continuous().Build())
	} else {
		w.create(tree.Reconcile().Build())
	}
	switch {
	case settings != endless && g.flow == lsv1alpha1.FlowContinuous:
		w.completed("root", g.phase)
	case settings != endless:
		w.finished("root", g.phase)
	case g.flow == lsv1alpha1.FlowContinuous:
		w.itemOf("leaf", lsv1alpha1.PhaseProgressing)
		w.operate("root", lsv1alpha1.OperationAbort)
		w.completed("root", lsv1alpha1.PhaseAborted)
	default:
		w.itemOf("leaf", lsv1alpha1.PhaseProgressing)
		w.operate("root", lsv1alpha1.OperationInterrupt)
		w.finished("root", lsv1alpha1.PhaseFailed)
	}
}

func other(flow lsv1alpha1.Flow) lsv1alpha1.Flow {
	if flow == lsv1alpha1.FlowJob {
		return lsv1alpha1.FlowContinuous
	}
	return lsv1alpha1.FlowJob
}

// choose changes the flow in the spec as soon as the API server accepts that, and waits for nothing else.
func (w *world) choose(flow lsv1alpha1.Flow) {
	w.Helper()
	w.change("root", func(s *lsv1alpha1.InstallationSpec) { s.Flow = flow })
}

// followed waits until every object of the tree has a flow, is completed and up to date, and has no pending request.
func (w *world) followed(flow lsv1alpha1.Flow) {
	w.Helper()
	w.flowsAre(flow)
	var installations lsv1alpha1.InstallationList
	var executions lsv1alpha1.ExecutionList
	for _, list := range []client.ObjectList{&installations, &executions} {
		if err := w.cluster.List(w.Context(), list, client.InNamespace(w.namespace)); err != nil {
			w.Fatal(err)
		}
	}
	for i := range installations.Items {
		w.eventually(installations.Items[i].Name, "completed and up to date", func(i *lsv1alpha1.Installation) bool {
			return i.Status.Phase.IsCompleted() && i.Status.ObservedGeneration == i.Generation &&
				i.Annotations[lsv1alpha1.OperationAnnotation] == ""
		})
	}
	for i := range executions.Items {
		testkit.Eventually(
			w.T,
			w.server,
			&executions.Items[i],
			testkit.Is("of the flow, completed and up to date", func(e *lsv1alpha1.Execution) bool {
				return e.Spec.Flow.OrDefault() == flow && e.Status.Phase.IsCompleted() && e.Status.ObservedGeneration == e.Generation &&
					e.Annotations[lsv1alpha1.OperationAnnotation] == ""
			}),
		)
	}
}

// The flow of a tree changes in each completed phase, in both directions, and back at once: before the tree has seen the change, while it
// follows, and after that. Nothing is deployed because of it, no phase changes, and every object is up to date.
func TestCON16_TheFlowOfATreeChangesThereAndBackAtOnce(t *testing.T) {
	for name, g := range everyEnd {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			recorder := w.recorded()
			w.grow(g)
			recorder.Quiet(t, time.Second)
			before := w.phases()
			unchanged := func(when string) {
				t.Helper()
				recorder.Quiet(t, time.Second)
				after := w.phases()
				for object, phase := range before {
					if after[object] != phase {
						t.Errorf("%s, %s is in phase %s, and was in %s", when, object, after[object], phase)
					}
				}
			}
			w.gitops(recorder, func() {
				w.choose(other(g.flow))
				w.followed(other(g.flow))
				unchanged("after the change")
				w.choose(g.flow)
				w.followed(g.flow)
				unchanged("after the change back")
				for range 3 {
					w.choose(other(g.flow))
					w.choose(g.flow)
				}
				w.followed(g.flow)
				unchanged("after changes at once")
			}, 0)
		})
	}
}

// In the middle of a change, operations and deletions still take effect.
func TestCON16_WhatIsAskedForWhileTheFlowChangesIsDone(t *testing.T) {
	for name, ask := range map[string]func(*world){
		"reconcile": func(w *world) {
			w.operate("root", lsv1alpha1.OperationReconcile)
			w.completed("root", lsv1alpha1.PhaseSucceeded)
			w.followed(lsv1alpha1.FlowContinuous)
		},
		"abort": func(w *world) {
			w.operate("root", lsv1alpha1.OperationAbort)
			w.completed("root", lsv1alpha1.PhaseAborted)
			w.followed(lsv1alpha1.FlowContinuous)
		},
		"delete": func(w *world) {
			w.delete("root")
			testkit.EventuallyGone(w.T, w.server, w.named("root"))
			if left := w.phases(); len(left) > 0 {
				w.Errorf("left behind: %v", left)
			}
		},
	} {
		for _, settled := range []bool{true, false} {
			moment := map[bool]string{true: ", once the tree has followed", false: ", at once"}[settled]
			t.Run(name+moment, func(t *testing.T) {
				w := newWorld(t)
				w.grow(grown{lsv1alpha1.FlowContinuous, lsv1alpha1.PhaseSucceeded})
				w.choose(lsv1alpha1.FlowJob)
				if settled {
					w.followed(lsv1alpha1.FlowJob)
				}
				w.choose(lsv1alpha1.FlowContinuous)
				ask(w)
			})
		}
	}
}

// A tree that leaves the continuous flow, and is deleted before it has seen the change, is removed.
func TestCON16_CON44_ATreeThatChangesItsFlowIsDeleted(t *testing.T) {
	for name, g := range everyEnd {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.grow(g)
			w.choose(other(g.flow))
			w.delete("root")
			testkit.EventuallyGone(t, w.server, w.named("root"))
			if left := w.phases(); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// forget removes status.observedSpec, which objects of earlier versions do not have.
func (w *world) forget() {
	w.Helper()
	var installations lsv1alpha1.InstallationList
	var executions lsv1alpha1.ExecutionList
	for _, list := range []client.ObjectList{&installations, &executions} {
		if err := w.cluster.List(w.Context(), list, client.InNamespace(w.namespace)); err != nil {
			w.Fatal(err)
		}
	}
	var objects []client.Object
	for i := range installations.Items {
		objects = append(objects, &installations.Items[i])
	}
	for i := range executions.Items {
		objects = append(objects, &executions.Items[i])
	}
	for _, object := range objects {
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"observedSpec":null}}`))
		if err := w.cluster.Status().Patch(w.Context(), object, patch); err != nil {
			w.Fatal(err)
		}
	}
}

// remembered waits until every status records the spec again.
func (w *world) remembered() {
	w.Helper()
	var installations lsv1alpha1.InstallationList
	var executions lsv1alpha1.ExecutionList
	for _, list := range []client.ObjectList{&installations, &executions} {
		if err := w.cluster.List(w.Context(), list, client.InNamespace(w.namespace)); err != nil {
			w.Fatal(err)
		}
	}
	for i := range installations.Items {
		w.eventually(installations.Items[i].Name, "remembered", func(i *lsv1alpha1.Installation) bool { return i.Status.ObservedSpec != "" })
	}
	for i := range executions.Items {
		testkit.Eventually(
			w.T,
			w.server,
			&executions.Items[i],
			testkit.Is("remembered", func(e *lsv1alpha1.Execution) bool { return e.Status.ObservedSpec != "" }),
		)
	}
}

// A tree of the continuous flow whose status does not record the spec yet records it at the first visit; a tree of the job flow stays as
// it is. So its first change of flow is recognised as nothing else, and nothing is redeployed.
func TestCON16_ATreeWhoseStatusDoesNotKnowTheSpecChangesItsFlow(t *testing.T) {
	w := idleWorld(t)
	stop := w.run(w.server.Config())
	w.grow(grown{lsv1alpha1.FlowContinuous, lsv1alpha1.PhaseSucceeded})
	recorder := w.recorded()
	recorder.Quiet(t, time.Second)
	stop()
	w.forget()
	w.run(w.server.Config())
	w.gitops(recorder, func() {
		w.remembered()
		for _, flow := range []lsv1alpha1.Flow{lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous} {
			w.choose(flow)
			w.followed(flow)
		}
	}, 0)
}
