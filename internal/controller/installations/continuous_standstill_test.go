// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"strings"
	"testing"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
	"espalier.dev/internal/testkit"
)

// waitingTree has on its middle level an installation that fails and one that waits for it; next to the middle, another one waits for what
// both would export.
func waitingTree(settings string) string {
	first := header + exports("word: water", "word") + deploy(item("first", settings))
	second := header + imports("word") + deploy(item("second", value("{{ .imports.word }}")))
	middle := header + exports("word: water", "word") + nest(
		sub{name: "first", blueprint: first, exports: map[string]string{"word": "word"}},
		sub{name: "second", blueprint: second, imports: map[string]string{"word": "word"}})
	last := header + imports("word") + deploy(item("last", value("{{ .imports.word }}")))
	return header + nest(
		sub{name: "middle", blueprint: middle, exports: map[string]string{"word": "word"}},
		sub{name: "last", blueprint: last, imports: map[string]string{"word": "word"}})
}

// standingStill creates the tree, and waits until nothing in it continues by itself.
func standingStill(t *testing.T) (*world, *testkit.Recorder) {
	w := newWorld(t)
	recorder := w.recorded()
	w.create(w.installation("root", waitingTree(failing)).Continuous().Build())
	w.standsStill()
	recorder.Quiet(t, time.Second)
	if answer := w.why("root"); !strings.Contains(answer, "root is not done because of DeployItem/") ||
		!strings.Contains(answer, "installation last") || !strings.Contains(answer, "(standstill in installation middle") {
		t.Errorf("why says:\n%s", answer)
	}
	return w, recorder
}

func (w *world) standsStill() {
	w.Helper()
	told := w.eventually("root", "standing still", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhaseProgressing && reason(i) == run.ReasonStandstill &&
			i.Annotations[lsv1alpha1.OperationAnnotation] == ""
	})
	if !strings.Contains(message(told), "last") || !strings.Contains(message(told), "correct the spec") {
		w.Errorf("it says %q", message(told))
	}
}

func reason(i *lsv1alpha1.Installation) string {
	for _, c := range i.Status.Conditions {
		if c.Type == lsv1alpha1.ConditionReady {
			return c.Reason
		}
	}
	return ""
}

func TestCON06_ATreeThatStandsStillTakesACorrectedSpec(t *testing.T) {
	w, recorder := standingStill(t)
	w.gitops(recorder, func() {
		w.rewrite("root", waitingTree(value("1")))
		w.completed("root", lsv1alpha1.PhaseSucceeded)
	}, 3)
}

func TestCON06_ATreeThatStandsStillTriesAgainOnRequest(t *testing.T) {
	w, recorder := standingStill(t)
	w.gitops(recorder, func() {
		w.operate("root", lsv1alpha1.OperationReconcile)
		w.standsStill()
	}, 1)
}

func TestCON06_CON44_ATreeThatStandsStillIsDeleted(t *testing.T) {
	w, _ := standingStill(t)
	w.delete("root")
	w.vanished("root")
}

// An object that is busy for a reason other than a failed sibling is awaited as usual.
func TestCON04_CON06_ABusyTreeDoesNotStandStill(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("root", waitingTree(endless)).Continuous().Build())
	w.eventually("root", "waiting", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhaseProgressing && strings.Contains(message(i), "installation last") &&
			strings.Contains(message(i), "installation middle")
	})
	w.rewrite("root", waitingTree(value("1")))
	told := w.eventually("root", "waiting with the new spec", func(i *lsv1alpha1.Installation) bool {
		return strings.Contains(message(i), "takes effect afterwards")
	})
	if reason(told) == run.ReasonStandstill {
		t.Errorf("it says that it stands still: %s", message(told))
	}
}
