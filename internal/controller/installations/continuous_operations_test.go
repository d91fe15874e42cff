// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

func (w *world) operate(name string, operation lsv1alpha1.Operation) {
	w.Helper()
	w.annotate(name, lsv1alpha1.OperationAnnotation, string(operation))
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
	w.itemOf("leaf", lsv1alpha1.PhaseProgressing)
	w.rewrite("root", threeLevels())
	waiting := w.eventually("root", "waiting for what is below", func(i *lsv1alpha1.Installation) bool {
		return i.Generation != i.Status.ObservedGeneration && i.Status.Phase == lsv1alpha1.PhaseProgressing &&
			strings.Contains(message(i), "the spec has changed")
	})
	if !strings.Contains(message(waiting), "force-reconcile") {
		t.Errorf("it does not say what to do: %s", message(waiting))
	}
	w.operate("root", lsv1alpha1.OperationForceReconcile)
	w.completed("root", lsv1alpha1.PhaseSucceeded)
}

// Force redeploys a failed tree, all of it, and is answered on all levels. What has failed fails again, and a new spec then deploys only
// what it changes.
func TestCON13_CON31_ForceDeploysATreeAgainThatHasFailed(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	w.create(w.installation("root", threeLevels(failing)).Continuous().Build())
	failed := w.completed("root", lsv1alpha1.PhaseFailed)
	recorder.Quiet(t, time.Second)
	w.gitops(recorder, func() {
		w.operate("root", lsv1alpha1.OperationForceReconcile)
		w.eventually("root", "failed again", func(i *lsv1alpha1.Installation) bool {
			return i.Status.Phase == lsv1alpha1.PhaseFailed && i.ResourceVersion != failed.ResourceVersion &&
				i.Annotations[lsv1alpha1.OperationAnnotation] == ""
		})
	}, 3)
	for _, level := range []string{"root", "middle", "leaf"} {
		inst := w.completed(w.level(level), lsv1alpha1.PhaseFailed)
		forced := recorder.Of(inst).Where(func(r testkit.Revision) bool {
			return r.Object.GetAnnotations()[lsv1alpha1.OperationAnnotation] == string(lsv1alpha1.OperationForceReconcile)
		})
		if e := w.executionOf(level); len(forced) == 0 || !w.get(e) || e.Annotations[lsv1alpha1.OperationAnnotation] != "" {
			t.Errorf(
				"%s: force was in %d states, and the execution is asked to %q",
				level,
				len(forced),
				e.Annotations[lsv1alpha1.OperationAnnotation],
			)
		}
	}
	w.gitops(recorder, func() { w.rewrite("root", threeLevels(value("1"))); w.completed("root", lsv1alpha1.PhaseSucceeded) }, 1)
}

// message returns the message of the condition Ready.
func message(inst *lsv1alpha1.Installation) string {
	for _, c := range inst.Status.Conditions {
		if c.Type == lsv1alpha1.ConditionReady {
			return c.Message
		}
	}
	return ""
}

// Failed objects retry and fail again, as their phases show. Succeeded ones are not touched.
func TestCON21_CON53_AFailedTreeTriesAgainWhenItIsAsked(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	w.create(w.installation("root", threeLevels(failing)).Continuous().Build())
	failed := w.completed("root", lsv1alpha1.PhaseFailed)
	if failed.Status.LastError == nil || !strings.Contains(failed.Status.LastError.Message, "low") {
		t.Errorf("the root does not say what has failed: %+v", failed.Status.LastError)
	}
	recorder.Quiet(t, time.Second)
	before := recorder.History()
	w.gitops(recorder, func() {
		w.operate("root", lsv1alpha1.OperationReconcile)
		w.eventually("root", "failed again", func(i *lsv1alpha1.Installation) bool {
			answered := i.ResourceVersion != failed.ResourceVersion && i.Annotations[lsv1alpha1.OperationAnnotation] == ""
			return answered && i.Status.Phase == lsv1alpha1.PhaseFailed
		})
	}, 1)
	life := recorder.Since(before).Objects()
	for id, want := range map[testkit.ObjectID]bool{
		{Kind: "Installation", Name: "root"}:              true,
		{Kind: "Installation", Name: w.level("leaf")}:     true,
		{Kind: "Execution", Name: w.level("leaf")}:        true,
		{Kind: "DeployItem", Name: w.items()["low"].Name}: true,
		{Kind: "DeployItem", Name: w.items()["mid"].Name}: false,
	} {
		id.Namespace = w.namespace
		phases := life[id].Transitions("status.phase")
		again := slices.Contains(phases, string(lsv1alpha1.PhaseProgressing)) && phases[len(phases)-1] == string(lsv1alpha1.PhaseFailed)
		if again != want || !want && len(phases) > 0 {
			t.Errorf("%s has gone through %q; another attempt was wanted: %v", id, phases, want)
		}
	}
}
