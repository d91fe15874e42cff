// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
	"espalier.dev/internal/testkit"
)

// vanished waits until an installation is gone, and checks that it has left nothing behind.
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
		return i.Status.Phase == lsv1alpha1.PhaseDeleting && strings.Contains(message(i), "deletion waits until")
	})
	if !strings.Contains(message(waiting), "middle") {
		t.Errorf("it does not say what it waits for: %s", message(waiting))
	}
	w.operate("root", lsv1alpha1.OperationForceReconcile)
	w.vanished("root")
}

// stubborn is a deploy item whose deployer is played by the test.
const stubborn = `    - name: low
      type: example.org/stubborn
      config: {apiVersion: example.org/v1, kind: Configuration}
`

// play writes the status that a deployer would write.
func (w *world) play(item *lsv1alpha1.DeployItem, phase lsv1alpha1.Phase) {
	w.Helper()
	w.get(item)
	status := fmt.Sprintf(
		`{"status":{"phase":%q,"observedGeneration":%d,"lastError":{"operation":"Delete","reason":"Stuck","message":"it is stuck",`+
			`"lastTransitionTime":"2026-05-04T12:00:00Z","lastUpdateTime":"2026-05-04T12:00:00Z"}}}`,
		phase,
		item.Generation,
	)
	if err := w.cluster.Status().Patch(w.Context(), item, client.RawPatch("application/merge-patch+json", []byte(status))); err != nil {
		w.Fatal(err)
	}
}

// A deploy item that cannot be deleted makes the deletion of the tree end in Failed, on all levels, until a user requests it again.
func TestCON40_CON55_ADeletionThatFailsIsRepeatedOnRequest(t *testing.T) {
	for _, operation := range []lsv1alpha1.Operation{lsv1alpha1.OperationReconcile, lsv1alpha1.OperationForceReconcile} {
		t.Run(string(operation), func(t *testing.T) {
			w := newWorld(t)
			recorder := w.recorded()
			middle := header + nest(sub{name: "leaf", blueprint: header + deploy(stubborn)}) + deploy(item("mid"))
			w.create(w.installation("root", header+nest(sub{name: "middle", blueprint: middle})+deploy(item("top"))).Continuous().Build())
			low := w.itemOf("leaf", "")
			w.patch(low, `{"metadata":{"finalizers":["`+lsv1alpha1.Finalizer+`"]}}`)
			w.play(low, lsv1alpha1.PhaseSucceeded)
			w.completed("root", lsv1alpha1.PhaseSucceeded)
			w.delete("root")
			w.itemEventually(low, "asked to go", func(i *lsv1alpha1.DeployItem) bool { return !i.DeletionTimestamp.IsZero() })
			w.play(low, lsv1alpha1.PhaseFailed)
			failed := w.eventually("root", "failed", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseFailed })
			if !strings.Contains(message(failed), "middle") || !strings.Contains(message(failed), "it is stuck") {
				t.Errorf("the root does not say what is stuck: %s", message(failed))
			}
			e := w.executionOf("leaf")
			if w.get(e); e.Status.Phase != lsv1alpha1.PhaseFailed {
				t.Errorf("the execution is in phase %s", e.Status.Phase)
			}
			recorder.Quiet(t, time.Second)
			w.operate("root", operation)
			w.itemEventually(low, "asked to try again", func(i *lsv1alpha1.DeployItem) bool {
				return i.Annotations[lsv1alpha1.OperationAnnotation] == string(operation)
			})
			w.eventually("root", "deleting again", func(i *lsv1alpha1.Installation) bool {
				return i.Status.Phase == lsv1alpha1.PhaseDeleting && i.Annotations[lsv1alpha1.OperationAnnotation] == ""
			})
			w.patch(low, `{"metadata":{"finalizers":null}}`)
			w.vanished("root")
		})
	}
}

// Force deletes what others import and what has failed, and is passed down.
func TestCON40_CON41_ForceDeletesWhatOthersImport(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	w.create(
		w.installation("root", exports("word: water", "word")+threeLevels(failing)).Continuous().ExportData("word", "word").Build(),
		w.installation("mill", header+imports("word")).Continuous().ImportData("word", "word").Build(),
	)
	w.completed("root", lsv1alpha1.PhaseFailed)
	names := []string{"root", w.level("middle"), w.level("leaf")}
	w.delete("root")
	w.eventually("root", "kept", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhaseDeleting && strings.Contains(message(i), "installation mill")
	})
	if len(w.items()) != 3 {
		t.Errorf("%d deploy items are left of what others import", len(w.items()))
	}
	w.operate("root", lsv1alpha1.OperationForceReconcile)
	w.vanished("root")
	for _, name := range names {
		forced := recorder.Of(w.named(name)).Where(func(r testkit.Revision) bool {
			return !r.Object.GetDeletionTimestamp().IsZero() &&
				r.Object.GetAnnotations()[lsv1alpha1.OperationAnnotation] == string(lsv1alpha1.OperationForceReconcile)
		})
		if len(forced) == 0 {
			t.Errorf("%s was not told of force", name)
		}
	}
}

// Objects below are updated before they are deleted, with or without force, if the imports allow it. Otherwise they are deleted as they
// are.
func TestCON40_CON43_CON44_ADeletionBringsUpToDateFirst(t *testing.T) {
	for name, test := range map[string]struct {
		force, missing bool
		deployments    []int
	}{
		"an import is there": {false, false, []int{1}},
		// Force does not wait until an update is deployed.
		"an import is there, by force": {true, false, []int{0, 1}},
		"an import is gone":            {false, true, []int{0}},
		"an import is gone, by force":  {true, true, []int{0}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			recorder := w.recorded()
			base := testkit.DataObject(w.namespace, "base", "x").Build()
			w.create(
				base.DeepCopy(),
				w.installation("root", imports("base")+threeLevels(value("1"))).Continuous().ImportData("base", "base").Build(),
			)
			w.completed("root", lsv1alpha1.PhaseSucceeded)
			middle := w.level("middle")
			recorder.Quiet(t, time.Second)
			// The root is frozen, so that it does not update the objects below before it is deleted.
			w.freeze(w.named("root"), "true")
			w.rewrite("root", imports("base")+threeLevels(value("2")))
			if test.missing {
				if err := w.cluster.Delete(t.Context(), base.DeepCopy()); err != nil {
					t.Fatal(err)
				}
			}
			w.delete("root")
			before := recorder.History()
			if test.force {
				w.operate("root", lsv1alpha1.OperationForceReconcile)
			}
			w.freeze(w.named("root"), "false")
			w.vanished("root")
			if begun, _ := deployments(recorder.Since(before)); !slices.Contains(test.deployments, begun) {
				t.Errorf("%d deployments, want %v", begun, test.deployments)
			}
			updates := recorder.Of(w.named(middle)).Where(func(r testkit.Revision) bool {
				return r.Object.GetGeneration() == 2 && r.Object.GetDeletionTimestamp().IsZero()
			})
			if (len(updates) > 0) == test.missing {
				t.Errorf("updated before the deletion: %v", len(updates) > 0)
			}
		})
	}
}

func TestCON41_NothingIsDeletedThatOthersImport(t *testing.T) {
	w := newWorld(t)
	w.create(
		w.installation("source", header+exports("word: water", "word")+deploy(item("one"))).Continuous().ExportData("word", "word").Build(),
		w.installation("mill", header+imports("word")+deploy(item("one", value("{{ .imports.word }}")))).
			Continuous().
			ImportData("word", "word").
			Build(),
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
	w.create(
		w.installation("mill", header+imports("word")+deploy(item("one", value("{{ .imports.word }}")))).
			Continuous().
			ImportData("word", "word").
			Build(),
	)
	w.eventually("mill", "waiting for its import", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhasePendingDependencies && strings.Contains(message(i), "word")
	})
	w.operate("mill", lsv1alpha1.OperationForceReconcile)
	w.create(
		w.installation("source", header+exports("word: water", "word")+deploy(item("one", failing))).
			Continuous().
			ExportData("word", "word").
			Build(),
	)
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
		return i.Status.Phase == lsv1alpha1.PhasePendingDependencies &&
			strings.Contains(message(i), "installation source, which is in phase Failed")
	})
	w.operate("mill", lsv1alpha1.OperationForceReconcile)
	w.completed("mill", lsv1alpha1.PhaseSucceeded)
}

// What waits for a Target that does not exist ends when the root is deleted. No deployer has ever changed anything for it, so it goes.
func TestJOB46_CON44_ADeletionEndsItemsThatWaitForTheirTarget(t *testing.T) {
	for name, works := range map[string]bool{"alone": false, "beside one that works": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			top := ""
			if works {
				top = deploy(item("top", endless))
			}
			leaf := header + deploy(strings.Replace(untouchable, "name: one", "name: low", 1))
			middle := header + nest(sub{name: "leaf", blueprint: leaf})
			w.create(w.installation("root", header+nest(sub{name: "middle", blueprint: middle})+top).Continuous().Build())
			low := w.itemOf("leaf", lsv1alpha1.PhaseProgressing)
			w.itemEventually(low, "waiting for its Target", func(i *lsv1alpha1.DeployItem) bool {
				return run.ReadyReason(&i.Status.RunStatus) == lsv1alpha1.ReasonNoTargetFound
			})
			if works {
				w.itemOf("root", lsv1alpha1.PhaseProgressing)
			}
			recorder := w.recorded()
			w.delete("root")
			if works { // That is not cut short.
				w.itemOf("leaf", lsv1alpha1.PhaseFailed)
				w.eventually(w.level("middle"), "ended", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseFailed })
				w.play(w.itemOf("root", lsv1alpha1.PhaseProgressing), lsv1alpha1.PhaseSucceeded)
			}
			w.vanished("root")
			if !overtaken(recorder.Of(low)) {
				t.Errorf("the item did not end because of the deletion:\n%s", recorder.Of(low))
			}
		})
	}
}
