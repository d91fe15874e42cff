// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// vanished waits until an installation is gone, and checks that it has left nothing.
func (w *world) vanished(name string) {
	w.Helper()
	testkit.EventuallyGone(w.T, w.server, w.named(name))
	if items, children := w.items(), w.children(name); len(items)+len(children) > 0 {
		w.Errorf("left: %v, %v", items, children)
	}
}

func TestCON12_CON42_CON55_ATreeIsDeleted(t *testing.T) {
	for name, settings := range map[string]string{"succeeded": value("1"), "failed": failing} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(w.installation("root", threeLevels(settings)).Continuous().Build())
			w.eventually("root", "completed", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase.IsCompleted() })
			w.delete("root")
			w.vanished("root")
		})
	}
}

func TestCON40_CON42_OnlyForceDeletesWhatIsBusy(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("root", threeLevels(endless)).Continuous().Build())
	w.eventually("root", "on its way", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseProgressing })
	w.delete("root")
	waiting := w.eventually("root", "waiting", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhaseDeleting && strings.Contains(message(i), "has to be completed")
	})
	if !strings.Contains(message(waiting), "middle") {
		t.Errorf("it does not say what it waits for: %s", message(waiting))
	}
	w.operate("root", lsv1alpha1.OperationForceReconcile)
	w.vanished("root")
}

func TestCON41_NothingIsDeletedThatOthersImport(t *testing.T) {
	w := newWorld(t)
	w.create(
		w.installation("source", header+exports("word: water", "word")+deploy(item("one"))).Continuous().ExportData("word", "word").Build(),
		w.installation("mill", header+imports("word")+deploy(item("one", value("{{ .imports.word }}")))).Continuous().ImportData("word", "word").Build(),
	)
	w.completed("mill", lsv1alpha1.PhaseSucceeded)
	w.delete("source")
	waiting := w.eventually("source", "kept", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseDeleting })
	if !strings.Contains(message(waiting), "installation mill") {
		t.Errorf("it does not say who imports: %s", message(waiting))
	}
	if len(w.items()) == 0 {
		t.Error("what others import was removed")
	}
	w.delete("mill")
	testkit.EventuallyGone(t, w.server, w.named("mill"))
	w.vanished("source")
}

func TestCON22_CON30_DependenciesAreAwaitedUnlessForced(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("mill", header+imports("word")+deploy(item("one", value("{{ .imports.word }}")))).Continuous().ImportData("word", "word").Build())
	w.eventually("mill", "waiting for its import", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhasePendingDependencies && strings.Contains(message(i), "word")
	})
	w.operate("mill", lsv1alpha1.OperationForceReconcile)
	w.create(w.installation("source", header+exports("word: water", "word")+deploy(item("one", failing))).Continuous().ExportData("word", "word").Build())
	w.completed("source", lsv1alpha1.PhaseFailed)
	if mill := w.named("mill"); !w.get(mill) || mill.Status.Phase != lsv1alpha1.PhasePendingDependencies {
		t.Errorf("without its import it is in phase %s", mill.Status.Phase)
	}
	w.rewrite("source", header+exports("word: water", "word")+deploy(item("one")))
	w.completed("source", lsv1alpha1.PhaseSucceeded)
	w.completed("mill", lsv1alpha1.PhaseSucceeded)

	w.rewrite("source", header+exports("word: wine", "word")+deploy(item("one", failing)))
	w.completed("source", lsv1alpha1.PhaseFailed)
	w.eventually("mill", "waiting for its predecessor", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhasePendingDependencies && strings.Contains(message(i), "installation source, which is in phase Failed")
	})
	w.operate("mill", lsv1alpha1.OperationForceReconcile)
	w.completed("mill", lsv1alpha1.PhaseSucceeded)
}
