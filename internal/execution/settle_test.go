// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
)

// The final phase of the previous job does not finish a new one, whatever happens first.
func TestJOB03_JOB30_AnErrorBeforeTheFirstDecisionDoesNotFinishTheJob(t *testing.T) {
	for _, deleted := range []bool{false, true} {
		e := newExecution(template("a"))
		e.Status.Phase, e.Status.JobID, e.Status.JobIDFinished = lsv1alpha1.PhaseSucceeded, job, "job-1"
		first := lsv1alpha1.PhaseInit
		if deleted {
			at := metav1.NewTime(noon)
			e.DeletionTimestamp, first = &at, lsv1alpha1.PhaseInitDelete
		}
		o := execution.NewObserved(execution.Snapshot{Execution: e, Complete: true, Now: noon})
		execution.Settle(e, o, execution.Decision{}, errors.New("the API server is away"))
		if e.Status.IsFinished() || e.Status.Phase != first || e.Status.LastError == nil {
			t.Errorf("status %+v", e.Status)
		}
	}
}

func TestTheTimeAtWhichAJobArrivedIsKept(t *testing.T) {
	arrived := metav1.NewTime(noon.Add(-1))
	e := newExecution()
	e.Status.JobID = job
	e.Status.LastError = &lsv1alpha1.Error{Message: "of the job before"}
	e.Status.TransitionTimes = &lsv1alpha1.TransitionTimes{TriggerTime: &arrived}
	o := execution.NewObserved(execution.Snapshot{Execution: e, Now: noon})
	execution.Settle(e, o, execution.Decide(o), nil)
	begun := metav1.NewTime(noon)
	if diff := cmp.Diff(&lsv1alpha1.TransitionTimes{TriggerTime: &arrived, InitTime: &begun}, e.Status.TransitionTimes); diff != "" {
		t.Errorf("the times (-want +got):\n%s", diff)
	}
	if e.Status.Phase != lsv1alpha1.PhaseInit || e.Status.LastError != nil {
		t.Errorf("phase %s, error %+v", e.Status.Phase, e.Status.LastError)
	}
}

func TestJOB50_AnInterruptedItemSaysSo(t *testing.T) {
	e := begun(template("a"), template("b"), template("c"))
	e.Annotations[lsv1alpha1.OperationAnnotation] = string(lsv1alpha1.OperationInterrupt)
	a, b, c := stored(t, e, "a"), stored(t, e, "b"), stored(t, e, "c")
	a.Status.JobID, a.Status.Phase = job, lsv1alpha1.PhaseProgressing
	a.Status.FirstError = &lsv1alpha1.Error{Reason: "Earlier"}
	b.Status.JobID, b.Status.JobIDFinished, b.Status.Phase = "job-1", "job-1", lsv1alpha1.PhaseSucceeded
	c.Status.JobID, c.Status.JobIDFinished, c.Status.Phase = job, job, lsv1alpha1.PhaseSucceeded
	o := observe(e, a, b, c)
	for _, item := range o.Wanted[:2] {
		status := item.CutShort
		if status == nil {
			t.Fatalf("%s is not interrupted", item.Name)
		}
		if status.Phase != lsv1alpha1.PhaseFailed || status.JobID != job || status.JobIDFinished != job {
			t.Fatalf("%s becomes %s with job %s, finished %s", item.Name, status.Phase, status.JobID, status.JobIDFinished)
		}
		if e := status.LastError; e == nil || e.Reason != "Interrupted" ||
			!strings.Contains(e.Message, "landscaper.gardener.cloud/operation=interrupt") {
			t.Errorf("%s says %+v", item.Name, e)
		}
		if len(status.LastErrors) != 1 || status.FirstError == nil {
			t.Errorf("errors of %s: first %+v, last %+v", item.Name, status.FirstError, status.LastErrors)
		}
	}
	if o.Wanted[0].CutShort.FirstError.Reason != "Earlier" || o.Wanted[1].CutShort.FirstError.Reason != "Interrupted" {
		t.Error("the first error is not that of the job")
	}
	if o.Wanted[2].CutShort != nil {
		t.Error("an item that has finished is interrupted")
	}
	if a.Status.Phase != lsv1alpha1.PhaseProgressing {
		t.Error("what was read has been changed")
	}
}

// Items that were created before an error stopped the preparation are recorded when an interrupt ends the job; an error alone does not
// show which exist.
func TestJOB50_AnInterruptedJobRemembersItsItems(t *testing.T) {
	for _, complete := range []bool{true, false} {
		e := begun(template("a"))
		o := execution.NewObserved(execution.Snapshot{
			Execution: e,
			Items:     []lsv1alpha1.DeployItem{*stored(t, e, "a")},
			Complete:  complete,
			Now:       noon,
		})
		execution.Settle(e, o, execution.Decision{}, errors.New("interrupted"))
		if cache := e.Status.DeployItemCache; complete != (cache != nil && len(cache.ActiveDIs) == 1) {
			t.Errorf("with certainty %v it remembers %+v", complete, cache)
		}
	}
}

// An interrupt applies to the job that runs when it arrives, and to no later one.
func TestJOB51_AnInterruptHitsOneJob(t *testing.T) {
	e := begun(template("a"))
	execution.AnnotateInterrupted(e, e.Annotations, "job-1")
	if observe(e).Interrupted {
		t.Error("the next job is interrupted as well")
	}
	execution.AnnotateInterrupted(e, e.Annotations, job)
	if !observe(e).Interrupted {
		t.Error("the job is not interrupted")
	}
	e.UID = "a copy"
	if observe(e).Interrupted {
		t.Error("a copy of the execution is interrupted as well")
	}
}

// When the execution is deleted, the status of a started job may not be stored yet. The items show that it has started.
func TestJOB40_AJobThatHasStartedItemsIsFinishedBeforeADeletion(t *testing.T) {
	e := begun(template("a"))
	object := stored(t, e, "a")
	at := metav1.NewTime(noon)
	e.DeletionTimestamp, e.Status.Phase = &at, ""

	o := observe(e, object)
	if !execution.NeedsComplete(o) {
		t.Error("nobody asks for certainty")
	}
	if diff := cmp.Diff(execution.Decision{Wait: true}, execution.Decide(o), unexplained); diff != "" {
		t.Errorf("the decision without certainty (-want +got):\n%s", diff)
	}
	if after := execution.Settle(e, o, execution.Decision{}, errors.New("the API server is away")); e.Status.Phase != "" ||
		after.Phase != "" {
		t.Errorf("without certainty the status becomes %+v", e.Status)
	}
	certain, remembered := o, o
	certain.Complete, remembered.Remembered = true, true
	for _, o := range []execution.Observed{certain, remembered} {
		if d := execution.Decide(o); d.Next != lsv1alpha1.PhaseInitDelete || execution.NeedsComplete(o) {
			t.Errorf("nothing was started: decided %+v", d)
		}
	}
	object.Status.JobID = job
	if d := execution.Decide(observe(e, object)); d.Next != lsv1alpha1.PhaseInit {
		t.Errorf("an item was started: decided %+v", d)
	}
	object.DeletionTimestamp = &at
	if o := observe(e, object); !o.Removing() {
		t.Error("an item that the job is deleting counts as started")
	}
}
