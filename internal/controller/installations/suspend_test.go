// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	flux "espalier.dev/internal/controller/requests"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/internal/testkit/traffic"
)

// suspend suspends a root, and returns it once its status reports that.
func (w *world) suspend(name string) *lsv1alpha1.Installation {
	w.Helper()
	w.patch(w.named(name), `{"metadata":{"annotations":{"`+lsv1alpha1.SuspendAnnotation+`":"true","`+
		lsv1alpha1.SuspendReasonAnnotation+`":"by jo: audit"}}}`)
	return w.eventually(name, "suspended", func(i *lsv1alpha1.Installation) bool {
		return strings.HasPrefix(saying(i, lsv1alpha1.ConditionSuspended), "True Suspended: suspended by jo: audit; ")
	})
}

func (w *world) resume(name string) {
	w.Helper()
	w.patch(w.named(name), `{"metadata":{"annotations":{"`+lsv1alpha1.SuspendAnnotation+`":null,"`+
		lsv1alpha1.SuspendReasonAnnotation+`":null}}}`)
}

// saying returns the status, the reason and the message of a condition.
func saying(inst *lsv1alpha1.Installation, kind lsv1alpha1.ConditionType) string {
	for _, c := range inst.Status.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason + ": " + c.Message
		}
	}
	return ""
}

// A job that is requested while the root is suspended stays requested, however and by whomever, and starts on resume: exactly one.
func TestJOB11_JOB15_ASuspendedRootStartsNoJob(t *testing.T) {
	w := newWorld(t)
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Kinds(&lsv1alpha1.Installation{}))
	w.create(w.installation("app", header+deploy(item("one"))).Reconcile().Annotate(lsv1alpha1.SuspendAnnotation, "true").Build())
	fresh := w.eventually("app", "held back", func(i *lsv1alpha1.Installation) bool {
		return strings.HasPrefix(saying(i, lsv1alpha1.ConditionReady), "False Suspended: ")
	})
	if diff := cmp.Diff(untouched, progressOf(fresh)); diff != "" {
		t.Errorf("something has begun (-want +got):\n%s", diff)
	}
	w.resume("app")
	first := w.finished("app", lsv1alpha1.PhaseSucceeded)

	w.suspend("app")
	w.annotate("app", flux.Annotation, "now")
	w.annotate("app", lsv1alpha1.ReconcileIfChangedAnnotation, "true")
	w.rewrite("app", header+deploy(item("one"), item("two")))
	w.eventually("app", "asked by the tools of Flux", func(i *lsv1alpha1.Installation) bool {
		return i.Annotations[flux.TakenAnnotation] == "now" && i.Annotations[lsv1alpha1.OperationAnnotation] == "reconcile"
	})
	recorder.Quiet(t, time.Second)
	waiting := w.named("app")
	w.get(waiting)
	ready, _, _ := strings.Cut(saying(waiting, lsv1alpha1.ConditionReady), ": ")
	facts := map[string]any{
		"job": waiting.Status.JobID, "requested": waiting.Annotations[lsv1alpha1.OperationAnnotation], "ready": ready,
		"reconciling": saying(waiting, lsv1alpha1.ConditionReconciling), "deploy items": len(w.items()),
		"answered": waiting.Status.LastHandledReconcileAt,
	}
	if diff := cmp.Diff(map[string]any{
		"job": first.Status.JobID, "requested": "reconcile", "ready": "True Succeeded", "reconciling": "", "deploy items": 1,
		"answered": "",
	}, facts); diff != "" {
		t.Errorf("it does not wait (-want +got):\n%s", diff)
	}
	w.resume("app")
	second := w.finishedAfter("app", first.Status.JobID)
	recorder.Quiet(t, time.Second)
	w.get(second)
	facts = map[string]any{
		"runs": len(second.Status.LastRuns), "deploy items": len(w.items()), "suspended": saying(second, lsv1alpha1.ConditionSuspended),
		"answered": second.Status.LastHandledReconcileAt,
	}
	if diff := cmp.Diff(map[string]any{"runs": 2, "deploy items": 2, "suspended": "", "answered": "now"}, facts); diff != "" {
		t.Errorf("one job was requested (-want +got):\n%s", diff)
	}
	w.suspend("app")
	w.delete("app")
	w.vanished("app")
}

// A job that has started continues to its end, and can be interrupted.
func TestJOB13_ASuspendedRootFinishesItsJob(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("app", header+deploy(item("one", endless))).Reconcile().Build())
	w.executing("app")
	w.suspend("app")
	w.finishItems("app")
	first := w.finished("app", lsv1alpha1.PhaseSucceeded)
	w.resume("app")
	w.request("app")
	w.eventually("app", "in another job", func(i *lsv1alpha1.Installation) bool {
		return i.Status.JobID != first.Status.JobID && i.Status.Phase == lsv1alpha1.PhaseProgressing
	})
	w.suspend("app")
	w.interrupt("app")
	failed := w.finished("app", lsv1alpha1.PhaseFailed)
	if saying(failed, lsv1alpha1.ConditionSuspended) == "" || run.ReadyReason(&failed.Status.RunStatus) == run.ReasonSuspended {
		t.Errorf("the end of the job is not told: %+v", failed.Status.Conditions)
	}
}

// In the continuous flow, neither a new spec nor drift in the target has an effect until the root is resumed.
func TestCON10_CON13_ASuspendedTreeIsLeftAlone(t *testing.T) {
	w := idleWorld(t)
	observer, connection := traffic.New(), rest.CopyConfig(w.server.Config())
	connection.Wrap(observer.Wrap)
	w.run(connection)
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Groups(lsv1alpha1.GroupName), testkit.Kinds(&corev1.ConfigMap{}))
	blueprint := header + importsPlace + deploy(placed("planted", w.namespace, "continuousReconcile: {every: 1s}")) + exports("word: water", "word")
	w.create(
		testkit.Target(w.namespace, "place").Cluster(t, w.server).Build(),
		w.installation("root", blueprint).Continuous().ImportTarget("place", "place").ExportData("word", "word").Build(),
	)
	w.completed("root", lsv1alpha1.PhaseSucceeded)
	root, object, export := w.named("root"), w.planted(), testkit.DataObject(w.namespace, "word", 1).Build()
	context := w.contextTarget("root")

	w.suspend("root")
	recorder.Quiet(t, looks) // By now, a deployer has finished whatever it had started before.
	before := recorder.History()
	w.patch(object, `{"data":{"word":"trampled"}}`)
	w.Delete(export)
	w.Delete(context)
	w.looked(observer)
	recorder.Quiet(t, looks)
	if w.get(object); object.Data["word"] != "trampled" || w.get(export) || w.get(context) {
		t.Errorf("the object has %q, the export is %+v, the Target %+v", object.Data["word"], export, context)
	}
	w.resume("root")
	testkit.Eventually(t, w.server, object, testkit.Is("repaired", func(c *corev1.ConfigMap) bool { return c.Data["word"] == "planted" }))
	testkit.Eventually(t, w.server, export, testkit.Is("restored", func(*lsv1alpha1.DataObject) bool { return true }))
	testkit.Eventually(t, w.server, context, testkit.Is("restored", func(*lsv1alpha1.Target) bool { return true }))

	w.suspend("root")
	w.rewrite("root", strings.Replace(blueprint, "word: planted", "word: harvested", 1))
	w.operate("root", lsv1alpha1.OperationForceReconcile)
	recorder.Quiet(t, looks)
	w.get(root)
	w.get(object)
	facts := map[string]any{
		"word": object.Data["word"], "phase": root.Status.Phase, "up to date": root.Status.ObservedGeneration == root.Generation,
	}
	if diff := cmp.Diff(map[string]any{"word": "planted", "phase": lsv1alpha1.PhaseSucceeded, "up to date": false}, facts); diff != "" {
		t.Errorf("after force (-want +got):\n%s", diff)
	}
	if begun, _ := deployments(recorder.Since(before)); begun != 0 || root.Annotations[lsv1alpha1.OperationAnnotation] == "" {
		t.Errorf("%d deployments, annotations %v", begun, root.Annotations)
	}
	w.resume("root")
	w.completed("root", lsv1alpha1.PhaseSucceeded)
	if w.get(object); object.Data["word"] != "harvested" {
		t.Errorf("the object has %q", object.Data["word"])
	}
	w.suspend("root")
	w.delete("root")
	w.vanished("root")
	if w.get(object) {
		t.Error("the object is still there")
	}
}

// looked waits until the deployer has asked twice more whether the root is suspended, so once after what the test has just done.
func (w *world) looked(observer *traffic.Traffic) {
	w.Helper()
	reads := func() (count int) {
		for _, request := range observer.Requests() {
			if strings.HasPrefix(request, "GET ") && strings.HasSuffix(request, "/installations/root") {
				count++
			}
		}
		return count
	}
	before := reads()
	observer.Await(w.T, "the deployer to read the root", func(*traffic.Traffic) bool { return reads() >= before+2 })
}

// A successor uses what a suspended predecessor has exported, although a job of the predecessor was requested, and starts as soon as the
// predecessor is suspended.
func TestJOB21_ASuspendedRootIsNotAwaited(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("giver", header+exports("word: water", "word")).ExportData("word", "word").Reconcile().Build())
	w.finished("giver", lsv1alpha1.PhaseSucceeded)
	w.suspend("giver")
	w.request("giver")
	w.create(w.installation("taker", header+imports("word")).ImportData("word", "word").Reconcile().Build())
	w.finished("taker", lsv1alpha1.PhaseSucceeded)
}

// stops is how Ready begins while an update waits before its exports.
const stops = "False Suspended: the update waits before its exports: "

// A suspended update has the spec and the imports that it started with. Its exports cannot be computed from others: it waits before them.
func TestCON10_ASuspendedUpdateExportsNothingOfAnotherSpec(t *testing.T) {
	const changed = "the spec has changed"
	blueprint := func(word string) string {
		return header + imports("base") + deploy(stubborn) + exports("word: "+word+"-{{ .imports.base }}", "word")
	}
	for name, c := range map[string]struct {
		change func(*world)
		says   string
	}{
		"another spec":    {func(w *world) { w.rewrite("root", blueprint("second")) }, changed},
		"an invalid spec": {func(w *world) { w.rewrite("root", "kind: [") }, changed},
		"a spec without its import": {func(w *world) {
			w.change("root", func(s *lsv1alpha1.InstallationSpec) { s.Imports.Data[0].DataRef = "nowhere" })
		}, changed},
		"another import": {func(w *world) { w.patch(w.base(), `{"data":"y"}`) }, "imports have changed: base"},
		"no import":      {func(w *world) { w.Delete(w.base()) }, "imports are missing: "},
		"another spec, and nothing below": {func(w *world) {
			w.rewrite("root", blueprint("second"))
			below, item := w.below()
			w.Delete(below)
			w.itemEventually(item, "asked to go", func(i *lsv1alpha1.DeployItem) bool { return !i.DeletionTimestamp.IsZero() })
			w.patch(item, `{"metadata":{"finalizers":null}}`)
			testkit.EventuallyGone(w.T, w.server, below)
		}, changed + ", and execution root is gone; "},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			export := testkit.DataObject(w.namespace, "word", "").Build()
			root := w.installation("root", blueprint("first")).Continuous().ImportData("base", "base").ExportData("word", "word").Build()
			w.create(w.base(), root.DeepCopy())
			w.work("")
			w.eventually("root", "updated", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseProgressing })
			w.suspend("root")
			c.change(w)
			w.work(lsv1alpha1.PhaseSucceeded)
			waiting := w.eventually("root", "waiting before its exports", func(i *lsv1alpha1.Installation) bool {
				return strings.HasPrefix(saying(i, lsv1alpha1.ConditionReady), stops+c.says)
			})
			past := waiting.Status.History
			if waiting.Status.Phase != lsv1alpha1.PhaseProgressing || len(past) != 1 || past[0].Result != "" || w.get(export) {
				t.Errorf("it has ended: phase %s, %d revisions, %+v", waiting.Status.Phase, len(past), export)
			}
			if told := w.why("root"); !strings.Contains(told, "espalier resume root") {
				t.Errorf("why: %s", told)
			}
			w.change("root", func(s *lsv1alpha1.InstallationSpec) {
				*s = root.Spec
				s.Blueprint = w.installation("root", blueprint("last")).Build().Spec.Blueprint
			})
			if base := w.base(); !w.get(base) {
				w.create(w.base())
			} else {
				w.patch(base, `{"data":"x"}`)
			}
			w.resume("root")
			w.work(lsv1alpha1.PhaseSucceeded)
			w.completed("root", lsv1alpha1.PhaseSucceeded)
			if w.get(export); string(export.Data.Raw) != `"last-x"` {
				t.Errorf("the export is %s", export.Data.Raw)
			}
		})
	}
}

func (w *world) base() *lsv1alpha1.DataObject {
	return testkit.DataObject(w.namespace, "base", "x").Build()
}

// below names the execution of the root, and its stubborn deploy item.
func (w *world) below() (*lsv1alpha1.Execution, *lsv1alpha1.DeployItem) {
	below, item := &lsv1alpha1.Execution{}, &lsv1alpha1.DeployItem{}
	below.Namespace, below.Name = w.namespace, "root"
	item.Namespace, item.Name = w.namespace, execution.ItemName("root", "low")
	return below, item
}

// work plays the deployer of the stubborn deploy item of the root. It does nothing if there is none, and will not be without a user.
func (w *world) work(phase lsv1alpha1.Phase) {
	w.Helper()
	root := w.named("root")
	below, item := w.below()
	if w.get(root); root.Status.ExecutionReference != nil && !w.get(below) && installation.SuspensionOf(root).On {
		return
	}
	w.itemEventually(item, "created", func(*lsv1alpha1.DeployItem) bool { return true })
	if phase != "" {
		w.play(item, phase)
	}
}

// A suspension, or a crash, between the writes of an update and that of its status does not end the update: it continues. If the spec
// changes as well, the update cannot continue, and no other one starts.
func TestCON10_AnUpdateThatTheStatusDoesNotRecordContinues(t *testing.T) {
	leaf := header + imports("base") + deploy(item("only", value("{{ .imports.base }}")))
	tree := func(word string) string {
		return header + imports("base") + nest(sub{name: "leaf", blueprint: leaf, imports: map[string]string{"base": "base"}}) +
			deploy(item("own", value(word))) + exports("word: "+word+"-{{ .imports.base }}", "word")
	}
	const frozen = `{"metadata":{"annotations":{"` + lsv1alpha1.IgnoreAnnotation + `":"true"}}}`
	const suspended = `{"metadata":{"annotations":{"` + lsv1alpha1.SuspendAnnotation + `":"true"}}}`
	for name, c := range map[string]struct {
		first  bool // of the updates
		update func(*world)
		mark   string
		export string
	}{
		"the first one":          {true, nil, suspended, `"one-x"`},
		"another spec":           {false, func(w *world) { w.rewrite("root", tree("two")) }, suspended, `"two-x"`},
		"another import":         {false, func(w *world) { w.patch(w.base(), `{"data":"y"}`) }, suspended, `"one-y"`},
		"another spec, frozen":   {false, func(w *world) { w.rewrite("root", tree("two")) }, frozen, `"two-x"`},
		"another import, frozen": {false, func(w *world) { w.patch(w.base(), `{"data":"y"}`) }, frozen, `"one-y"`},
	} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, crash %t", name, crash), func(t *testing.T) {
				w := idleWorld(t)
				transport := w.operated(faults.Plan{})
				root := w.installation("root", tree("one")).Continuous().ImportData("base", "base").ExportData("word", "word").Build()
				interrupt := func() {
					transport.BeforeNth(1, "patch/installations/status=root", func() {
						if w.patch(root.DeepCopy(), c.mark); crash {
							transport.Crash()
						}
					})
				}
				if c.first {
					interrupt()
				}
				w.create(w.base(), root)
				before := &lsv1alpha1.Installation{}
				if !c.first {
					before = w.completed("root", lsv1alpha1.PhaseSucceeded)
					interrupt()
					c.update(w)
				}
				w.eventually("root", "updated", func(i *lsv1alpha1.Installation) bool {
					return i.Status.Phase == lsv1alpha1.PhaseSucceeded && i.Status.ObservedGeneration == i.Generation &&
						i.Status.ConfigGeneration != before.Status.ConfigGeneration
				})
				export := testkit.DataObject(w.namespace, "word", "").Build()
				if w.get(export); string(export.Data.Raw) != c.export {
					t.Errorf("the export is %s, want %s", export.Data.Raw, c.export)
				}
				w.rewrite("root", tree("three"))
				w.patch(w.base(), `{"data":"z"}`)
				w.still("root", c.export)
			})
		}
	}
	t.Run("a further spec", func(t *testing.T) {
		w := idleWorld(t)
		transport := w.operated(faults.Plan{})
		root := w.installation("root", tree("one")).Continuous().ImportData("base", "base").ExportData("word", "word").Build()
		w.create(w.base(), root)
		w.completed("root", lsv1alpha1.PhaseSucceeded)
		transport.BeforeNth(1, "patch/installations/status=root", func() {
			w.patch(root.DeepCopy(), suspended)
			w.rewrite("root", tree("three"))
		})
		w.rewrite("root", tree("two"))
		w.eventually("root", "waiting before its exports", func(i *lsv1alpha1.Installation) bool {
			return strings.HasPrefix(saying(i, lsv1alpha1.ConditionReady), stops+"the spec has changed; ")
		})
		w.still("root", `"one-x"`)
		w.resume("root")
		w.completed("root", lsv1alpha1.PhaseSucceeded)
		w.still("root", `"three-x"`)
	})
}

// still checks that nothing more happens, and the export of an installation.
func (w *world) still(name, export string) {
	w.Helper()
	recorder := testkit.Record(w.T, w.server, w.namespace, testkit.Groups(lsv1alpha1.GroupName))
	recorder.Quiet(w.T, time.Second)
	object := testkit.DataObject(w.namespace, "word", "").Build()
	if w.get(object); string(object.Data.Raw) != export {
		w.Errorf("the export of %s is %s, want %s", name, object.Data.Raw, export)
	}
}
