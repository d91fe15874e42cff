// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Kinds with runs, as they appear in labels and attributes.
const (
	kindInstallation = "Installation"
	kindExecution    = "Execution"
	kindDeployItem   = "DeployItem"
)

// resultDeleted is the result of a run that leaves nothing behind. The other results are final phases.
const resultDeleted = "Deleted"

// Run is a job that has ended in one object, or an update in the continuous flow.
type Run struct {
	// Controller is the controller that ended it.
	Controller string
	Kind       string
	Key        types.NamespacedName
	UID        types.UID
	// Parent is the UID of the object that it is part of, empty for root objects.
	Parent types.UID
	// Job is empty in the continuous flow.
	Job string
	// Result is the final phase, or Deleted. Reason is one word for it.
	Result, Reason string
	// Times are zero for stages that the run skipped.
	Triggered, Begun, Waited, Ended time.Time
}

// Mark is what shows whether a run has ended since.
type Mark struct {
	ended time.Time
	job   string
	gone  bool
}

// MarkOf records the progress of an object. For kinds without runs it is always the same.
func MarkOf(object client.Object) Mark {
	_, status := statusOf(object)
	if status == nil {
		return Mark{}
	}
	m := Mark{job: status.JobIDFinished, gone: gone(object)}
	if times := status.TransitionTimes; times != nil {
		m.ended = timeOf(times.FinishedTime)
	}
	return m
}

// Ended returns the run that has ended since the mark was made, if any. now is used for deleted objects, whose status is no longer
// written.
func Ended(controller string, before Mark, object client.Object, now time.Time) (Run, bool) {
	kind, status := statusOf(object)
	if status == nil {
		return Run{}, false
	}
	r := Run{
		Controller: controller, Kind: kind, Key: client.ObjectKeyFromObject(object), UID: object.GetUID(), Parent: parentOf(object),
	}
	if times := status.TransitionTimes; times != nil {
		r.Triggered, r.Begun = timeOf(times.TriggerTime), timeOf(times.InitTime)
		r.Waited, r.Ended = timeOf(times.WaitTime), timeOf(times.FinishedTime)
	}
	mark := MarkOf(object)
	switch {
	case before.vanishes(mark, status):
		r.Result, r.Ended = resultDeleted, now
		if !status.IsFinished() {
			r.Job = status.JobID
		}
	case before.finishes(mark, status):
		r.Result, r.Reason = string(status.Phase), reasonOf(status)
		if mark.job != before.job {
			r.Job = mark.job
		}
	default:
		return Run{}, false
	}
	return r, true
}

// vanishes reports whether a run has deleted the object since the mark.
func (m Mark) vanishes(now Mark, status *lsv1alpha1.RunStatus) bool {
	return now.gone && !m.gone && (!status.IsFinished() || status.Phase.IsDeletion())
}

// finishes reports whether the status contains another end.
func (m Mark) finishes(now Mark, status *lsv1alpha1.RunStatus) bool {
	return !now.gone && status.Phase.IsFinal() && !now.ended.IsZero() && !now.ended.Equal(m.ended)
}

// statusOf returns the status that kinds with runs have in common, nil for all others.
func statusOf(object client.Object) (kind string, status *lsv1alpha1.RunStatus) {
	switch o := object.(type) {
	case *lsv1alpha1.Installation:
		return kindInstallation, &o.Status.RunStatus
	case *lsv1alpha1.Execution:
		return kindExecution, &o.Status.RunStatus
	case *lsv1alpha1.DeployItem:
		return kindDeployItem, &o.Status.RunStatus
	default:
		return "", nil
	}
}

// parentOf returns the UID of the installation or execution that an object belongs to.
func parentOf(object client.Object) types.UID {
	for _, owner := range object.GetOwnerReferences() {
		if owner.APIVersion == lsv1alpha1.SchemeGroupVersion.String() && (owner.Kind == kindInstallation || owner.Kind == kindExecution) {
			return owner.UID
		}
	}
	return ""
}

func reasonOf(status *lsv1alpha1.RunStatus) string {
	if status.Phase == lsv1alpha1.PhaseSucceeded || status.LastError == nil {
		return ""
	}
	return word(status.LastError.Reason)
}

func gone(object client.Object) bool {
	return !object.GetDeletionTimestamp().IsZero() && len(object.GetFinalizers()) == 0
}

func timeOf(at *metav1.Time) time.Time {
	if at == nil {
		return time.Time{}
	}
	return at.Time
}

// Measures returns the values that a run adds to histograms.
func (r Run) Measures() []Measure {
	var all []Measure
	add := func(histogram Histogram, from, to time.Time, labels ...string) {
		if !from.IsZero() && !to.IsZero() && !to.Before(from) {
			all = append(all, Measure{Histogram: histogram, Labels: labels, Seconds: to.Sub(from).Seconds()})
		}
	}
	switch {
	case r.Kind == kindInstallation && r.Parent == "":
		add(JobDuration, r.Triggered, r.Ended, r.Result)
	case r.Kind == kindDeployItem:
		add(DeployItemDuration, r.Triggered, r.Ended, r.Controller, r.Result)
	}
	worked := r.Waited
	if worked.IsZero() {
		worked = r.Ended
	}
	add(JobPhase, r.Triggered, r.Begun, r.Kind, "queued")
	add(JobPhase, r.Begun, worked, r.Kind, "working")
	add(JobPhase, r.Waited, r.Ended, r.Kind, "waiting")
	return all
}

// Measure is one value for a histogram.
type Measure struct {
	Histogram Histogram
	Labels    []string
	Seconds   float64
}

// Histogram identifies a histogram.
type Histogram int

// Histograms of runs.
const (
	JobDuration Histogram = iota
	JobPhase
	DeployItemDuration
)
