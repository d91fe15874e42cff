// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
)

// endJob settles the end of a job that started a minute before.
func endJob(inst *lsv1alpha1.Installation, id string, now time.Time, err error) {
	inst.Status.JobID, inst.Status.Phase = id, lsv1alpha1.PhaseCompleting
	begin := metav1.NewTime(now.Add(-time.Minute))
	inst.Status.TransitionTimes = &lsv1alpha1.TransitionTimes{TriggerTime: &begin}
	o := installation.Observed{Phase: lsv1alpha1.PhaseCompleting, Job: run.JobOf(&inst.Status.RunStatus), Now: now}
	o = installation.Settle(inst, o, installation.Decision{Next: lsv1alpha1.PhaseSucceeded}, err)
	// A pass at rest adds nothing.
	o.Now = now.Add(time.Second)
	installation.Settle(inst, o, installation.Decision{}, nil)
}

func TestARootKeepsItsLastRuns(t *testing.T) {
	inst := &lsv1alpha1.Installation{}
	endJob(inst, "job-0", noon, failure.NewTerminal(failure.Details{}, fmt.Errorf("the item %s is broken", strings.Repeat("ä", 300))))
	first := inst.Status.LastRuns[0]
	if message := []rune(first.Message); first.Phase != lsv1alpha1.PhaseFailed || len(message) != 256 || message[255] != '…' {
		t.Errorf("the failed run is %s: %s", first.Phase, first.Message)
	}
	for i := 1; i < 7; i++ {
		endJob(inst, fmt.Sprint("job-", i), noon.Add(time.Duration(i)*time.Hour), nil)
	}
	var told []string
	for _, ended := range inst.Status.LastRuns {
		told = append(told, fmt.Sprintf("%s %s %s-%s %s",
			ended.ID, ended.Phase, ended.StartTime.Format("15:04"), ended.EndTime.Format("15:04"), ended.Message))
	}
	want := []string{
		"job-6 Succeeded 17:59-18:00 ", "job-5 Succeeded 16:59-17:00 ", "job-4 Succeeded 15:59-16:00 ", "job-3 Succeeded 14:59-15:00 ",
		"job-2 Succeeded 13:59-14:00 ",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

func TestANestedInstallationKeepsNoRuns(t *testing.T) {
	inst := &lsv1alpha1.Installation{}
	inst.Labels = map[string]string{lsv1alpha1.EncompassedByLabel: "root"}
	if installation.IsRoot(inst) {
		t.Fatal("it is meant to be nested")
	}
	if endJob(inst, job, noon, nil); len(inst.Status.LastRuns) != 0 {
		t.Error(inst.Status.LastRuns)
	}
}

func TestAnUpdateOfTheContinuousFlowIsARunToo(t *testing.T) {
	inst := &lsv1alpha1.Installation{Spec: lsv1alpha1.InstallationSpec{Flow: lsv1alpha1.FlowContinuous}}
	inst.Status.Phase, inst.Status.ConfigGeneration = lsv1alpha1.PhaseProgressing, "version-1"
	o := installation.Observed{Phase: inst.Status.Phase, Continuous: true, Now: noon}
	installation.Settle(inst, o, installation.Decision{Next: lsv1alpha1.PhaseSucceeded}, nil)
	if runs := inst.Status.LastRuns; len(runs) != 1 || runs[0].ID != "version-1" || !runs[0].EndTime.Time.Equal(noon) {
		t.Errorf("%+v", runs)
	}
}
