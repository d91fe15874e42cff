// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// freeze sets or removes the annotation that freezes an object.
func (w *world) freeze(object client.Object, frozen string) {
	w.Helper()
	w.patch(object, `{"metadata":{"annotations":{"`+lsv1alpha1.IgnoreAnnotation+`":"`+frozen+`"}}}`)
}

// untouched checks that nothing is written about an object except what a user does.
func (w *world) untouched(recorder *testkit.Recorder, object client.Object, writes int, do func()) {
	w.Helper()
	before := recorder.Of(object)
	do()
	recorder.Quiet(w.T, time.Second)
	if after := recorder.Of(object); len(after)-len(before) != writes {
		w.Errorf("%s was written %d times, want %d: %s", object.GetName(), len(after)-len(before), writes, after)
	}
}

// A completed tree that is ignored is left alone, whatever is requested; once it is no longer ignored, all of it happens.
func TestCON10_IgnoredTreesRest(t *testing.T) {
	for name, test := range map[string]struct {
		settings string
		phase    lsv1alpha1.Phase
	}{"succeeded": {value("1"), lsv1alpha1.PhaseSucceeded}, "failed": {failing, lsv1alpha1.PhaseFailed}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			recorder := w.recorded()
			w.create(w.installation("root", threeLevels(test.settings)).Continuous().Build())
			w.completed("root", test.phase)
			recorder.Quiet(t, time.Second)
			root := w.named("root")
			w.freeze(root, "true")
			w.untouched(recorder, root, 3, func() {
				w.gitops(recorder, func() {
					w.rewrite("root", threeLevels(value("2")))
					w.operate("root", lsv1alpha1.OperationForceReconcile)
					w.delete("root")
				}, 0)
			})
			if w.get(root); root.Status.Phase != test.phase || root.Annotations[lsv1alpha1.OperationAnnotation] == "" || len(w.items()) != 3 {
				t.Errorf("it was touched: phase %s, annotations %v, %d deploy items", root.Status.Phase, root.Annotations, len(w.items()))
			}
			w.freeze(root, "false")
			w.vanished("root")
		})
	}
}

// An object that is frozen below the root holds up the root, which reports that; the object itself does not change.
func TestCON10_CON50_WhatIsFrozenBelowTheRootRests(t *testing.T) {
	for name, frozen := range map[string]func(*world) client.Object{
		"an execution":           func(w *world) client.Object { return w.executionOf("leaf") },
		"a nested installation":  func(w *world) client.Object { return w.named(w.level("leaf")) },
		"one in between":         func(w *world) client.Object { return w.named(w.level("middle")) },
		"an execution in failed": func(w *world) client.Object { return w.executionOf("leaf") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			recorder := w.recorded()
			settings, phase := value("1"), lsv1alpha1.PhaseSucceeded
			if strings.HasSuffix(name, "failed") {
				settings, phase = failing, lsv1alpha1.PhaseFailed
			}
			w.create(w.installation("root", threeLevels(settings)).Continuous().Build())
			w.completed("root", phase)
			recorder.Quiet(t, time.Second)
			object := frozen(w)
			w.freeze(object, "true")
			// The parent writes the new spec, and nobody writes anything else.
			w.untouched(recorder, object, 1, func() {
				w.gitops(recorder, func() {
					w.rewrite("root", threeLevels(value("2")))
					w.eventually("root", "waiting", func(i *lsv1alpha1.Installation) bool {
						return i.Status.Phase == lsv1alpha1.PhaseProgressing && i.Status.ObservedGeneration == i.Generation &&
							strings.Contains(message(i), "middle")
					})
				}, 0)
			})
			w.gitops(recorder, func() { w.freeze(object, "false"); w.completed("root", lsv1alpha1.PhaseSucceeded) }, 1)
		})
	}
}

// What is in progress finishes, and is frozen then.
func TestCON10_CON50_WhatIsOnItsWayIsNotFrozen(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	root := w.installation("root", threeLevels(value("1"))).Continuous().Build()
	root.Annotations = map[string]string{lsv1alpha1.IgnoreAnnotation: "true"}
	w.create(root)
	w.completed("root", lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	w.untouched(recorder, root, 1, func() { w.rewrite("root", threeLevels(value("2"))) })

	e := w.executionOf("leaf")
	w.rewrite("root", threeLevels(endless))
	w.freeze(w.named("root"), "false")
	w.itemOf("leaf", lsv1alpha1.PhaseProgressing)
	// The item starts before the execution has reported so: frozen at that moment, the execution would rest in the previous phase.
	testkit.Eventually(
		t,
		w.server,
		e,
		testkit.Is("on its way", func(e *lsv1alpha1.Execution) bool { return e.Status.Phase == lsv1alpha1.PhaseProgressing }),
	)
	w.freeze(e, "true")
	w.operate("root", lsv1alpha1.OperationAbort)
	w.completed("root", lsv1alpha1.PhaseAborted)
	w.itemOf("leaf", lsv1alpha1.PhaseFailed)
}
