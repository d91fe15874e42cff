// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	flux "espalier.dev/internal/controller/requests"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/share"
)

// left lists the remaining objects of the API in the namespace, except Contexts.
func (w *world) left() []string {
	w.Helper()
	var names []string
	for kind, list := range map[string]client.ObjectList{
		"Installation": &lsv1alpha1.InstallationList{}, "Execution": &lsv1alpha1.ExecutionList{}, "DeployItem": &lsv1alpha1.DeployItemList{},
		"DataObject": &lsv1alpha1.DataObjectList{}, "Target": &lsv1alpha1.TargetList{},
	} {
		if err := w.cluster.List(w.Context(), list, client.InNamespace(w.namespace)); err != nil {
			w.Fatal(err)
		}
		for _, name := range namesIn(list) {
			names = append(names, kind+"/"+name)
		}
	}
	slices.Sort(names)
	return names
}

func namesIn(list client.ObjectList) (names []string) {
	switch l := list.(type) {
	case *lsv1alpha1.InstallationList:
		for _, o := range l.Items {
			names = append(names, o.Name)
		}
	case *lsv1alpha1.ExecutionList:
		for _, o := range l.Items {
			names = append(names, o.Name)
		}
	case *lsv1alpha1.DeployItemList:
		for _, o := range l.Items {
			names = append(names, o.Name)
		}
	case *lsv1alpha1.DataObjectList:
		for _, o := range l.Items {
			names = append(names, o.Name)
		}
	case *lsv1alpha1.TargetList:
		for _, o := range l.Items {
			names = append(names, o.Name)
		}
	}
	return names
}

func TestJOB40_JOB43_JOB44_JOB45_DeletingARootRemovesTheWholeTree(t *testing.T) {
	w := newWorld(t)
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Groups(lsv1alpha1.GroupName))
	w.create(testkit.DataObject(w.namespace, "base", "x").Build(),
		w.installation("root", chain).ImportData("base", "base").ExportData("result", "result").Reconcile().Build())
	installed := w.finished("root", lsv1alpha1.PhaseSucceeded)
	w.delete("root")
	testkit.EventuallyGone(t, w.server, w.named("root"))
	if left := w.left(); !slices.Equal(left, []string{"DataObject/base"}) {
		t.Errorf("left are %q, want nothing but the import of the root", left)
	}
	last := recorder.Of(w.named("root")).Transitions("status.jobID")
	if len(last) != 3 || last[1] != installed.Status.JobID {
		t.Errorf("jobs of the root: %q, want one more for the deletion", last)
	}
}

func TestJOB40_DeletionWaitsForTheJobThatRuns(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("app", header+deploy(item("one", endless))).Reconcile().Build())
	running := w.eventually(
		"app",
		"in phase Progressing",
		func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseProgressing },
	)
	w.delete("app")
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Groups(lsv1alpha1.GroupName))
	w.finishItems("app")
	testkit.EventuallyGone(t, w.server, w.named("app"))
	phases := recorder.Of(w.named("app")).Transitions("status.phase")
	jobs := recorder.Of(w.named("app")).Transitions("status.jobID")
	if !slices.Contains(phases, string(lsv1alpha1.PhaseSucceeded)) || len(jobs) < 2 || jobs[0] != running.Status.JobID {
		t.Errorf("phases %q, jobs %q: want the job to end before the deletion begins", phases, jobs)
	}
}

func TestJOB42_APredecessorStaysUntilItsSuccessorIsGone(t *testing.T) {
	w := newWorld(t)
	w.create(
		w.installation("second", header+imports("word")).ImportData("word", "word").Build(),
		w.installation("first", header+exports("word: one", "word")).ExportData("word", "word").Reconcile().Build(),
	)
	w.finished("second", lsv1alpha1.PhaseSucceeded)
	w.delete("first")
	w.eventually("first", "waiting for its successor", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhaseInitDelete && slices.ContainsFunc(i.Status.Conditions, func(c lsv1alpha1.Condition) bool {
			return c.Reason == lsv1alpha1.ReasonWaitingForSuccessors && strings.Contains(c.Message, "installation second")
		})
	})
	w.delete("second")
	testkit.EventuallyGone(t, w.server, w.named("second"))
	testkit.EventuallyGone(t, w.server, w.named("first"))
}

// stuck is a deploy item for which there is no deployer.
var stuck = strings.Replace(item("one"), "landscaper.gardener.cloud/mock", "example.com/nobody", 1)

func TestJOB44_JOB41_ADeletionThatFailsCanBeRequestedAgain(t *testing.T) {
	for name, annotation := range map[string][2]string{
		"by the operation":     {lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationReconcile)},
		"as tools of Flux ask": {flux.Annotation, "now"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.failToDelete()
			w.annotate("app", annotation[0], annotation[1])
			again := testkit.Eventually(
				t,
				w.server,
				w.onlyItem(),
				testkit.Is("to be deleted again", func(i *lsv1alpha1.DeployItem) bool { return !i.Status.IsFinished() }),
			)
			w.patch(again, `{"metadata":{"finalizers":null}}`) // as a deployer lets it go
			testkit.EventuallyGone(t, w.server, w.named("app"))
			if left := w.left(); len(left) > 0 {
				t.Errorf("left are %q", left)
			}
		})
	}
}

func TestJOB46_JOB60_ADeletionThatFailedIsGivenUpAtOnce(t *testing.T) {
	w := newWorld(t)
	w.failToDelete()
	w.annotate("app", lsv1alpha1.DeleteWithoutUninstallAnnotation, "true")
	testkit.EventuallyGone(t, w.server, w.named("app"))
	if left := w.left(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// failToDelete creates a tree whose deletion has failed.
func (w *world) failToDelete() {
	w.Helper()
	w.create(w.installation("app", header+nest(sub{name: "a", blueprint: header + deploy(stuck)})).Reconcile().Build())
	running := w.eventually(
		"app",
		"in phase Progressing",
		func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseProgressing },
	)
	w.executing(running.Status.SubInstCache.ActiveSubs[0].ObjectName)
	w.annotate("app", lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationInterrupt))
	w.finished("app", lsv1alpha1.PhaseFailed)
	w.delete("app")
	w.eventually("app", "being deleted", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseDeleting })
	w.annotate("app", lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationInterrupt))
	failed := w.finished("app", lsv1alpha1.PhaseDeleteFailed)
	if failed.Status.LastError == nil || !strings.Contains(failed.Status.LastError.Message, "installation a-") {
		w.Errorf("lastError = %+v, want the nested installation named", failed.Status.LastError)
	}
}

func TestJOB50_JOB51_AnInterruptEndsTheTree(t *testing.T) {
	for name, blueprint := range map[string]string{
		"with a deploy item that runs": header + deploy(item("one", endless)),
		"two levels deep":              header + nest(sub{name: "a", blueprint: header + deploy(item("one", endless))}),
		"with one that waits for another": header + nest(sub{
			name:      "a",
			blueprint: header + deploy(item("one", endless)) + exports("x: 1", "x"),
			exports:   map[string]string{"x": "x"},
		}, sub{name: "b", blueprint: header + imports("x"), imports: map[string]string{"x": "x"}}),
		"with a deploy item that never started": header + deploy(item("one", endless), strings.Replace(item("two"), "      config:", "      dependsOn: [one]\n      config:", 1)),
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.create(w.installation("app", blueprint).Reconcile().Build())
			running := w.eventually(
				"app",
				"in phase Progressing",
				func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseProgressing },
			)
			w.annotate("app", lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationInterrupt))
			failed := w.finished("app", lsv1alpha1.PhaseFailed)
			if failed.Annotations[lsv1alpha1.OperationAnnotation] != "" || failed.Status.JobID != running.Status.JobID {
				t.Errorf("after the interrupt: %v %+v", failed.Annotations, failed.Status)
			}
			if !strings.Contains(strings.ToLower(failed.Status.LastError.Message), "interrupt") {
				t.Errorf("lastError = %+v does not speak of the interrupt", failed.Status.LastError)
			}
			w.request("app")
			w.eventually("app", "running again", func(i *lsv1alpha1.Installation) bool {
				return i.Status.JobID != running.Status.JobID && i.Status.Phase == lsv1alpha1.PhaseProgressing
			})
		})
	}
}

// The interrupt is stored just before a write, from the creation of the first object of the tree to that of the last: existing objects
// finish, missing ones are not created, and nothing keeps working.
func TestJOB52_AnInterruptDuringTheCreationReachesTheTree(t *testing.T) {
	t.Parallel()
	var reference faults.Log
	t.Run("reference", func(t *testing.T) {
		t.Run("on a good day", func(t *testing.T) { reference = interruptAt(t, 0) })
	})
	creations := reference.Where(func(e faults.Entry) bool {
		return e.Verb == "create" && slices.Contains([]string{"installations", "executions", "deployitems"}, e.Resource)
	})
	if len(creations) != 5 {
		t.Fatalf("%d creations: %s", len(creations), creations)
	}
	cases := share.Of()
	for write := creations[0].Write; write <= creations[len(creations)-1].Write; write++ {
		if !cases.Try() {
			continue
		}
		t.Run(fmt.Sprintf("at write %d", write), func(t *testing.T) { interruptAt(t, write) })
	}
}

// interruptAt interrupts a tree whose deploy items never finish, before the given write; with 0, once all of it is in progress.
func interruptAt(t *testing.T, write int) faults.Log {
	w := idleWorld(t)
	transport := faults.New(faults.Plan{})
	interrupt := func() { w.annotate("root", lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationInterrupt)) }
	if write > 0 {
		transport.Before(write, interrupt)
	}
	w.run(transport.Config(w.server.Config()))
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Groups(lsv1alpha1.GroupName))
	nested := sub{name: "a", blueprint: header + deploy(item("one", endless))}
	w.create(w.installation("root", header+nest(nested)+deploy(item("own", endless))).Reconcile().Build())
	if write == 0 {
		w.executing("root")
		w.executing(w.nested("root", "a").Name)
		interrupt()
	}
	root := w.finished("root", lsv1alpha1.PhaseFailed)
	recorder.Quiet(t, time.Second)
	ended := false
	for _, r := range recorder.History() {
		ended = ended || r.ID().Name == "root" && r.ID().Kind == "Installation" && r.Field("status.jobIDFinished") == root.Status.JobID
		if ended && r.Change == testkit.Added {
			t.Errorf("%s was created after the end of the job", r.ID())
		}
	}
	for id, life := range recorder.History().Objects() {
		if last := life.Last(); last.Field("status.jobID") != last.Field("status.jobIDFinished") {
			t.Errorf("%s has escaped: it is in phase %s", id, last.Field("status.phase"))
		}
	}
	return transport.Log()
}

func TestJOB52_AnInterruptWhileWaitingForImportsEndsTheJob(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("app", header+imports("config")).ImportData("config", "config").Reconcile().Build())
	w.eventually("app", "with an error", func(i *lsv1alpha1.Installation) bool { return i.Status.LastError != nil })
	w.annotate("app", lsv1alpha1.OperationAnnotation, string(lsv1alpha1.OperationInterrupt))
	failed := w.finished("app", lsv1alpha1.PhaseFailed)
	if failed.Status.LastError.Reason != lsv1alpha1.ReasonInterrupted {
		t.Errorf("lastError = %+v", failed.Status.LastError)
	}
}

// The objects belong to the manifest deployer, which removes them from the target if it uninstalls.
func TestJOB60_DeleteWithoutUninstallRemovesTheTreeOnly(t *testing.T) {
	w := newWorld(t)
	installed := []string{"nested", "own"}
	nested := sub{name: "a", blueprint: header + importsPlace + deploy(placed("nested", w.namespace)), target: "place"}
	root := header + importsPlace + nest(nested) + deploy(placed("own", w.namespace))
	w.create(testkit.Target(w.namespace, "place").Cluster(t, w.server).Build(),
		w.installation("root", root).ImportTarget("place", "place").Reconcile().Build())
	w.finished("root", lsv1alpha1.PhaseSucceeded)
	before := map[string]*corev1.ConfigMap{}
	for _, name := range installed {
		if before[name] = w.configMap(name); !w.get(before[name]) {
			t.Fatalf("ConfigMap %s was not installed", name)
		}
	}
	w.annotate("root", lsv1alpha1.DeleteWithoutUninstallAnnotation, "true")
	w.delete("root")
	testkit.EventuallyGone(t, w.server, w.named("root"))
	if left := w.left(); !slices.Equal(left, []string{"Target/place"}) {
		t.Errorf("left are %q, want nothing but the import of the root", left)
	}
	for _, name := range installed {
		after := w.configMap(name)
		if !w.get(after) {
			t.Errorf("ConfigMap %s, which was installed, is gone", name)
			continue
		}
		if after.UID != before[name].UID || after.DeletionTimestamp != nil {
			t.Errorf("ConfigMap %s, which was installed, is %s, was %s, and goes at %v", name, after.UID, before[name].UID, after.DeletionTimestamp)
		}
		if diff := cmp.Diff(map[string]string{"word": "planted"}, after.Data); diff != "" {
			t.Errorf("the data of ConfigMap %s (-want +got):\n%s", name, diff)
		}
	}
}

// overtaken reports whether the history shows that the job of an installation ended because of the deletion.
func overtaken(history testkit.History) bool {
	return slices.ContainsFunc(history, func(r testkit.Revision) bool {
		return r.Field("status.phase") == string(lsv1alpha1.PhaseFailed) && r.Field("status.lastError.reason") == lsv1alpha1.ReasonInterrupted &&
			strings.Contains(r.Field("status.lastError.message"), "deletion was requested")
	})
}

func TestJOB46_ADeletionEndsAJobThatOnlyWaits(t *testing.T) {
	waiting := func(reason string) func(*lsv1alpha1.Installation) bool {
		return func(i *lsv1alpha1.Installation) bool {
			return i.Status.Phase == lsv1alpha1.PhaseInit &&
				slices.ContainsFunc(i.Status.Conditions, func(c lsv1alpha1.Condition) bool { return c.Reason == reason })
		}
	}
	needy := sub{name: "b", blueprint: header + imports("x"), imports: map[string]string{"x": "x"}}
	for name, c := range map[string]struct {
		others  func(*world)
		app     func(*world) *testkit.InstallationBuilder
		waiting func(*world)
		ended   func(*world) *lsv1alpha1.Installation
	}{
		"for an import": {
			app: func(w *world) *testkit.InstallationBuilder {
				return w.installation("app", header+imports("config")).ImportData("config", "config")
			},
			waiting: func(w *world) {
				w.eventually("app", "with an error", func(i *lsv1alpha1.Installation) bool { return i.Status.LastError != nil })
			},
		},
		"for a predecessor": {
			others: func(w *world) {
				w.create(w.installation("first", header+deploy(item("one", endless))+exports("word: one", "word")).ExportData("word", "word").Reconcile().Build())
				w.eventually("first", "running", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseProgressing })
			},
			app: func(w *world) *testkit.InstallationBuilder {
				return w.installation("app", header+imports("word")).ImportData("word", "word")
			},
			waiting: func(w *world) { w.eventually("app", "waiting", waiting(lsv1alpha1.ReasonWaitingForPredecessors)) },
		},
		"for a predecessor below": {
			app: func(w *world) *testkit.InstallationBuilder {
				first := sub{name: "a", blueprint: header + deploy(item("one", endless)) + exports("x: 1", "x"), exports: map[string]string{"x": "x"}}
				return w.installation("app", header+nest(first, needy))
			},
			waiting: func(w *world) {
				testkit.Eventually(w.T, w.server, w.nested("app", "b"), testkit.Is("waiting", waiting(lsv1alpha1.ReasonWaitingForPredecessors)))
			},
			ended: func(w *world) *lsv1alpha1.Installation { return w.nested("app", "b") },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if c.others != nil {
				c.others(w)
			}
			recorder := testkit.Record(t, w.server, w.namespace, testkit.Groups(lsv1alpha1.GroupName))
			w.create(c.app(w).Reconcile().Build())
			c.waiting(w)
			ended := w.named("app")
			if c.ended != nil {
				ended = c.ended(w)
			}
			w.delete("app")
			if c.ended != nil {
				testkit.EventuallyFinished(t, w.server, ended, lsv1alpha1.PhaseFailed)
				w.finishItems(w.nested("app", "a").Name) // what has started is not cut short
			}
			testkit.EventuallyGone(t, w.server, w.named("app"))
			if !overtaken(recorder.Of(ended)) {
				t.Errorf("it did not end because of the deletion:\n%s", recorder.Of(ended))
			}
		})
	}
}

// nested waits for a nested installation and returns it.
func (w *world) nested(parent, name string) *lsv1alpha1.Installation {
	w.Helper()
	root := w.eventually(parent, "having children", func(i *lsv1alpha1.Installation) bool {
		return i.Status.SubInstCache != nil &&
			slices.ContainsFunc(i.Status.SubInstCache.ActiveSubs, func(p lsv1alpha1.NamePair) bool { return p.SpecName == name })
	})
	pairs := root.Status.SubInstCache.ActiveSubs
	return w.named(pairs[slices.IndexFunc(pairs, func(p lsv1alpha1.NamePair) bool { return p.SpecName == name })].ObjectName)
}

// untouchable is a deploy item whose Target does not exist.
var untouchable = strings.Replace(item("one"), "      config:", "      target: {name: nowhere}\n      config:", 1)

// onlyItem returns the only deploy item.
func (w *world) onlyItem() *lsv1alpha1.DeployItem {
	w.Helper()
	var list lsv1alpha1.DeployItemList
	if err := w.cluster.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil || len(list.Items) != 1 {
		w.Fatalf("deploy items: %v, %v", namesIn(&list), err)
	}
	return &list.Items[0]
}

func (w *world) itemWaits(phase lsv1alpha1.Phase) *lsv1alpha1.DeployItem {
	w.Helper()
	return testkit.Eventually(w.T, w.server, w.onlyItem(), testkit.Is("waiting for its Target", func(i *lsv1alpha1.DeployItem) bool {
		return i.Status.Phase == phase &&
			slices.ContainsFunc(i.Status.Conditions, func(c lsv1alpha1.Condition) bool { return c.Reason == lsv1alpha1.ReasonNoTargetFound })
	}))
}

func TestJOB46_ADeletionEndsItemsThatWaitForTheirTarget(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("app", header+nest(sub{name: "a", blueprint: header + deploy(untouchable)})).Reconcile().Build())
	w.executing(w.nested("app", "a").Name)
	waiting := w.itemWaits(lsv1alpha1.PhaseProgressing)
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Groups(lsv1alpha1.GroupName))
	w.delete("app")
	testkit.EventuallyGone(t, w.server, w.named("app"))
	if left := w.left(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
	if !overtaken(recorder.Of(waiting)) {
		t.Errorf("the item did not end because of the deletion:\n%s", recorder.Of(waiting))
	}
}

// Without its Target, nothing that was deployed is left behind silently: the deletion waits and names the way out, which works at any
// time.
func TestJOB46_JOB60_ADeletionWithoutItsTargetNamesTheWayOut(t *testing.T) {
	w := newWorld(t)
	w.create(testkit.Target(w.namespace, "nowhere").Build(),
		w.installation("app", header+nest(sub{name: "a", blueprint: header + deploy(untouchable)})).Reconcile().Build())
	w.finished("app", lsv1alpha1.PhaseSucceeded)
	if err := w.cluster.Delete(t.Context(), testkit.Target(w.namespace, "nowhere").Build()); err != nil {
		t.Fatal(err)
	}
	w.delete("app")
	waiting := w.itemWaits(lsv1alpha1.PhaseDeleting)
	i := slices.IndexFunc(waiting.Status.Conditions, func(c lsv1alpha1.Condition) bool { return c.Reason == lsv1alpha1.ReasonNoTargetFound })
	for _, part := range []string{"Target " + w.namespace + "/nowhere does not exist", "espalier delete app --without-uninstall"} {
		if message := waiting.Status.Conditions[i].Message; !strings.Contains(message, part) {
			t.Errorf("%q does not say %q", message, part)
		}
	}
	w.annotate("app", lsv1alpha1.DeleteWithoutUninstallAnnotation, "true")
	testkit.EventuallyGone(t, w.server, w.named("app"))
	if left := w.left(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// A user who gives up what is being installed does not wait for the job that installs it.
func TestJOB46_JOB60_GivingUpEndsARunningJob(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("app", header+nest(sub{name: "a", blueprint: header + deploy(item("one", endless))})).Reconcile().Build())
	running := w.nested("app", "a")
	w.executing(running.Name)
	w.delete("app")
	w.annotate("app", lsv1alpha1.DeleteWithoutUninstallAnnotation, "true")
	testkit.EventuallyGone(t, w.server, w.named("app"))
	if left := w.left(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}
