// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitem_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/run"
)

// continuousItem is an item of generation 3.
func continuousItem(phase lsv1alpha1.Phase, observed int64) *lsv1alpha1.DeployItem {
	i := item(phase, "", "")
	i.Spec.Flow, i.Status.ObservedGeneration = lsv1alpha1.FlowContinuous, observed
	return i
}

func asked(i *lsv1alpha1.DeployItem, operation lsv1alpha1.Operation) *lsv1alpha1.DeployItem {
	i.Annotations = map[string]string{lsv1alpha1.OperationAnnotation: string(operation)}
	return i
}

func TestCON60_WhatDeployersWorkOn(t *testing.T) {
	all := []string{"prepare", "deploy"}
	for name, test := range map[string]struct {
		item *lsv1alpha1.DeployItem
		want []string
		end  lsv1alpha1.Phase
	}{
		"new":                   {continuousItem("", 0), all, lsv1alpha1.PhaseSucceeded},
		"not up to date":        {continuousItem(lsv1alpha1.PhaseSucceeded, 2), all, lsv1alpha1.PhaseSucceeded},
		"begun":                 {continuousItem(lsv1alpha1.PhaseProgressing, 3), all, lsv1alpha1.PhaseSucceeded},
		"begun with an old one": {continuousItem(lsv1alpha1.PhaseProgressing, 2), all, lsv1alpha1.PhaseSucceeded},
		"done":                  {continuousItem(lsv1alpha1.PhaseSucceeded, 3), nil, lsv1alpha1.PhaseSucceeded},
		"failed":                {continuousItem(lsv1alpha1.PhaseFailed, 3), nil, lsv1alpha1.PhaseFailed},
		"failed and asked":      {asked(continuousItem(lsv1alpha1.PhaseFailed, 3), lsv1alpha1.OperationReconcile), []string{"remove the operation annotation", "prepare", "deploy"}, lsv1alpha1.PhaseSucceeded},
		"done and forced":       {asked(continuousItem(lsv1alpha1.PhaseSucceeded, 3), lsv1alpha1.OperationForceReconcile), []string{"remove the operation annotation", "prepare", "deploy"}, lsv1alpha1.PhaseSucceeded},
		"another wish":          {asked(continuousItem(lsv1alpha1.PhaseSucceeded, 3), lsv1alpha1.OperationAbort), nil, lsv1alpha1.PhaseSucceeded},
		"deleted":               {deleted(continuousItem(lsv1alpha1.PhaseSucceeded, 3)), []string{"delete", "remove the finalizer"}, lsv1alpha1.PhaseDeleting},
		"deleted while begun":   {deleted(continuousItem(lsv1alpha1.PhaseProgressing, 3)), []string{"delete", "remove the finalizer"}, lsv1alpha1.PhaseDeleting},
		"deletion failed":       {deleted(continuousItem(lsv1alpha1.PhaseFailed, 3)), nil, lsv1alpha1.PhaseFailed},
	} {
		s := &script{answer: deployitem.Answer{Done: true}}
		s.walk(t, test.item, deployitem.Snapshot{})
		if !slices.Equal(s.calls, test.want) || test.item.Status.Phase != test.end {
			t.Errorf("%s: did %q, phase %s", name, s.calls, test.item.Status.Phase)
		}
		if deployitem.HasWork(test.item) != (test.end == lsv1alpha1.PhaseDeleting) && test.item.Annotations == nil {
			t.Errorf("%s: work is left: %+v", name, test.item.Status)
		}
		for _, saved := range s.saved {
			if saved.Phase.IsCompleted() {
				t.Errorf("%s: phase %s was stored before the end", name, saved.Phase)
			}
		}
	}
}

// Every end refers to the current spec, so that what has failed permanently is not retried again and again.
func TestCON60_TheEndTellsOfTheGeneration(t *testing.T) {
	for name, i := range map[string]*lsv1alpha1.DeployItem{
		"deploy": continuousItem("", 0),
		"delete": deleted(continuousItem(lsv1alpha1.PhaseSucceeded, 2)),
		"again":  continuousItem(lsv1alpha1.PhaseFailed, 2),
	} {
		s := &script{answer: deployitem.Answer{Err: failure.Terminalf(failure.Details{Reason: "Bad"}, "wrong")}}
		s.walk(t, i, deployitem.Snapshot{})
		want := lsv1alpha1.RunStatus{
			Phase:              lsv1alpha1.PhaseFailed,
			ObservedGeneration: 3,
			LastError:          &lsv1alpha1.Error{Operation: "Reconcile", Reason: "Bad"},
		}
		if diff := cmp.Diff(want, i.Status.RunStatus, unsaid, cmpopts.IgnoreFields(lsv1alpha1.Error{}, "Message"), untimed); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		calls := len(s.calls)
		if s.walk(t, i, deployitem.Snapshot{}); len(s.calls) != calls {
			t.Errorf("%s: it was tried again: %q", name, s.calls)
		}
	}
}

// An item with an unfinished job belongs to the job flow until the job has finished.
func TestCON60_JobsAreFinishedAsJobs(t *testing.T) {
	i := item("", "b", "a")
	i.Spec.Flow = lsv1alpha1.FlowContinuous
	(&script{answer: deployitem.Answer{Done: true}}).walk(t, i, deployitem.Snapshot{})
	if i.Status.JobIDFinished != "b" || i.Status.Phase != lsv1alpha1.PhaseSucceeded || deployitem.HasWork(i) {
		t.Errorf("%+v", i.Status)
	}
}

// What waits for its Target ends when the deletion is requested. Then it is let go if no deployer has ever changed the target for it, however
// often it was retried; otherwise, the deletion waits for the Target.
func TestCON44_ADeletionEndsWhatWaitsForItsTarget(t *testing.T) {
	waits := failure.NewRetryable(failure.Details{Reason: "TargetUnreachable"}, errors.New("connection refused"))
	for name, test := range map[string]struct {
		observed int64
		before   func(*lsv1alpha1.DeployItem)
		goes     bool
	}{
		"never deployed":       {0, func(*lsv1alpha1.DeployItem) {}, true},
		"deployed before":      {2, func(*lsv1alpha1.DeployItem) {}, false},
		"with something known": {0, func(i *lsv1alpha1.DeployItem) { i.Status.ProviderStatus = &runtime.RawExtension{Raw: []byte("{}")} }, false},
		"begun to deploy": {0, func(i *lsv1alpha1.DeployItem) {
			(&script{answer: deployitem.Answer{Err: waits, Unreachable: true}}).walk(t, i, deployitem.Snapshot{Target: &lsv1alpha1.Target{}})
		}, false},
		"failed when it began": {0, func(i *lsv1alpha1.DeployItem) {
			(&script{intend: waits}).walk(t, i, deployitem.Snapshot{Target: &lsv1alpha1.Target{}})
		}, true},
		"asked once more": {0, func(i *lsv1alpha1.DeployItem) {
			(&script{}).walk(t, i, deployitem.Snapshot{})
			i.Annotations[lsv1alpha1.OperationAnnotation] = string(lsv1alpha1.OperationReconcile)
			(&script{}).walk(t, i, deployitem.Snapshot{})
			delete(i.Annotations, lsv1alpha1.OperationAnnotation)
		}, true},
	} {
		i := continuousItem("", test.observed)
		i.UID, i.Spec.Target = "u", &lsv1alpha1.ObjectReference{Namespace: "ns", Name: "cluster"}
		(&script{}).walk(t, i, deployitem.Snapshot{})
		if i.Status.Phase != lsv1alpha1.PhaseProgressing {
			t.Errorf("%s: it does not wait, but is in phase %s", name, i.Status.Phase)
		}
		i.Annotations = map[string]string{run.DeletionAnnotation: "u"}
		test.before(i)
		(&script{}).walk(t, i, deployitem.Snapshot{})
		if e := i.Status.LastError; i.Status.Phase != lsv1alpha1.PhaseFailed || e == nil || e.Reason != lsv1alpha1.ReasonInterrupted ||
			deployitem.HasWork(i) {
			t.Errorf("%s: ended as %s with %+v, work left: %t", name, i.Status.Phase, e, deployitem.HasWork(i))
		}
		deleted(i).Generation++
		for range 2 { // If the process dies before it removes the finalizer, the next pass does.
			s := &script{}
			d := s.walk(t, i, deployitem.Snapshot{})
			if goes := slices.Equal(s.calls, []string{"remove the finalizer"}); goes != test.goes ||
				!goes && !strings.Contains(d.Why.Message, "--without-uninstall") {
				t.Errorf("%s: did %q, then %+v", name, s.calls, d)
			}
		}
	}
}
