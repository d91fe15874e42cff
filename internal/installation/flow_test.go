// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"testing"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
)

// finishedOnce is an installation whose last job has taken its spec into account.
func finishedOnce() *lsv1alpha1.Installation {
	inst := named("root")
	inst.UID, inst.Generation = "uid", 3
	inst.Finalizers = []string{lsv1alpha1.Finalizer}
	inst.Annotations = map[string]string{lsv1alpha1.ReconcileIfChangedAnnotation: "true"}
	inst.Status.JobID, inst.Status.JobIDFinished, inst.Status.Phase = "job", "job", lsv1alpha1.PhaseSucceeded
	installation.ObserveSpec(inst)
	return inst
}

// A change of the flow alone, and back, starts no job. It is recorded, and nothing else happens.
func TestCON16_JOB15_AnotherFlowIsNoOtherSpec(t *testing.T) {
	for name, test := range map[string]struct {
		change            func(*lsv1alpha1.Installation)
		changed, flowOnly bool
	}{
		"nothing":          {func(*lsv1alpha1.Installation) {}, false, false},
		"there and back":   {func(i *lsv1alpha1.Installation) { i.Generation += 2 }, false, true},
		"another flow":     {func(i *lsv1alpha1.Installation) { i.Generation++; i.Spec.Flow = lsv1alpha1.FlowContinuous }, false, true},
		"another spec too": {func(i *lsv1alpha1.Installation) { i.Generation++; i.Spec.Context = "other" }, true, false},
		"nothing is known": {func(i *lsv1alpha1.Installation) { i.Generation++; i.Status.ObservedSpec = "" }, true, false},
	} {
		inst := finishedOnce()
		test.change(inst)
		if o := installation.NewObserved(installation.Snapshot{Installation: inst}); o.Changed != test.changed || o.FlowOnly != test.flowOnly {
			t.Errorf("%s: changed %v, only the flow %v", name, o.Changed, o.FlowOnly)
		}
	}
	inst := finishedOnce()
	inst.Generation += 2
	o := installation.NewObserved(installation.Snapshot{Installation: inst, NewJobID: "new"})
	o = installation.Settle(inst, o, installation.Decide(o), nil)
	if inst.Status.JobID != "job" || inst.Status.ObservedGeneration != 5 {
		t.Errorf("it has job %s and speaks of generation %d", inst.Status.JobID, inst.Status.ObservedGeneration)
	}
	if d := installation.Decide(o); o.FlowOnly || !d.Wait {
		t.Errorf("only the flow %t: decided %+v", o.FlowOnly, d)
	}
}

// The exports of an installation keep their version when the flow changes, until a job exports again.
func TestCON16_ExportsKeepTheirVersion(t *testing.T) {
	status := &lsv1alpha1.InstallationStatus{ConfigGeneration: "version"}
	status.JobID, status.JobIDFinished = "job", "job"
	installation.Leave(status)
	if installation.Entered(status) || installation.ExportMark(status) != "version" {
		t.Errorf("after it has left the flow: %+v", status)
	}
	installation.Enter(status, "other")
	if !installation.Entered(status) || installation.ExportMark(status) != "version" {
		t.Errorf("after it has come back: %+v", status)
	}
	status.ConfigGeneration = ""
	if installation.ExportMark(status) != "job" {
		t.Errorf("after a job: %s", installation.ExportMark(status))
	}
}

// A waiting job is rechecked at growing intervals, in case no event arrives.
func TestJOB24_RechecksOfJobsGrow(t *testing.T) {
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for since, want := range map[time.Duration]time.Duration{
		0:               run.MinRecheck,
		5 * time.Minute: 5 * time.Minute,
		24 * time.Hour:  run.MaxRecheck,
	} {
		d := installation.Decide(installation.Observed{
			Root: true, Phase: lsv1alpha1.PhaseInit, Job: run.Job{ID: "job"}, Finalizer: true, Now: now, Since: now.Add(-since),
			Predecessors: []installation.Sibling{{Name: "a", Job: run.Job{ID: "other"}, Phase: lsv1alpha1.PhaseProgressing}},
		})
		if !d.Wait || d.RequeueAfter != want {
			t.Errorf("after %s it is looked at again after %s, want %s", since, d.RequeueAfter, want)
		}
	}
}
