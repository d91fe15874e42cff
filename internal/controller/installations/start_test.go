// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
)

// progress is how far an installation has got.
type progress struct {
	Phase      lsv1alpha1.Phase
	Job        bool
	Finalizers []string
}

// untouched is the progress of an installation that has never run.
var untouched = progress{}

func progressOf(inst *lsv1alpha1.Installation) progress {
	return progress{Phase: inst.Status.Phase, Job: inst.Status.JobID != "", Finalizers: inst.Finalizers}
}

func TestJOB10_JOB11_ARequestStartsAJobAndNothingElseDoes(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("idle", empty).Build(), w.installation("asked", empty).Reconcile().Build())
	asked := w.finished("asked", lsv1alpha1.PhaseSucceeded)
	facts := map[string]bool{
		"requested": asked.Annotations[lsv1alpha1.OperationAnnotation] != "",
		"job":       asked.Status.JobID != "", "since": asked.Status.PhaseTransitionTime != nil,
	}
	if diff := cmp.Diff(map[string]bool{"requested": false, "job": true, "since": true}, facts); diff != "" {
		t.Errorf("after the job (-want +got):\n%s", diff)
	}
	idle := w.named("idle")
	w.get(idle)
	if diff := cmp.Diff(untouched, progressOf(idle)); diff != "" {
		t.Errorf("without a request (-want +got):\n%s", diff)
	}
	w.request("idle")
	w.finished("idle", lsv1alpha1.PhaseSucceeded)
}

func TestJOB31_JOB32_AFatalErrorEndsTheJobAndANewOneCanBeRequested(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("app", "kind: [").Reconcile().Build())
	failed := w.finished("app", lsv1alpha1.PhaseFailed)
	if failed.Status.LastError == nil || failed.Status.LastError.Message == "" {
		t.Fatalf("no word about the error: %+v", failed.Status)
	}
	w.change("app", func(spec *lsv1alpha1.InstallationSpec) {
		*spec = testkit.Installation("", "").Blueprint(empty).Build().Spec
	})
	w.request("app")
	again := w.finished("app", lsv1alpha1.PhaseSucceeded)
	if again.Status.JobID == failed.Status.JobID || again.Status.LastError != nil {
		t.Errorf("after the repair: %+v", again.Status)
	}
}

// The first job finishes as if no other one had been requested, and only then the second one starts.
func TestJOB13_JOB05_ARequestDuringAJobIsKept(t *testing.T) {
	w := newWorld(t)
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Kinds(&lsv1alpha1.Installation{}))
	w.create(w.installation("app", header+imports("config")).ImportData("config", "config").Reconcile().Build())
	waiting := w.eventually("app", "waiting for its import", func(i *lsv1alpha1.Installation) bool { return i.Status.LastError != nil })
	w.request("app")
	w.create(testkit.DataObject(w.namespace, "config", 1).Build())
	second := w.eventually("app", "finished with a second job", func(i *lsv1alpha1.Installation) bool {
		return i.Status.IsFinished() && i.Status.JobID != waiting.Status.JobID && i.Annotations[lsv1alpha1.OperationAnnotation] == ""
	})
	recorder.Quiet(t, time.Second)
	history := recorder.Of(second)
	if jobs := history.Transitions("status.jobID"); !slices.Equal(jobs, []string{"", waiting.Status.JobID, second.Status.JobID}) {
		t.Errorf("jobs %q, want one for each request", jobs)
	}
	asked, ended := false, false
	for _, r := range history {
		switch r.Field("status.jobID") {
		case waiting.Status.JobID:
			done := r.Field("status.jobIDFinished") == waiting.Status.JobID
			if asked = asked || isAsked(r.Object); asked && !isAsked(r.Object) && !done {
				t.Errorf("the request is gone while the first job is in phase %s", r.Field("status.phase"))
			}
			if done && r.Field("status.phase") != string(lsv1alpha1.PhaseSucceeded) {
				t.Errorf("the first job has ended in phase %s", r.Field("status.phase"))
			}
			ended = ended || done
		case second.Status.JobID:
			if !ended {
				t.Fatal("the second job has begun before the first one has finished")
			}
		}
	}
	if !asked || second.Status.Phase != lsv1alpha1.PhaseSucceeded {
		t.Errorf("asked during the first job: %v; the second one has ended in phase %s", asked, second.Status.Phase)
	}
}

func TestJOB12_ARequestToANestedInstallationIsDropped(t *testing.T) {
	w := newWorld(t)
	w.create(w.installation("root", header+nest(sub{name: "child", blueprint: empty})).Reconcile().Build())
	root := w.finished("root", lsv1alpha1.PhaseSucceeded)
	child := root.Status.SubInstCache.ActiveSubs[0].ObjectName
	w.request(child)
	after := w.eventually(child, "without the annotation", func(i *lsv1alpha1.Installation) bool {
		return i.Annotations[lsv1alpha1.OperationAnnotation] == ""
	})
	if after.Status.JobID != root.Status.JobID || !after.Status.IsFinished() {
		t.Errorf("the nested installation began something: %+v", after.Status)
	}
}

func TestJOB14_JOB15_AChangeStartsAJobOnlyIfTheAnnotationSaysSo(t *testing.T) {
	w := newWorld(t)
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Groups(lsv1alpha1.GroupName))
	w.create(w.installation("app", empty).Reconcile().Build())
	first := w.finished("app", lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	before := recorder.History()
	w.change("app", func(spec *lsv1alpha1.InstallationSpec) { spec.Context = "other" })
	recorder.Quiet(t, time.Second)
	if writes := recorder.Since(before).Writes(); writes != 1 {
		t.Errorf("the change alone led to %d writes, its own included", writes)
	}
	w.annotate("app", lsv1alpha1.ReconcileIfChangedAnnotation, "true")
	second := w.eventually("app", "at its new generation", func(i *lsv1alpha1.Installation) bool {
		return i.Status.IsFinished() && i.Status.ObservedGeneration == i.Generation
	})
	if second.Status.JobID == first.Status.JobID {
		t.Error("no new job began")
	}
	recorder.Quiet(t, time.Second)
	if last := w.named("app"); w.get(last) && last.Status.JobID != second.Status.JobID {
		t.Error("one change led to more than one job")
	}
}

func TestJOB15_JobsStartOnTime(t *testing.T) {
	w := newWorld(t)
	soon, twice := lsv1alpha1.Duration("100ms"), int32(2)
	failing := w.installation("failing", "kind: [").Reconcile().Build()
	failing.Spec.AutomaticReconcile = &lsv1alpha1.AutomaticReconcile{FailedReconcile: &lsv1alpha1.FailedReconcile{
		Interval:           &soon,
		NumberOfReconciles: &twice,
	}}
	well := w.installation("well", empty).Reconcile().Build()
	well.Spec.AutomaticReconcile = &lsv1alpha1.AutomaticReconcile{SucceededReconcile: &lsv1alpha1.SucceededReconcile{Interval: &soon}}
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Groups(lsv1alpha1.GroupName))
	w.create(failing, well)
	w.eventually("well", "started by itself", func(i *lsv1alpha1.Installation) bool {
		return i.Status.AutomaticReconcileStatus != nil && i.Status.IsFinished()
	})
	w.eventually("failing", "started twice by itself", func(i *lsv1alpha1.Installation) bool {
		s := i.Status.AutomaticReconcileStatus
		return s != nil && s.NumberOfReconciles == 2 && i.Status.IsFinished()
	})
	w.delete("well")
	testkit.EventuallyGone(t, w.server, w.named("well"))
	recorder.Quiet(t, time.Second)
	if jobs := recorder.Of(w.named("failing")).Transitions("status.jobID"); len(jobs) != 4 {
		t.Errorf("jobs %q, want nothing, the requested one and two automatic ones", jobs)
	}
}

// A sub-object that the API server finds invalid stays invalid: the job fails instead of repeating itself.
func TestJOB31_ASubObjectThatIsRejectedEndsTheJob(t *testing.T) {
	w := newWorld(t)
	refused := strings.Replace(item("one"), "      config:", "      timeout: sometimes\n      config:", 1)
	w.create(w.installation("app", header+deploy(refused)).Reconcile().Build())
	failed := w.finished("app", lsv1alpha1.PhaseFailed)
	if message := failed.Status.LastError.Message; !strings.Contains(message, "timeout") {
		t.Errorf("lastError = %q does not name the field", message)
	}
}

// A predecessor of the continuous flow has no job that runs: its phase tells whether it has finished.
func TestJOB21_APredecessorOfTheContinuousFlowIsAwaited(t *testing.T) {
	w := newWorld(t)
	giver := w.installation("giver", header+imports("late")+exports("word: water", "word")).Continuous()
	w.create(giver.ImportData("late", "late").ExportData("word", "word").Build())
	w.eventually("giver", "waiting for its import", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhasePendingDependencies
	})
	w.create(w.installation("taker", header+imports("word")).ImportData("word", "word").Reconcile().Build())
	taker := w.eventually("taker", "waiting, or done", func(i *lsv1alpha1.Installation) bool {
		waits := strings.Contains(saying(i, lsv1alpha1.ConditionReconciling), lsv1alpha1.ReasonWaitingForPredecessors)
		return waits || i.Status.JobID != "" && i.Status.IsFinished()
	})
	if taker.Status.IsFinished() {
		t.Fatalf("it has not waited: %+v", taker.Status)
	}
	w.create(testkit.DataObject(w.namespace, "late", "late").Build())
	w.finished("taker", lsv1alpha1.PhaseSucceeded)
}

// Nor has it finished while its phase is that of an earlier spec.
func TestJOB21_APredecessorOfTheContinuousFlowIsAwaitedBeforeItUpdates(t *testing.T) {
	for name, c := range map[string]struct{ first, phase string }{
		"after a success": {exports("word: old", "word"), "Succeeded"}, "after a failure": {"deployExecutions: [{}]", "Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := idleWorld(t)
			w.create(w.installation("giver", header+c.first).Continuous().ExportData("word", "word").Build())
			stop := w.run(w.server.Config())
			w.eventually("giver", c.phase, func(i *lsv1alpha1.Installation) bool { return string(i.Status.Phase) == c.phase })
			stop()
			w.rewrite("giver", header+exports("word: new", "word"))
			w.create(w.installation("taker", header+imports("word")+deploy(item("one", value("{{ .imports.word }}")))).
				ImportData("word", "word").Reconcile().Build())
			transport := faults.New(faults.Plan{})
			transport.BeforeNth(1, "patch/installations/status=giver", func() {
				w.eventually("taker", "waiting, or done", func(i *lsv1alpha1.Installation) bool {
					waits := strings.Contains(saying(i, lsv1alpha1.ConditionReconciling), "giver, which has not processed its new spec yet")
					return waits || i.Status.JobID != "" && i.Status.IsFinished()
				})
			})
			w.run(transport.Config(w.server.Config()))
			w.finished("taker", lsv1alpha1.PhaseSucceeded)
			if status := string(w.items()["one"].Status.ProviderStatus.Raw); !strings.Contains(status, `"value":"new"`) {
				t.Errorf("deployed is %s", status)
			}
		})
	}
}
