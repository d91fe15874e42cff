// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	flux "espalier.dev/internal/controller/requests"
	"espalier.dev/internal/run"
	"espalier.dev/internal/testkit"
)

// readyOf returns the status and reason of the Ready condition of a recorded state.
func readyOf(object *unstructured.Unstructured) (status, reason string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, each := range conditions {
		if c, ok := each.(map[string]any); ok && c["type"] == string(lsv1alpha1.ConditionReady) {
			status, _ = c["status"].(string)
			reason, _ = c["reason"].(string)
		}
	}
	return status, reason
}

func isAsked(object *unstructured.Unstructured) bool {
	return object.GetAnnotations()[lsv1alpha1.OperationAnnotation] != ""
}

// A user who sets the annotation, sees it removed and then waits for Ready gets the result of the requested job.
func TestJOB11_AfterARequestIsGoneReadySpeaksOfItsJob(t *testing.T) {
	for name, end := range map[string]struct {
		blueprint string
		phase     lsv1alpha1.Phase
	}{
		"well":   {header + deploy(item("one")), lsv1alpha1.PhaseSucceeded},
		"broken": {"kind: [", lsv1alpha1.PhaseFailed},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			recorder := testkit.Record(t, w.server, w.namespace, testkit.Kinds(&lsv1alpha1.Installation{}))
			w.create(w.installation("app", end.blueprint).Reconcile().Build())
			first := w.finished("app", end.phase)
			recorder.Quiet(t, time.Second)
			before := recorder.History()
			w.request("app")
			second := w.eventually("app", "finished again", func(i *lsv1alpha1.Installation) bool {
				return i.Status.IsFinished() && i.Status.JobID != first.Status.JobID
			})
			want := []lsv1alpha1.EndedRun{{ID: second.Status.JobID, Phase: end.phase}, {ID: first.Status.JobID, Phase: end.phase}}
			onlyThese := cmpopts.IgnoreFields(lsv1alpha1.EndedRun{}, "StartTime", "EndTime", "Generation", "Message")
			if diff := cmp.Diff(want, second.Status.LastRuns, onlyThese); diff != "" {
				t.Errorf("the last runs (-want +got):\n%s", diff)
			}
			recorder.Quiet(t, time.Second)
			announced := false
			for _, r := range recorder.Since(before) {
				ready, reason := readyOf(r.Object)
				job, _, _ := unstructured.NestedString(r.Object.Object, "status", "jobID")
				if announced = announced || reason == run.ReasonRequested; !isAsked(r.Object) && job == first.Status.JobID &&
					(ready != "Unknown" || reason != run.ReasonRequested) {
					t.Errorf("the request is gone, and Ready is %s (%s), which is of the job before", ready, reason)
				}
			}
			if !announced {
				t.Error("the request was never told of in the status")
			}
		})
	}
}

// A tool of Flux that sees its request answered, and then waits for Ready, gets the result of the requested job.
func TestJOB11_AnAnsweredRequestOfFluxHasItsOwnResult(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		asked    func(w *world)
	}{
		"at rest": {"phase: Succeeded", func(w *world) {
			w.finished("app", lsv1alpha1.PhaseSucceeded)
			w.annotate("app", flux.Annotation, "now")
		}},
		"while a job runs": {endless, func(w *world) {
			w.executing("app")
			w.annotate("app", flux.Annotation, "now")
			w.eventually("app", "asked", func(i *lsv1alpha1.Installation) bool { return i.Annotations[flux.TakenAnnotation] == "now" })
			w.finishItems("app")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			recorder := testkit.Record(t, w.server, w.namespace, testkit.Kinds(&lsv1alpha1.Installation{}))
			w.create(w.installation("app", header+deploy(item("one", c.settings))).Reconcile().Build())
			first := w.eventually("app", "in a job", func(i *lsv1alpha1.Installation) bool { return i.Status.JobID != "" }).Status.JobID
			c.asked(w)
			w.eventually("app", "answered, in another job", func(i *lsv1alpha1.Installation) bool {
				return i.Status.LastHandledReconcileAt == "now" && i.Status.JobID != first
			})
			recorder.Quiet(t, time.Second)
			for _, r := range recorder.History() {
				ready, reason := readyOf(r.Object)
				job, _, _ := unstructured.NestedString(r.Object.Object, "status", "jobID")
				answered, _, _ := unstructured.NestedString(r.Object.Object, "status", "lastHandledReconcileAt")
				if answered == "now" && job == first && reason != run.ReasonRequested {
					t.Errorf("the request is answered, and Ready is %s (%s), which is of the job before", ready, reason)
				}
			}
		})
	}
}

// In the continuous flow, the annotation is removed when the status shows the result of the request.
func TestCON13_AfterAForcedUpdateIsAnsweredReadySpeaksOfIt(t *testing.T) {
	w := newWorld(t)
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Kinds(&lsv1alpha1.Installation{}))
	w.create(w.installation("app", header+deploy(item("one"))).Continuous().Build())
	w.completed("app", lsv1alpha1.PhaseSucceeded)
	recorder.Quiet(t, time.Second)
	before := recorder.History()
	w.operate("app", lsv1alpha1.OperationForceReconcile)
	w.eventually("app", "done", func(i *lsv1alpha1.Installation) bool {
		return i.Annotations[lsv1alpha1.OperationAnnotation] == "" && i.Status.Phase == lsv1alpha1.PhaseSucceeded
	})
	recorder.Quiet(t, time.Second)
	for _, r := range recorder.Since(before) {
		if isAsked(r.Object) {
			continue
		}
		if ready, reason := readyOf(r.Object); ready == "True" {
			t.Errorf("the annotation is gone, and Ready is still that of before: %s", reason)
		}
		return // what comes later is the end of the requested update
	}
	t.Error("the annotation has never gone")
}

// A new root reports that it waits for a request, and writes nothing after that.
func TestJOB10_ANewRootSaysThatNoJobWasRequested(t *testing.T) {
	w := newWorld(t)
	recorder := testkit.Record(t, w.server, w.namespace, testkit.Kinds(&lsv1alpha1.Installation{}))
	w.create(w.installation("idle", empty).Build())
	idle := w.eventually("idle", "explained", func(i *lsv1alpha1.Installation) bool { return len(i.Status.Conditions) > 0 })
	want := []lsv1alpha1.Condition{{
		Type:   lsv1alpha1.ConditionReady,
		Status: lsv1alpha1.ConditionFalse,
		Reason: run.ReasonNotRequested,
	}}
	unsaid := cmpopts.IgnoreFields(lsv1alpha1.Condition{}, "Message", "LastTransitionTime", "LastUpdateTime")
	if diff := cmp.Diff(want, idle.Status.Conditions, unsaid); diff != "" {
		t.Errorf("the conditions (-want +got):\n%s", diff)
	}
	if message := idle.Status.Conditions[0].Message; !strings.Contains(message, "No job requested yet") {
		t.Errorf("the condition says %q", message)
	}
	if idle.Status.Phase != "" || idle.Status.JobID != "" || len(idle.Finalizers) > 0 {
		t.Errorf("nobody asked for it: phase %q, job %q, finalizers %v", idle.Status.Phase, idle.Status.JobID, idle.Finalizers)
	}
	w.annotate("idle", "example.org/something", "else")
	recorder.Quiet(t, time.Second)
	if history := recorder.Of(idle); history.Writes() != 3 {
		t.Errorf("a word about the wait is one write, beside the creation and the annotation:\n%s", history)
	}
	w.request("idle")
	w.finished("idle", lsv1alpha1.PhaseSucceeded)
}

// told reports whether one of the conditions says why an object does nothing.
func told(conditions []lsv1alpha1.Condition, words string) bool {
	return slices.ContainsFunc(conditions, func(c lsv1alpha1.Condition) bool {
		return c.Type == lsv1alpha1.ConditionReady && c.Status == lsv1alpha1.ConditionFalse && c.Reason == run.ReasonNotRequested &&
			strings.Contains(c.Message, words)
	})
}

// An object that is created by hand but gets its job from others says why nothing happens.
func TestJOB10_WhatIsMadeByHandSaysWhyNothingHappens(t *testing.T) {
	w := newWorld(t)
	nested := w.installation("nested", empty).Label(lsv1alpha1.EncompassedByLabel, "nobody").Build()
	execution, item := testkit.Execution(w.namespace, "execution").Build(), testkit.DeployItem(w.namespace, "item").Build()
	w.create(nested, execution, item)
	w.eventually("nested", "told", func(i *lsv1alpha1.Installation) bool { return told(i.Status.Conditions, "installation nobody") })
	testkit.Eventually(
		t,
		w.server,
		execution,
		testkit.Is("told", func(e *lsv1alpha1.Execution) bool { return told(e.Status.Conditions, "status.jobID") }),
	)
	testkit.Eventually(t, w.server, item, testkit.Is("told", func(i *lsv1alpha1.DeployItem) bool {
		return told(i.Status.Conditions, string(lsv1alpha1.OperationTestReconcile))
	}))
}
