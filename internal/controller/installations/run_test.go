// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// chain is a tree in which b imports what a exports, and both import what the root imports.
var chain = header + imports("base") + nest(
	sub{name: "a", blueprint: header + imports("base") + exports("word: {{ .imports.base }}-a", "word") + deploy(item("one")),
		imports: map[string]string{"base": "base"}, exports: map[string]string{"word": "from-a"}},
	sub{name: "b", blueprint: header + imports("before") + exports("word: {{ .imports.before }}-b", "word") + deploy(item("one")),
		imports: map[string]string{"before": "from-a"}, exports: map[string]string{"word": "from-b"}},
) + exports(`result: {{ index .values.dataobjects "from-b" }}`, "result") + deploy(item("own"))

func (w *world) children(name string) map[string]*lsv1alpha1.Installation {
	w.Helper()
	var list lsv1alpha1.InstallationList
	err := w.cluster.List(w.Context(), &list, client.InNamespace(w.namespace), client.MatchingLabels{lsv1alpha1.EncompassedByLabel: name})
	if err != nil {
		w.Fatal(err)
	}
	result := map[string]*lsv1alpha1.Installation{}
	for i := range list.Items {
		result[list.Items[i].Annotations[lsv1alpha1.SubinstallationNameAnnotation]] = &list.Items[i]
	}
	return result
}

func TestJOB01_JOB02_JOB04_JOB20_JOB22_JOB23_JOB25_JOB27_ATreeIsOneJob(t *testing.T) {
	w := newWorld(t)
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Groups(lsv1alpha1.GroupName))
	w.create(testkit.DataObject(w.namespace, "base", "x").Build(),
		w.installation("root", chain).ImportData("base", "base").ExportData("result", "result").Reconcile().Build())
	root := w.finished("root", lsv1alpha1.PhaseSucceeded)

	result := &lsv1alpha1.DataObject{}
	result.Namespace, result.Name = w.namespace, "result"
	if !w.get(result) || string(result.Data.Raw) != `"x-a-b"` {
		t.Errorf("export = %s, want what went through both nested installations", result.Data.Raw)
	}
	children := w.children("root")
	if len(children) != 2 {
		t.Fatalf("nested installations: %v", children)
	}
	for name, child := range children {
		if child.Status.JobID != root.Status.JobID || !child.Status.IsFinished() {
			t.Errorf("nested installation %s: job %+v, want %s, finished", name, child.Status.RunStatus, root.Status.JobID)
		}
	}
	facts := map[string]any{
		"imports hash": root.Status.ImportsHash != "", "generation": root.Status.ObservedGeneration,
		"execution": root.Status.ExecutionReference != nil,
	}
	if diff := cmp.Diff(map[string]any{"imports hash": true, "generation": root.Generation, "execution": true}, facts); diff != "" {
		t.Errorf("status of the root (-want +got):\n%s", diff)
	}
	checkHistory(t, recorder.History(), root.Status.JobID)
	recorder.Quiet(t, time.Second)
}

// checkHistory checks every state of every object: the job comes from above, its end is one write, and the root is last.
func checkHistory(t *testing.T, history testkit.History, job string) {
	t.Helper()
	last := map[string]string{}
	for _, r := range history {
		var status struct {
			Status lsv1alpha1.RunStatus `json:"status"`
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(r.Object.Object, &status); err != nil {
			t.Fatal(err)
		}
		s := status.Status
		name := r.Object.GetKind() + " " + r.Object.GetName()
		if s.JobID != "" && s.JobID != job {
			t.Errorf("%s has the job %s", name, s.JobID)
		}
		if s.Phase.IsFinal() != (s.JobID != "" && s.IsFinished()) {
			t.Errorf("%s: phase %s, finished %v: the end was not one write", name, s.Phase, s.IsFinished())
		}
		if s.JobID != "" && last["Installation root"] == "" && name != "Installation root" {
			t.Errorf("%s got the job before the root had stored it", name)
		}
		if s.JobID != "" {
			last[name] = string(s.Phase)
		}
		if name == "Installation root" && s.Phase.IsFinal() {
			for other, phase := range last {
				if !lsv1alpha1.Phase(phase).IsFinal() {
					t.Errorf("the root finished while %s was in phase %s", other, phase)
				}
			}
		}
	}
}

func TestJOB28_PhasesAndTheirTimesAreVisible(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("app", header+deploy(item("one", endless))).Reconcile().Build())
	running := w.eventually(
		"app",
		"in phase Progressing",
		func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseProgressing },
	)
	if running.Status.PhaseTransitionTime == nil || running.Status.TransitionTimes.WaitTime == nil {
		t.Errorf("no times: %+v", running.Status)
	}
	waiting := slices.IndexFunc(running.Status.Conditions, func(c lsv1alpha1.Condition) bool {
		return c.Type == lsv1alpha1.ConditionReconciling && c.Reason == lsv1alpha1.ReasonWaitingForSubObjects &&
			strings.Contains(c.Message, "execution app")
	})
	if waiting < 0 {
		t.Errorf("conditions do not say what it waits for: %+v", running.Status.Conditions)
	}
}

var waitingWords = regexp.MustCompile(`"message":"waiting for [^"]*"`)

func TestJOB21_APredecessorIsAwaitedQuietlyAndItsFailureNamed(t *testing.T) {
	w := newWorld(t)
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Groups(lsv1alpha1.GroupName))
	exporter := header + imports("seed") + exports("word: {{ .imports.seed }}", "word")
	w.create(
		w.installation("first", exporter).ImportData("seed", "seed").ExportData("word", "word").Reconcile().Build(),
		w.installation("second", header+imports("word")).ImportData("word", "word").Reconcile().Build(),
	)
	waiting := w.eventually("second", "waiting for the first", func(i *lsv1alpha1.Installation) bool {
		return slices.ContainsFunc(i.Status.Conditions, func(c lsv1alpha1.Condition) bool {
			return c.Reason == lsv1alpha1.ReasonWaitingForPredecessors && strings.Contains(c.Message, "installation first")
		})
	})
	if waiting.Status.Phase != lsv1alpha1.PhaseInit || waiting.Status.LastError != nil {
		t.Errorf("waiting made a noise: %+v", waiting.Status)
	}
	w.create(testkit.DataObject(w.namespace, "seed", "s").Build())
	w.finished("first", lsv1alpha1.PhaseSucceeded)
	w.finished("second", lsv1alpha1.PhaseSucceeded)
	// On a slow machine, more states of the first one are visible, and each write may report one, but only once.
	history, reasons := recorder.Of(w.named("second")), sets.New[string]()
	for _, revision := range history {
		reasons.Insert(waitingWords.FindString(revision.Field("status.conditions")))
	}
	reasons.Delete("")
	if own := history.Writes() - reasons.Len(); own > 7 {
		t.Errorf("the second installation took %d writes beside those for %q: waiting made a noise", own, sets.List(reasons))
	}

	w.create(
		w.installation("broken", "kind: [").ExportData("other", "other").Reconcile().Build(),
	)
	w.finished("broken", lsv1alpha1.PhaseFailed)
	w.create(w.installation("third", header+imports("other")).ImportData("other", "other").Reconcile().Build())
	third := w.finished("third", lsv1alpha1.PhaseFailed)
	if !strings.Contains(third.Status.LastError.Message, "installation broken") {
		t.Errorf("the error does not name the predecessor: %+v", third.Status.LastError)
	}
}

// The end of what is below climbs a tree of four levels, and passes from one sibling to the next, by events. By re-checks it would not
// arrive while this test waits. An installation starts to wait before those below it do, so its first check, after a minute, comes too
// early; so does the second one further up, and each interval is as long as all before it together.
func TestJOB24_EventsDriveTheWaiting(t *testing.T) {
	w := newWorld(t)
	leaf := header + nest(sub{
		name:      "a",
		blueprint: header + deploy(item("one", endless)) + exports("x: 1", "x"),
		exports:   map[string]string{"x": "x"},
	}, sub{name: "b", blueprint: header + imports("x"), imports: map[string]string{"x": "x"}})
	middle := header + nest(sub{name: "leaf", blueprint: leaf})
	w.create(w.installation("root", header+nest(sub{name: "middle", blueprint: middle})).Reconcile().Build())
	below := w.nested("root", "middle").Name
	lowest := w.nested(w.nested(below, "leaf").Name, "a").Name
	w.executing(lowest)
	w.finishItems(lowest)
	w.finished("root", lsv1alpha1.PhaseSucceeded)
}

func TestJOB26_ARootSuccessorIsRequestedOnceForEachJob(t *testing.T) {
	w := newWorld(t)
	w.create(
		w.installation("second", header+imports("word")).ImportData("word", "word").Build(),
		w.installation("first", header+exports("word: one", "word")).ExportData("word", "word").Reconcile().Build(),
	)
	w.finished("first", lsv1alpha1.PhaseSucceeded)
	before := w.finished("second", lsv1alpha1.PhaseSucceeded)
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Groups(lsv1alpha1.GroupName))
	w.request("first")
	w.eventually("second", "finished with another job", func(i *lsv1alpha1.Installation) bool {
		return i.Status.IsFinished() && i.Status.JobID != before.Status.JobID
	})
	recorder.Quiet(t, time.Second)
	if jobs := recorder.Of(w.named("second")).Transitions("status.jobID"); len(jobs) != 2 {
		t.Errorf("jobs of the successor: %q, want the one before and one more", jobs)
	}
}

func TestJOB25_ChangesDuringAJobMakeItFail(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *world)
		reason string
	}{
		"of the spec": {func(w *world) {
			w.change("app", func(spec *lsv1alpha1.InstallationSpec) { spec.ExportDataMappings = nil; spec.Context = "other" })
		}, "SpecChanged"},
		"of an import": {func(w *world) {
			object := testkit.DataObject(w.namespace, "config", 2).Build()
			existing := &lsv1alpha1.DataObject{}
			existing.Namespace, existing.Name = w.namespace, "config"
			w.get(existing)
			object.ResourceVersion = existing.ResourceVersion
			if err := w.cluster.Update(w.Context(), object); err != nil {
				w.Fatal(err)
			}
		}, "ImportsChanged"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(testkit.DataObject(w.namespace, "config", 1).Build(),
				w.installation("app", header+imports("config")+deploy(item("one", endless))).ImportData("config", "config").Reconcile().Build())
			w.eventually(
				"app",
				"in phase Progressing",
				func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseProgressing },
			)
			c.change(w)
			w.finishItems("app")
			failed := w.finished("app", lsv1alpha1.PhaseFailed)
			if failed.Status.LastError.Reason != c.reason {
				t.Errorf("lastError = %+v, want reason %s", failed.Status.LastError, c.reason)
			}
		})
	}
}

// executing waits until the execution of an installation has started its deploy items.
func (w *world) executing(name string) {
	w.Helper()
	execution := &lsv1alpha1.Execution{}
	execution.Namespace, execution.Name = w.namespace, name
	testkit.Eventually(
		w.T,
		w.server,
		execution,
		testkit.Is("running", func(e *lsv1alpha1.Execution) bool { return e.Status.Phase == lsv1alpha1.PhaseProgressing }),
	)
}

// finishItems ends the deploy items of an installation, as a deployer would.
func (w *world) finishItems(name string) {
	w.Helper()
	w.executing(name)
	var list lsv1alpha1.DeployItemList
	if err := w.cluster.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	for i := range list.Items {
		item := testkit.Eventually(w.T, w.server, &list.Items[i], testkit.Is("picked up", func(d *lsv1alpha1.DeployItem) bool {
			return d.Status.Phase == lsv1alpha1.PhaseProgressing
		}))
		patch := []byte(`{"status":{"phase":"Succeeded","jobIDFinished":"` + item.Status.JobID + `"}}`)
		if err := w.cluster.Status().Patch(w.Context(), item, client.RawPatch("application/merge-patch+json", patch)); err != nil {
			w.Fatal(err)
		}
	}
}

func TestJOB20_OrphansAreRemovedBeforeTheJobGoesOn(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("root", header+nest(sub{
		name:      "stays",
		blueprint: empty,
	}, sub{name: "goes", blueprint: header + deploy(item("one"))})+deploy(item("own"))).Reconcile().Build())
	first := w.finished("root", lsv1alpha1.PhaseSucceeded)
	gone := w.children("root")["goes"]
	w.change("root", func(spec *lsv1alpha1.InstallationSpec) {
		*spec = testkit.Installation("", "").Blueprint(header + nest(sub{name: "stays", blueprint: empty})).Build().Spec
	})
	w.request("root")
	second := w.eventually("root", "finished again", func(i *lsv1alpha1.Installation) bool {
		return i.Status.IsFinished() && i.Status.JobID != first.Status.JobID && i.Status.Phase == lsv1alpha1.PhaseSucceeded
	})
	if w.get(gone) {
		t.Errorf("the orphan %s is left", gone.Name)
	}
	if reference := second.Status.ExecutionReference; reference != nil {
		t.Errorf("the status still refers to execution %s", reference.Name)
	}
	want := &lsv1alpha1.SubInstCache{ActiveSubs: []lsv1alpha1.NamePair{{SpecName: "stays", ObjectName: w.children("root")["stays"].Name}}}
	if diff := cmp.Diff(want, second.Status.SubInstCache); diff != "" {
		t.Errorf("what is known of the nested installations (-want +got):\n%s", diff)
	}
	var items lsv1alpha1.DeployItemList
	if err := w.cluster.List(t.Context(), &items, client.InNamespace(w.namespace)); err != nil || len(items.Items) > 0 {
		t.Errorf("deploy items are left: %v %v", items.Items, err)
	}
	execution := &lsv1alpha1.Execution{}
	execution.Namespace, execution.Name = w.namespace, "root"
	if w.get(execution) {
		t.Error("the execution without deploy items is left")
	}
}

func TestJOB30_AMissingImportRepeatsThePhase(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("app", header+imports("config")).ImportData("config", "config").Reconcile().Build())
	waiting := w.eventually("app", "with an error", func(i *lsv1alpha1.Installation) bool { return i.Status.LastError != nil })
	e := waiting.Status.LastError
	if waiting.Status.Phase != lsv1alpha1.PhaseInit || waiting.Status.IsFinished() {
		t.Errorf("phase %s, finished %t", waiting.Status.Phase, waiting.Status.IsFinished())
	}
	if e.Operation == "" || e.Reason != "ImportNotFound" || !strings.Contains(e.Message, "config") {
		t.Errorf("error %+v", e)
	}
	w.create(testkit.DataObject(w.namespace, "config", 1).Build())
	after := w.finished("app", lsv1alpha1.PhaseSucceeded)
	if after.Status.LastError != nil || !apiequality.Semantic.DeepEqual(after.Status.JobID, waiting.Status.JobID) {
		t.Errorf("after the import came: %+v", after.Status)
	}
}

func TestJOB31_RootsThatWaitForEachOtherFailWithTheCycle(t *testing.T) {
	w := newWorld(t)
	w.create(
		w.installation("a", header+imports("y")+exports("x: 1", "x")).ImportData("y", "y").ExportData("x", "x").Reconcile().Build(),
		w.installation("b", header+imports("x")+exports("y: 1", "y")).ImportData("x", "x").ExportData("y", "y").Reconcile().Build(),
	)
	for _, name := range []string{"a", "b"} {
		failed := w.finished(name, lsv1alpha1.PhaseFailed)
		if message := failed.Status.LastError.Message; !strings.Contains(message, "a imports") || !strings.Contains(message, "b imports") {
			t.Errorf("%s: %s does not name the cycle", name, message)
		}
	}
}
