// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/why"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
)

// drop deletes an object behind the controllers' backs, and waits until another one replaces it.
func (w *world) drop(object client.Object) {
	w.Helper()
	if !w.get(object) {
		w.Fatalf("%s does not exist", object.GetName())
	}
	before := object.GetUID()
	if err := w.cluster.Delete(w.Context(), object); err != nil {
		w.Fatal(err)
	}
	testkit.Eventually(w.T, w.server, object, testkit.Is("there again", func(o client.Object) bool { return o.GetUID() != before }))
}

// why returns what espalier why says of an installation.
func (w *world) why(name string) string {
	w.Helper()
	answer := clitest.Run(w.T, w.server, w.namespace, clitest.Call{Command: why.New, Args: []string{name}})
	if answer.Code != cli.ExitOK || answer.Stderr != "" {
		w.Errorf("why %s: exit code %d, stderr %q", name, answer.Code, answer.Stderr)
	}
	return answer.Stdout
}

// A deleted export is restored by itself, on each level, including that of an execution. Nothing is deployed because of it.
func TestCON14_WhatIsExportedComesBack(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	leaf := header + exports("word: {{ index .values.deployitems \"low\" \"word\" }}", "word") + deploy(item("low", "export: {word: water}"))
	root := header + exports("word: {{ .values.dataobjects.word }}", "word") + nest(sub{
		name:      "leaf",
		blueprint: leaf,
		exports:   map[string]string{"word": "word"},
	})
	w.create(
		w.installation("root", root).Continuous().ExportData("word", "word").Build(),
		w.installation("mill", header+imports("word")+deploy(item("only", value("{{ .imports.word }}")))).
			Continuous().
			ImportData("word", "word").
			Build(),
	)
	w.completed("mill", lsv1alpha1.PhaseSucceeded)
	sub := w.children("root")["leaf"].Name
	recorder.Quiet(t, time.Second)
	w.gitops(recorder, func() {
		for _, name := range []string{"word", dataflow.ObjectName(dataflow.ContextOf("root"), "word"), dataflow.ExecutionExportName(sub)} {
			w.drop(testkit.DataObject(w.namespace, name, "").Build())
			recorder.Quiet(t, time.Second)
			for _, inst := range []string{"root", sub, "mill"} {
				w.completed(inst, lsv1alpha1.PhaseSucceeded)
			}
		}
	}, 0)
}

// The status and espalier why report a deleted import until it exists again.
func TestCON21_CON22_AnImportThatVanishesIsTold(t *testing.T) {
	for name, given := range map[string]func(*world) (client.Object, func(*testkit.InstallationBuilder) *testkit.InstallationBuilder){
		"data object": func(w *world) (client.Object, func(*testkit.InstallationBuilder) *testkit.InstallationBuilder) {
			return testkit.DataObject(w.namespace, "word", "water").Build(), func(b *testkit.InstallationBuilder) *testkit.InstallationBuilder { return b.ImportData("word", "word") }
		},
		"secret": func(w *world) (client.Object, func(*testkit.InstallationBuilder) *testkit.InstallationBuilder) {
			return w.secret("word", "water"), func(b *testkit.InstallationBuilder) *testkit.InstallationBuilder {
				return b.ImportSecret("word", "word", "word")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			recorder := w.recorded()
			object, importing := given(w)
			w.create(
				object.DeepCopyObject().(client.Object),
				importing(w.installation("mill", header+imports("word")+deploy(item("only", value("1"))))).Continuous().Build(),
			)
			w.completed("mill", lsv1alpha1.PhaseSucceeded)
			recorder.Quiet(t, time.Second)
			w.gitops(recorder, func() {
				if err := w.cluster.Delete(t.Context(), object.DeepCopyObject().(client.Object)); err != nil {
					t.Fatal(err)
				}
				w.eventually("mill", "missing its import", func(i *lsv1alpha1.Installation) bool {
					return i.Status.Phase == lsv1alpha1.PhasePendingDependencies && strings.Contains(message(i), "word")
				})
				if answer := w.why("mill"); !strings.Contains(answer, "mill is not done") || !strings.Contains(answer, "/word does not exist") {
					t.Errorf("why says:\n%s", answer)
				}
				w.create(object.DeepCopyObject().(client.Object))
				w.completed("mill", lsv1alpha1.PhaseSucceeded)
			}, 0)
		})
	}
}

// An installation that only waits can be deleted: for an import from the start, for one that is gone, for one with a new spec.
func TestCON44_WhatWaitsForImportsIsDeleted(t *testing.T) {
	for name, prepare := range map[string]func(*world){
		"from the beginning": func(w *world) {
			w.create(w.installation("root", imports("base")+threeLevels(value("1"))).Continuous().ImportData("base", "base").Build())
		},
		"gone": func(w *world) {
			w.withBase()
		},
		"gone, with a new spec": func(w *world) {
			w.withBase()
			w.rewrite("root", imports("base")+threeLevels(value("2")))
		},
	} {
		for _, operation := range []lsv1alpha1.Operation{"", lsv1alpha1.OperationForceReconcile} {
			t.Run(name+" "+string(operation), func(t *testing.T) {
				w := newWorld(t)
				prepare(w)
				w.eventually("root", "waiting for its import", func(i *lsv1alpha1.Installation) bool {
					return i.Status.Phase == lsv1alpha1.PhasePendingDependencies && strings.Contains(message(i), "base")
				})
				w.delete("root")
				if operation != "" && w.get(w.named("root")) {
					// The installation may be gone by now.
					_ = w.cluster.Patch(t.Context(), w.named("root"), client.RawPatch("application/merge-patch+json",
						[]byte(`{"metadata":{"annotations":{"`+lsv1alpha1.OperationAnnotation+`":"`+string(operation)+`"}}}`)))
				}
				w.vanished("root")
			})
		}
	}
}

// withBase creates a tree that imports an object, and then deletes the object.
func (w *world) withBase() {
	w.Helper()
	base := testkit.DataObject(w.namespace, "base", "x").Build()
	w.create(base.DeepCopy(), w.installation("root", imports("base")+threeLevels(value("1"))).Continuous().ImportData("base", "base").Build())
	w.completed("root", lsv1alpha1.PhaseSucceeded)
	if err := w.cluster.Delete(w.Context(), base); err != nil {
		w.Fatal(err)
	}
}

// An execution fails only when nothing is in progress any more.
func TestCON53_AFailureAwaitsWhatIsInWork(t *testing.T) {
	w := newWorld(t)
	recorder := w.recorded()
	w.create(w.installation("root", header+deploy(item("bad", failing), stubborn)).Continuous().Build())
	low := &lsv1alpha1.DeployItem{}
	low.Namespace, low.Name = w.namespace, execution.ItemName("root", "low")
	waiting := testkit.Eventually(t, w.server, w.executionOf("root"), testkit.Is("about to fail", func(e *lsv1alpha1.Execution) bool {
		return e.Status.Phase.IsFinal() || len(e.Status.Conditions) > 0 &&
			strings.Contains(e.Status.Conditions[0].Message, "the execution then fails")
	}))
	if said := waiting.Status.Conditions[0].Message; waiting.Status.Phase != lsv1alpha1.PhaseProgressing || !strings.Contains(said, "low") {
		t.Errorf("in phase %s it says %q", waiting.Status.Phase, said)
	}
	w.play(low, lsv1alpha1.PhaseSucceeded)
	w.completed("root", lsv1alpha1.PhaseFailed)
	ended := false
	for _, r := range recorder.History() {
		ended = ended || r.Object.GetName() == low.Name && lsv1alpha1.Phase(r.Field("status.phase")).IsCompleted()
		if r.Object.GetName() == "root" && r.Field("status.phase") == string(lsv1alpha1.PhaseFailed) && !ended {
			t.Errorf("%s has failed while a deploy item is in work", r.ID())
		}
	}
}
