// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelinesv1alpha1 "espalier.dev/api/pipelines/v1alpha1"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const job = "8c6cf2a0-3d3c-4c7e-9d0e-0f6a2f6f8a11"

func after(seconds int) *metav1.Time {
	at := metav1.NewTime(start.Add(time.Duration(seconds) * time.Second))
	return &at
}

// running returns the status of a job that waits for what is below.
func running() lsv1alpha1.RunStatus {
	return lsv1alpha1.RunStatus{
		JobID: job, Phase: lsv1alpha1.PhaseProgressing,
		TransitionTimes: &lsv1alpha1.TransitionTimes{TriggerTime: after(0), InitTime: after(2), WaitTime: after(5)},
	}
}

func finish(status *lsv1alpha1.RunStatus, phase lsv1alpha1.Phase) {
	status.Phase, status.JobIDFinished, status.TransitionTimes.FinishedTime = phase, status.JobID, after(12)
}

func item() *lsv1alpha1.DeployItem {
	i := &lsv1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "pear", UID: "item", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: "Execution", UID: "above"},
	}}}
	i.Status.RunStatus = running()
	return i
}

func TestARunEndsOnce(t *testing.T) {
	i := item()
	mark := MarkOf(i)
	if r, ended := Ended("c", mark, i, start); ended {
		t.Errorf("it has not ended: %+v", r)
	}
	finish(&i.Status.RunStatus, lsv1alpha1.PhaseSucceeded)
	r, ended := Ended("c", mark, i, start)
	want := Run{
		Controller: "c", Kind: "DeployItem", Key: client.ObjectKeyFromObject(i), UID: "item", Parent: "above", Job: job, Result: "Succeeded",
		Triggered: after(0).Time, Begun: after(2).Time, Waited: after(5).Time, Ended: after(12).Time,
	}
	if diff := cmp.Diff(want, r); diff != "" || !ended {
		t.Errorf("ended %t (-want +got):\n%s", ended, diff)
	}
	if r, ended := Ended("c", MarkOf(i), i, start); ended {
		t.Errorf("it has ended twice: %+v", r)
	}
	// Receiving a new job ends nothing.
	i.Status.JobID = "next"
	if r, ended := Ended("c", MarkOf(i), i, start); ended {
		t.Errorf("a job that begins has ended: %+v", r)
	}
	if r, ended := Ended("c", Mark{}, &pipelinesv1alpha1.Pipeline{}, start); ended {
		t.Errorf("a pipeline has a run: %+v", r)
	}
}

// A deleted object leaves no status behind; its end is the removal of the last finalizer.
func TestTheEndOfAnObjectIsTheEndOfItsRun(t *testing.T) {
	for name, change := range map[string]func(*lsv1alpha1.DeployItem){
		"in a job":              func(*lsv1alpha1.DeployItem) {},
		"in the other flow":     func(i *lsv1alpha1.DeployItem) { i.Status.JobIDFinished = job },
		"that was never at it":  func(i *lsv1alpha1.DeployItem) { finish(&i.Status.RunStatus, lsv1alpha1.PhaseSucceeded) },
		"that is finalized yet": func(i *lsv1alpha1.DeployItem) { i.Finalizers = []string{"other"} },
	} {
		i := item()
		i.Status.Phase, i.Finalizers = lsv1alpha1.PhaseDeleting, []string{"f"}
		mark := MarkOf(i)
		i.DeletionTimestamp, i.Finalizers = after(6), nil
		change(i)
		r, ended := Ended("c", mark, i, after(20).Time)
		if want := name == "in a job" || name == "in the other flow"; ended != want {
			t.Errorf("%s: got %+v, %v", name, r, ended)
		}
		if ended && (r.Result != "Deleted" || !r.Ended.Equal(after(20).Time) || (r.Job != "") != (name == "in a job")) {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

func TestMeasures(t *testing.T) {
	i := item()
	mark := MarkOf(i)
	finish(&i.Status.RunStatus, lsv1alpha1.PhaseFailed)
	r, _ := Ended("deployer-x", mark, i, start)
	want := []Measure{
		{DeployItemDuration, []string{"deployer-x", "Failed"}, 12},
		{JobPhase, []string{"DeployItem", "queued"}, 2},
		{JobPhase, []string{"DeployItem", "working"}, 3},
		{JobPhase, []string{"DeployItem", "waiting"}, 7},
	}
	if diff := cmp.Diff(want, r.Measures()); diff != "" {
		t.Error(diff)
	}
	// A job belongs to a root; nested installations are parts of it.
	root := Run{Kind: kindInstallation, Result: "Succeeded", Triggered: start, Ended: start.Add(time.Minute)}
	if diff := cmp.Diff([]Measure{{JobDuration, []string{"Succeeded"}, 60}}, root.Measures()); diff != "" {
		t.Error(diff)
	}
	root.Parent = "above"
	if got := root.Measures(); len(got) > 0 {
		t.Errorf("a nested installation counts as a job: %v", got)
	}
	// A clock that was set back causes no negative durations.
	if got := (Run{Kind: kindDeployItem, Triggered: start, Ended: start.Add(-time.Minute)}).Measures(); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

func TestSpansOfADeployItem(t *testing.T) {
	i := item()
	mark := MarkOf(i)
	finish(&i.Status.RunStatus, lsv1alpha1.PhaseFailed)
	i.Status.LastError = &lsv1alpha1.Error{Reason: "NotReady", Message: "the password is hunter2"}
	r, _ := Ended("deployer-x", mark, i, start)
	spans := r.Spans()
	if len(spans) != 3 {
		t.Fatalf("got %+v", spans)
	}
	whole, apply, readiness := spans[0], spans[1], spans[2]
	if whole.Trace.String() != strings.ReplaceAll(job, "-", "") || whole.Parent != spanID(job, "above", "") || whole.Failed != "NotReady" {
		t.Errorf("got %+v", whole)
	}
	for _, part := range []Span{apply, readiness} {
		if part.Parent != whole.ID || part.Trace != whole.Trace || part.ID == whole.ID || !part.ID.IsValid() {
			t.Errorf("got %+v", part)
		}
	}
	if apply.ID == readiness.ID || apply.Name != "apply" || !apply.End.Equal(readiness.Start) || !readiness.End.Equal(whole.End) {
		t.Errorf("got %+v and %+v", apply, readiness)
	}
	if strings.Contains(fmt.Sprint(spans), "hunter2") {
		t.Errorf("a span has the message: %v", spans)
	}
	// Another process computes the same spans.
	if diff := cmp.Diff(fmt.Sprint(spans), fmt.Sprint(r.Spans())); diff != "" {
		t.Error(diff)
	}
	r.Job = "by-hand"
	if spans := r.Spans(); len(spans) != 3 || !spans[0].Trace.IsValid() {
		t.Errorf("got %+v", spans)
	}
	r.Job = ""
	if spans := r.Spans(); len(spans) != 0 {
		t.Errorf("a run without a job gives %+v", spans)
	}
}

// Write access to a status must not allow creating any number of series.
func TestLabelsAreBounded(t *testing.T) {
	var s State
	for n := range 1000 {
		i := &lsv1alpha1.Installation{}
		i.Status.Phase = lsv1alpha1.Phase(fmt.Sprintf("Phase%d", n))
		i.Status.Conditions = []lsv1alpha1.Condition{{
			Type: lsv1alpha1.ConditionReconciling, Status: lsv1alpha1.ConditionTrue, Reason: fmt.Sprintf("Reason%d", n), LastTransitionTime: *after(-n),
		}}
		p := &pipelinesv1alpha1.Pipeline{}
		p.Status.Holds = []pipelinesv1alpha1.Hold{{Reason: pipelinesv1alpha1.HoldReason(fmt.Sprintf("Hold%d", n))}}
		p.Status.Environments = map[string]pipelinesv1alpha1.EnvironmentStatus{
			"e": {Promotion: &pipelinesv1alpha1.PromotionStatus{State: pipelinesv1alpha1.PromotionState(fmt.Sprintf("State%d", n))}},
		}
		for _, object := range []client.Object{i, p} {
			s.Add(object, start)
		}
	}
	if len(s.Objects) != 1 || len(s.Waiting) > 3*maxReasons+1 || len(s.Holds) > maxReasons+1 || len(s.Environments) != 1 {
		t.Errorf("there are %d phases, %d reasons, %d holds, %d states", len(s.Objects), len(s.Waiting), len(s.Holds), len(s.Environments))
	}
	if got := s.Longest[[2]string{kindInstallation, other}]; got != 999*time.Second {
		t.Errorf("the longest wait is %s", got)
	}
	if s.Pipelines["Unknown"] != 1000 {
		t.Errorf("got %v", s.Pipelines)
	}
	for text, want := range map[string]string{"": other, "a b": other, "WaitingForImports": "WaitingForImports", "1st": other, "hunter2!": other} {
		if got := word(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}
