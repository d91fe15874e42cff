// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/run"
)

var (
	now      = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	later    = now.Add(time.Minute)
	terminal = failure.Terminalf(failure.Details{
		Operation: "Render",
		Reason:    "TemplateError",
		Codes:     []string{"ERR_CONFIGURATION_PROBLEM"},
	}, "line 3")
	retry   = failure.NewRetryable(failure.Details{Operation: "ReadImports", Reason: "ImportMissing"}, errors.New("no data object x"))
	waiting = &failure.Wait{Reason: lsv1alpha1.ReasonWaitingForPredecessors, For: "installation a", Since: now}
)

func running(phase lsv1alpha1.Phase) lsv1alpha1.RunStatus {
	status := lsv1alpha1.RunStatus{ObservedGeneration: 4}
	run.Begin(&status, "job", phase, now)
	return status
}

// This tests every outcome in both flows.
func TestSettleLadder(t *testing.T) {
	for name, c := range map[string]struct {
		from     lsv1alpha1.Phase
		outcome  run.Outcome
		phase    lsv1alpha1.Phase
		finished bool
		reason   string // of lastError; empty if none
		ready    lsv1alpha1.ConditionStatus
		state    lsv1alpha1.ConditionType // the second standard condition, empty if none
	}{
		"went well": {from: "Init", outcome: run.Outcome{Next: "ObjectsCreated"}, phase: "ObjectsCreated", ready: "False", state: "Reconciling"},
		"stays": {
			from:    "Progressing",
			outcome: run.Outcome{Why: decision.Reason{Code: "WaitingForSubObjects"}},
			phase:   "Progressing",
			ready:   "False",
			state:   "Reconciling",
		},
		"waits": {
			from:    "Init",
			outcome: run.Outcome{Err: fmt.Errorf("observe: %w", waiting)},
			phase:   "Init",
			ready:   "False",
			state:   "Reconciling",
		},
		"is retried, whatever the decision hoped for": {from: "Init", outcome: run.Outcome{Next: "ObjectsCreated", Err: retry},
			phase: "Init", reason: "ImportMissing", ready: "False", state: "Reconciling"},
		"fails for good": {from: "Init", outcome: run.Outcome{Next: "ObjectsCreated", Err: terminal},
			phase: "Failed", finished: true, reason: "TemplateError", ready: "False", state: "Stalled"},
		"is decided to have failed": {
			from:     "Progressing",
			outcome:  run.Outcome{Next: "Failed", Why: decision.Reason{Code: "SubObjectFailed", Message: "execution a failed"}},
			phase:    "Failed",
			finished: true,
			reason:   "SubObjectFailed",
			ready:    "False",
			state:    "Stalled",
		},
		"succeeds": {from: "Completing", outcome: run.Outcome{Next: "Succeeded"}, phase: "Succeeded", finished: true, ready: "True"},
		"deletion fails for good": {from: "Deleting", outcome: run.Outcome{Err: terminal, Deleting: true},
			phase: "DeleteFailed", finished: true, reason: "TemplateError", ready: "False", state: "Stalled"},
		"deletion is retried": {from: "Deleting", outcome: run.Outcome{Err: retry, Deleting: true},
			phase: "Deleting", reason: "ImportMissing", ready: "False", state: "Reconciling"},
	} {
		t.Run(name, func(t *testing.T) {
			status := running(c.from)
			c.outcome.Now = later
			run.Settle(&status, c.outcome)
			if status.Phase != c.phase || status.IsFinished() != c.finished {
				t.Errorf("phase %s, finished %v, want %s, %v", status.Phase, status.IsFinished(), c.phase, c.finished)
			}
			if got := reasonOf(status.LastError); got != c.reason {
				t.Errorf("reason of lastError = %q, want %q", got, c.reason)
			}
			if moved := status.PhaseTransitionTime.Time.Equal(later); moved != (c.phase != c.from) {
				t.Errorf("phaseTransitionTime moved: %v", moved)
			}
			checkConditions(t, status, c.ready, c.state)
		})
	}
}

func reasonOf(e *lsv1alpha1.Error) string {
	if e == nil {
		return ""
	}
	return e.Reason
}

func checkConditions(t *testing.T, status lsv1alpha1.RunStatus, ready lsv1alpha1.ConditionStatus, state lsv1alpha1.ConditionType) {
	t.Helper()
	want := map[lsv1alpha1.ConditionType]lsv1alpha1.ConditionStatus{lsv1alpha1.ConditionReady: ready}
	if state != "" {
		want[state] = lsv1alpha1.ConditionTrue
	}
	got := map[lsv1alpha1.ConditionType]lsv1alpha1.ConditionStatus{}
	for _, c := range status.Conditions {
		got[c.Type] = c.Status
		if c.ObservedGeneration != status.ObservedGeneration || c.Reason == "" {
			t.Errorf("condition %+v: want observedGeneration %d and a reason", c, status.ObservedGeneration)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("conditions %v, want %v", got, want)
	}
}

func TestWaitingSaysForWhatInTheConditions(t *testing.T) {
	status := running(lsv1alpha1.PhaseInit)
	run.Settle(&status, run.Outcome{Err: waiting, Now: later})
	for _, c := range status.Conditions {
		if c.Reason != lsv1alpha1.ReasonWaitingForPredecessors || c.Message != waiting.Error() {
			t.Errorf("condition %s says %s: %q", c.Type, c.Reason, c.Message)
		}
	}
}

// Users know some established reasons of errors; conditions use a different form of them.
func TestReasonsOfConditionsBeginWithACapital(t *testing.T) {
	status := running(lsv1alpha1.PhaseInit)
	run.Settle(&status, run.Outcome{Err: failure.NewRetryable(failure.Details{Reason: "installRelease"}, errors.New("no")), Now: now})
	if status.LastError.Reason != "installRelease" {
		t.Errorf("lastError has the reason %s", status.LastError.Reason)
	}
	for _, c := range status.Conditions {
		if c.Reason != "InstallRelease" {
			t.Errorf("condition %s has the reason %s", c.Type, c.Reason)
		}
	}
}

func TestLastErrorKeepsItsFirstTimeWhileItLasts(t *testing.T) {
	status := running(lsv1alpha1.PhaseInit)
	run.Settle(&status, run.Outcome{Err: retry, Now: now})
	run.Settle(&status, run.Outcome{Err: fmt.Errorf("again on port 4711: %w", retry), Now: later})
	if e := status.LastError; !e.LastTransitionTime.Time.Equal(now) || !e.LastUpdateTime.Time.Equal(later) {
		t.Errorf("first %v, last %v, want %v and %v", e.LastTransitionTime, e.LastUpdateTime, now, later)
	}
	run.Settle(&status, run.Outcome{Err: terminal, Now: later})
	if !status.LastError.LastTransitionTime.Time.Equal(later) {
		t.Error("another error kept the time of the one before")
	}
}

func TestLastErrorEndsWhenAStepGoesWell(t *testing.T) {
	status := running(lsv1alpha1.PhaseInit)
	run.Settle(&status, run.Outcome{Err: retry, Now: now})
	run.Settle(&status, run.Outcome{Next: lsv1alpha1.PhaseObjectsCreated, Now: later})
	if status.LastError != nil {
		t.Errorf("lastError = %+v after a step that went well", status.LastError)
	}
}

func TestSettlingTheSameAgainChangesNothing(t *testing.T) {
	for name, o := range map[string]run.Outcome{
		"waiting":   {Err: waiting},
		"staying":   {Why: decision.Reason{Code: "WaitingForSubObjects", Message: "execution a"}},
		"succeeded": {Next: lsv1alpha1.PhaseSucceeded},
	} {
		t.Run(name, func(t *testing.T) {
			status := running(lsv1alpha1.PhaseProgressing)
			o.Now = now
			run.Settle(&status, o)
			before := *status.DeepCopy()
			o.Now = later
			run.Settle(&status, o)
			if !reflect.DeepEqual(status, before) {
				t.Errorf("a repetition wrote\n%+v\nover\n%+v", status, before)
			}
		})
	}
}

func TestAnEndedRunStaysAsItEnded(t *testing.T) {
	for name, end := range map[string]run.Outcome{
		"failed":    {Err: terminal},
		"succeeded": {Next: lsv1alpha1.PhaseSucceeded},
	} {
		for pass, o := range map[string]run.Outcome{
			"an idle pass":           {Why: decision.Reason{Code: "Idle", Message: "nothing to do"}},
			"an error while idle":    {Err: retry},
			"a terminal one as well": {Err: terminal},
		} {
			t.Run(name+", then "+pass, func(t *testing.T) {
				status := running(lsv1alpha1.PhaseProgressing)
				end.Now, o.Now = now, later
				run.Settle(&status, end)
				before := *status.DeepCopy()
				run.Settle(&status, o)
				if !reflect.DeepEqual(status, before) {
					t.Errorf("the pass wrote\n%+v\nover\n%+v", status, before)
				}
			})
		}
	}
}

func TestAnObjectThatNeverRan(t *testing.T) {
	var status lsv1alpha1.RunStatus
	run.Settle(&status, run.Outcome{Why: decision.Reason{Code: "Idle"}, Now: now})
	if !reflect.DeepEqual(status, lsv1alpha1.RunStatus{}) {
		t.Errorf("an idle pass gave it the status %+v", status)
	}
	run.Settle(&status, run.Outcome{Err: retry, Now: now})
	if reasonOf(status.LastError) != "ImportMissing" {
		t.Errorf("lastError = %+v: an error before the first run must be visible", status.LastError)
	}
}

func TestForeignConditionsSurvive(t *testing.T) {
	status := running(lsv1alpha1.PhaseInit)
	foreign := lsv1alpha1.Condition{
		Type:               lsv1alpha1.ConditionValidateImports,
		Status:             lsv1alpha1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(now),
	}
	status.Conditions = []lsv1alpha1.Condition{foreign}
	run.Settle(&status, run.Outcome{Err: retry, Now: later})
	run.Settle(&status, run.Outcome{Next: lsv1alpha1.PhaseSucceeded, Now: later})
	if !slices.ContainsFunc(status.Conditions, func(c lsv1alpha1.Condition) bool { return reflect.DeepEqual(c, foreign) }) {
		t.Errorf("conditions = %+v, want the foreign one unchanged among them", status.Conditions)
	}
}

func TestBeginForgetsTheJobBefore(t *testing.T) {
	status := running(lsv1alpha1.PhaseInit)
	run.Settle(&status, run.Outcome{Err: terminal, Now: now})
	run.Adopt(&status, "next", lsv1alpha1.PhaseInit, later)
	want := lsv1alpha1.RunStatus{
		ObservedGeneration: 4,
		Phase:              lsv1alpha1.PhaseInit,
		JobID:              "next",
		JobIDFinished:      "job",
		JobIDRequested:     "next",
	}
	unsaid := cmpopts.IgnoreFields(lsv1alpha1.RunStatus{}, "PhaseTransitionTime", "Conditions", "TransitionTimes")
	if diff := cmp.Diff(want, status, unsaid); diff != "" {
		t.Errorf("the status of a new job (-want +got):\n%s", diff)
	}
	if finished := status.TransitionTimes.FinishedTime; finished != nil {
		t.Errorf("the new job has finished at %s", finished)
	}
}

// A job that was passed down is not finished by a step that has not started it, although the phase is still final from the previous job.
func TestAJobThatHasNotBegunIsNotFinished(t *testing.T) {
	for name, o := range map[string]run.Outcome{
		"a pass that does something else": {Why: decision.Reason{Code: "Elsewhere"}},
		"an error before it began":        {Err: retry},
	} {
		t.Run(name, func(t *testing.T) {
			status := running(lsv1alpha1.PhaseProgressing)
			run.Settle(&status, run.Outcome{Next: lsv1alpha1.PhaseSucceeded, Now: now})
			status.JobID = "next"
			before := *status.DeepCopy()
			o.Now = later
			run.Settle(&status, o)
			if status.IsFinished() || status.JobIDFinished != before.JobIDFinished || !reflect.DeepEqual(status.Conditions, before.Conditions) {
				t.Errorf("the pass wrote\n%+v\nover\n%+v", status, before)
			}
			run.Settle(&status, run.Outcome{Err: terminal, Now: later})
			if !status.IsFinished() || status.Phase != lsv1alpha1.PhaseFailed {
				t.Errorf("an error that no retry mends leaves %+v", status)
			}
		})
	}
}

func standing(status *lsv1alpha1.RunStatus) map[lsv1alpha1.ConditionType]string {
	told := map[lsv1alpha1.ConditionType]string{}
	for _, c := range status.Conditions {
		told[c.Type] = string(c.Status) + " " + c.Reason
	}
	return told
}

// Between a request and the end of the requested job, no client sees the end of the previous job.
func TestJOB11_ARequestTakesBackTheEndOfTheJobBefore(t *testing.T) {
	for phase, end := range map[lsv1alpha1.Phase]map[lsv1alpha1.ConditionType]string{
		lsv1alpha1.PhaseSucceeded: {"Ready": "True Succeeded", "Older": "True "},
		lsv1alpha1.PhaseFailed:    {"Ready": "False Broken", "Stalled": "True Broken", "Older": "True "},
	} {
		status := &lsv1alpha1.RunStatus{JobID: "a", Conditions: []lsv1alpha1.Condition{{Type: "Older", Status: lsv1alpha1.ConditionTrue}}}
		outcome := run.Outcome{Next: phase, Why: decision.Reason{Code: "Succeeded", Message: "done"}, Now: now}
		if phase == lsv1alpha1.PhaseFailed {
			outcome.Why = decision.Reason{Code: "Broken", Message: "it is broken"}
		}
		run.Settle(status, outcome)
		if diff := cmp.Diff(end, standing(status)); diff != "" || run.Announced(status) {
			t.Fatalf("at the end of the job before: %s", diff)
		}
		run.Announce(status, now.Add(time.Minute))
		for range 2 { // the request is still there in the pass that grants it
			run.Settle(status, run.Outcome{Why: decision.Reason{Code: run.ReasonRequested}, Now: now.Add(time.Hour)})
			want := map[lsv1alpha1.ConditionType]string{"Ready": "Unknown Requested", "Reconciling": "True Requested", "Older": "True "}
			if diff := cmp.Diff(want, standing(status)); diff != "" || !run.Announced(status) {
				t.Errorf("%s, requested: %s", phase, diff)
			}
		}
		if status.Phase != phase || !status.IsFinished() {
			t.Errorf("a request alone has changed the job: %+v", status)
		}
		run.Settle(status, run.Outcome{Why: decision.Reason{Code: "Idle"}, Now: now.Add(time.Hour)})
		if diff := cmp.Diff(end, standing(status)); diff != "" || run.Announced(status) {
			t.Errorf("%s, the request was taken back: %s", phase, diff)
		}
		before := status.DeepCopy()
		run.Settle(status, run.Outcome{Why: decision.Reason{Code: "Idle"}, Now: now.Add(2 * time.Hour)})
		if diff := cmp.Diff(before, status); diff != "" {
			t.Errorf("%s, at rest: %s", phase, diff)
		}
	}
}

func TestJOB10_WhoNeverHadAJobSaysSoOnce(t *testing.T) {
	status := &lsv1alpha1.RunStatus{}
	run.AwaitRequest(status, "no job", now)
	if diff := cmp.Diff(map[lsv1alpha1.ConditionType]string{"Ready": "False NoJobRequested"}, standing(status)); diff != "" ||
		status.Phase != "" ||
		status.JobID != "" {
		t.Errorf("%s: %+v", diff, status)
	}
	before := status.DeepCopy()
	run.AwaitRequest(status, "no job", now.Add(time.Hour))
	if diff := cmp.Diff(before, status); diff != "" || !run.Announced(status) {
		t.Errorf("again: %s", diff)
	}
}
