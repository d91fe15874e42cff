// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"testing"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/testkit"
)

// levels is a tree like threeLevels, with settings for the two lower deploy items.
func levels(mid, low string) string {
	middle := header + nest(sub{name: "leaf", blueprint: header + deploy(item("low", low))}) + deploy(item("mid", mid))
	return header + nest(sub{name: "middle", blueprint: middle}) + deploy(item("top"))
}

// level returns the name of an installation in a tree of three levels, once it exists.
func (w *world) level(name string) string {
	w.Helper()
	found := "root"
	for _, below := range map[string][]string{"root": nil, "middle": {"middle"}, "leaf": {"middle", "leaf"}}[name] {
		w.eventually(found, "updated", func(i *lsv1alpha1.Installation) bool { return i.Status.SubInstCache != nil })
		found = w.children(found)[below].Name
	}
	return found
}

// itemOf waits until the deploy item of a level is in a phase, and returns it.
func (w *world) itemOf(level string, phase lsv1alpha1.Phase) *lsv1alpha1.DeployItem {
	w.Helper()
	item := &lsv1alpha1.DeployItem{}
	name := map[string]string{"root": "top", "middle": "mid", "leaf": "low"}[level]
	item.Namespace, item.Name = w.namespace, execution.ItemName(w.level(level), name)
	return testkit.Eventually(
		w.T,
		w.server,
		item,
		testkit.Is("in phase "+string(phase), func(i *lsv1alpha1.DeployItem) bool { return i.Status.Phase == phase }),
	)
}

func (w *world) executionOf(level string) *lsv1alpha1.Execution {
	w.Helper()
	e := &lsv1alpha1.Execution{}
	e.Namespace, e.Name = w.namespace, w.level(level)
	return e
}

// abortion is a tree in progress, and what an abort turns it into.
type abortion struct {
	mid, low string
	// leaf is the phase of the lowest installation; failed are the reasons of the failed deploy items.
	leaf   lsv1alpha1.Phase
	failed map[string]string
}

var abortions = map[string]abortion{
	"the lowest deploy item is in work": {
		value("1"),
		endless,
		lsv1alpha1.PhaseAborted,
		map[string]string{"leaf": lsv1alpha1.ReasonInterrupted},
	},
	"both lower deploy items are in work": {endless, endless, lsv1alpha1.PhaseAborted,
		map[string]string{"leaf": lsv1alpha1.ReasonInterrupted, "middle": lsv1alpha1.ReasonInterrupted}},
	"one has failed, the other is in work": {endless, failing, lsv1alpha1.PhaseFailed,
		map[string]string{"leaf": "MockFailure", "middle": lsv1alpha1.ReasonInterrupted}},
}

// abort creates a tree, aborts it, and checks all levels.
func (w *world) abort(a abortion) {
	w.Helper()
	w.create(w.installation("root", levels(a.mid, a.low)).Continuous().Build())
	busy := map[string]lsv1alpha1.Phase{
		endless:    lsv1alpha1.PhaseProgressing,
		failing:    lsv1alpha1.PhaseFailed,
		value("1"): lsv1alpha1.PhaseSucceeded,
	}
	w.itemOf("root", lsv1alpha1.PhaseSucceeded)
	w.itemOf("middle", busy[a.mid])
	w.itemOf("leaf", busy[a.low])
	if a.leaf == lsv1alpha1.PhaseFailed {
		w.completed(w.level("leaf"), lsv1alpha1.PhaseFailed)
	}
	w.operate("root", lsv1alpha1.OperationAbort)
	w.completed("root", lsv1alpha1.PhaseAborted)
	w.completed(w.level("middle"), lsv1alpha1.PhaseAborted)
	w.completed(w.level("leaf"), a.leaf)
	for level, reason := range a.failed {
		if got := w.itemOf(level, lsv1alpha1.PhaseFailed).Status.LastError; got == nil || got.Reason != reason {
			w.Errorf("the deploy item of %s says %+v, want %s", level, got, reason)
		}
		testkit.Eventually(w.T, w.server, w.executionOf(level), testkit.Is("failed", func(e *lsv1alpha1.Execution) bool {
			return e.Status.Phase == lsv1alpha1.PhaseFailed && e.Annotations[lsv1alpha1.OperationAnnotation] == ""
		}))
	}
	w.itemOf("root", lsv1alpha1.PhaseSucceeded)
}

func TestCON13_CON25_AbortStopsAllLevels(t *testing.T) {
	for name, a := range abortions {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			recorder := w.recorded()
			w.abort(a)
			// Nothing further happens, whatever imports or events arrive.
			recorder.Quiet(t, time.Second)
			before := recorder.History()
			recorder.Quiet(t, 2*time.Second)
			if since := recorder.Since(before); len(since) > 0 {
				t.Errorf("an aborted tree was written to: %s", since)
			}
			w.gitops(recorder, func() {
				w.operate("root", lsv1alpha1.OperationReconcile)
				for level := range a.failed {
					phase := lsv1alpha1.PhaseProgressing
					if a.failed[level] == "MockFailure" {
						phase = lsv1alpha1.PhaseFailed
					}
					w.itemOf(level, phase)
				}
			}, len(a.failed))
		})
	}
}

func TestCON25_AnAbortedTreeContinuesWithANewSpecOrByForce(t *testing.T) {
	for name, test := range map[string]struct {
		abortion string
		goOn     func(*world)
		want     int
	}{
		"a new spec": {"one has failed, the other is in work", func(w *world) {
			w.rewrite("root", levels(value("1"), value("1")))
			w.completed("root", lsv1alpha1.PhaseSucceeded)
		}, 2},
		"by force": {"the lowest deploy item is in work", func(w *world) {
			w.operate("root", lsv1alpha1.OperationForceReconcile)
			w.completed("root", lsv1alpha1.PhaseProgressing)
			w.itemOf("leaf", lsv1alpha1.PhaseProgressing)
		}, 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			recorder := w.recorded()
			w.abort(abortions[test.abortion])
			recorder.Quiet(t, time.Second)
			w.gitops(recorder, func() { test.goOn(w) }, test.want)
		})
	}
}

func TestCON24_CON25_AnAbortedInstallationIsNotTriggeredByWhatItImports(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	exporter := func(word string) string { return header + exports("word: "+word, "word") }
	w.create(
		w.installation("exporter", exporter("old")).Continuous().ExportData("word", "word").Build(),
		w.installation("importer", header+imports("word")+deploy(item("only", value("{{ .imports.word }}")))).
			Continuous().
			ImportData("word", "word").
			Build(),
	)
	w.completed("importer", lsv1alpha1.PhaseSucceeded)
	w.operate("importer", lsv1alpha1.OperationAbort)
	w.completed("importer", lsv1alpha1.PhaseAborted)
	recorder.Quiet(t, time.Second)

	w.gitops(recorder, func() {
		w.rewrite("exporter", exporter("new"))
		w.completed("exporter", lsv1alpha1.PhaseSucceeded)
	}, 0)
	w.completed("importer", lsv1alpha1.PhaseAborted)
	w.gitops(recorder, func() {
		w.operate("importer", lsv1alpha1.OperationReconcile)
		w.completed("importer", lsv1alpha1.PhaseSucceeded)
	}, 1)
}
