// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
)

func (w *world) operate(name string, operation lsv1alpha1.Operation) {
	w.Helper()
	w.annotate(name, lsv1alpha1.OperationAnnotation, string(operation))
}

// lowest waits until the deploy item of the lowest level is in a phase.
func (w *world) lowest(phase lsv1alpha1.Phase) {
	w.Helper()
	name := "root"
	for _, below := range []string{"middle", "leaf"} {
		w.eventually(name, "updated", func(i *lsv1alpha1.Installation) bool { return i.Status.ConfigGeneration != "" })
		name = w.children(name)[below].Name
	}
	item := &lsv1alpha1.DeployItem{}
	item.Namespace, item.Name = w.namespace, execution.ItemName(name, "low")
	w.itemEventually(item, "in phase "+string(phase), func(i *lsv1alpha1.DeployItem) bool { return i.Status.Phase == phase })
}

func TestCON25_AbortStopsATreeUntilItIsAskedToGoOn(t *testing.T) {
	for name, settings := range map[string]string{"endless": endless, "failing": failing} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			recorder := w.recorded()
			w.create(w.installation("root", threeLevels(settings)).Continuous().Build())
			if name == "endless" {
				w.lowest(lsv1alpha1.PhaseProgressing)
			} else {
				w.completed("root", lsv1alpha1.PhaseFailed)
			}
			w.operate("root", lsv1alpha1.OperationAbort)
			w.completed("root", lsv1alpha1.PhaseAborted)
			low := w.items()["low"]
			w.itemEventually(low, "failed", func(i *lsv1alpha1.DeployItem) bool {
				return i.Status.Phase == lsv1alpha1.PhaseFailed && (name == "failing" || i.Status.LastError.Reason == lsv1alpha1.ReasonInterrupted)
			})
			w.gitops(recorder, func() { recorder.Quiet(t, time.Second) }, 0)
			w.completed("root", lsv1alpha1.PhaseAborted)

			w.rewrite("root", threeLevels())
			w.completed("root", lsv1alpha1.PhaseSucceeded)
			recorder.Quiet(t, time.Second)
		})
	}
}

func TestCON13_CON31_CON52_ForceDeploysATreeAgain(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	w.create(w.installation("root", threeLevels()).Continuous().Build())
	w.completed("root", lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	w.gitops(recorder, func() {
		w.operate("root", lsv1alpha1.OperationReconcile)
		w.completed("root", lsv1alpha1.PhaseSucceeded)
	}, 0)
	w.gitops(recorder, func() {
		w.operate("root", lsv1alpha1.OperationForceReconcile)
		w.completed("root", lsv1alpha1.PhaseSucceeded)
	}, 3)

	w.rewrite("root", threeLevels(endless))
	w.lowest(lsv1alpha1.PhaseProgressing)
	w.rewrite("root", threeLevels())
	waiting := w.eventually("root", "waiting for what is below", func(i *lsv1alpha1.Installation) bool {
		return i.Generation != i.Status.ObservedGeneration && i.Status.Phase == lsv1alpha1.PhaseProgressing && strings.Contains(message(i), "the spec has changed")
	})
	if !strings.Contains(message(waiting), "force-reconcile") {
		t.Errorf("it does not say what to do: %s", message(waiting))
	}
	w.operate("root", lsv1alpha1.OperationForceReconcile)
	w.completed("root", lsv1alpha1.PhaseSucceeded)
}

// message is what the condition Ready says.
func message(inst *lsv1alpha1.Installation) string {
	for _, c := range inst.Status.Conditions {
		if c.Type == lsv1alpha1.ConditionReady {
			return c.Message
		}
	}
	return ""
}

func TestCON21_CON53_AFailedTreeTriesAgainWhenItIsAsked(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	w.create(w.installation("root", threeLevels(failing)).Continuous().Build())
	failed := w.completed("root", lsv1alpha1.PhaseFailed)
	if failed.Status.LastError == nil || !strings.Contains(failed.Status.LastError.Message, "low") {
		t.Errorf("the root does not say what has failed: %+v", failed.Status.LastError)
	}
	recorder.Quiet(t, time.Second)
	w.gitops(recorder, func() {
		w.operate("root", lsv1alpha1.OperationReconcile)
		w.eventually("root", "on its way", func(i *lsv1alpha1.Installation) bool {
			return i.Status.PhaseTransitionTime != failed.Status.PhaseTransitionTime && i.Annotations[lsv1alpha1.OperationAnnotation] == ""
		})
		w.completed("root", lsv1alpha1.PhaseFailed)
	}, 1)
}

func TestCON10_CON50_IgnoredTreesRest(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	w.create(w.installation("root", threeLevels(failing)).Continuous().Build())
	w.completed("root", lsv1alpha1.PhaseFailed)
	w.annotate("root", lsv1alpha1.IgnoreAnnotation, "true")
	recorder.Quiet(t, time.Second)
	w.gitops(recorder, func() { w.rewrite("root", threeLevels()); w.operate("root", lsv1alpha1.OperationForceReconcile) }, 0)
	if inst := w.named("root"); !w.get(inst) || inst.Status.Phase != lsv1alpha1.PhaseFailed || inst.Annotations[lsv1alpha1.OperationAnnotation] == "" {
		t.Errorf("it was touched: %+v", inst.Status)
	}
	w.annotate("root", lsv1alpha1.IgnoreAnnotation, "false")
	w.completed("root", lsv1alpha1.PhaseSucceeded)
}

func TestTheFlowOfATreeIsNotChangedOnItsWay(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("root", threeLevels(endless)).Continuous().Build())
	w.lowest(lsv1alpha1.PhaseProgressing)
	toJob := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"flow":"Job"}}`))
	err := w.cluster.Patch(t.Context(), w.named("root"), toJob)
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "flow can only be changed while the installation is at rest") {
		t.Fatalf("on its way: %v", err)
	}
	w.operate("root", lsv1alpha1.OperationAbort)
	w.completed("root", lsv1alpha1.PhaseAborted)
	if err := w.cluster.Patch(t.Context(), w.named("root"), toJob); err != nil {
		t.Fatal(err)
	}
	w.eventually("root", "in the other flow", func(i *lsv1alpha1.Installation) bool { return i.Status.ConfigGeneration == "" })
	w.itemEventually(w.items()["low"], "in the other flow", func(i *lsv1alpha1.DeployItem) bool { return i.Spec.Flow.OrDefault() == lsv1alpha1.FlowJob })
}
