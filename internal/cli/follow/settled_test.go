// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/follow"
)

// flowing is a revision of an installation of the continuous flow.
type flowing struct {
	uid                  string
	operation            lsv1alpha1.Operation
	generation, observed int64
	phase                lsv1alpha1.Phase
	deleting             bool
}

func (f flowing) object() *lsv1alpha1.Installation {
	object := revision{uid: f.uid, phase: f.phase, deleting: f.deleting}.object()
	object.Spec.Flow, object.Status.ConfigGeneration = lsv1alpha1.FlowContinuous, "1"
	object.Generation, object.Status.ObservedGeneration = f.generation, f.observed
	if f.operation != "" {
		object.Annotations[lsv1alpha1.OperationAnnotation] = string(f.operation)
	}
	return object
}

const (
	reconcile = lsv1alpha1.OperationReconcile
	aborted   = lsv1alpha1.PhaseAborted
)

// In the continuous flow a request has been carried out when it is gone and the installation is at rest. Nothing from before counts.
func TestSettled(t *testing.T) {
	for name, test := range map[string]struct {
		asked   flowing
		then    []*flowing
		ends    int
		code    int
		verdict string
	}{
		"the regular way": {
			flowing{operation: reconcile, phase: failed},
			[]*flowing{{operation: reconcile, phase: failed}, {operation: reconcile, phase: progressing}, {phase: progressing}, {phase: succeeded}},
			3, cli.ExitOK, "has succeeded",
		},
		"nothing to do":     {flowing{operation: reconcile, phase: succeeded}, []*flowing{{operation: reconcile, phase: succeeded}, {phase: succeeded}}, 1, cli.ExitOK, "has succeeded"},
		"a failure":         {flowing{operation: reconcile, phase: failed}, []*flowing{{phase: progressing}, {phase: failed}}, 1, cli.ExitFailed, "has ended as Failed"},
		"somebody aborts":   {flowing{operation: reconcile, phase: failed}, []*flowing{{operation: "abort", phase: progressing}, {phase: aborted}}, 1, cli.ExitFailed, "has ended as Aborted"},
		"a new spec":        {flowing{operation: reconcile, phase: failed}, []*flowing{{generation: 2, observed: 1, phase: failed}, {generation: 2, observed: 2, phase: succeeded}}, 1, cli.ExitOK, "has succeeded"},
		"deleted meanwhile": {flowing{operation: reconcile, phase: failed}, []*flowing{nil}, 0, cli.ExitNotFound, "was deleted during the wait"},
		"another one":       {flowing{operation: reconcile, phase: failed}, []*flowing{{uid: "2", phase: succeeded}}, 0, cli.ExitNotFound, "was deleted during the wait"},
		"a deletion again": {
			flowing{operation: reconcile, phase: failed, deleting: true},
			[]*flowing{{operation: reconcile, phase: failed, deleting: true}, {phase: lsv1alpha1.PhaseDeleting, deleting: true}, nil},
			2, cli.ExitOK, "has been deleted",
		},
		"a deletion that fails again": {
			flowing{operation: reconcile, phase: failed, deleting: true},
			[]*flowing{{phase: lsv1alpha1.PhaseDeleting, deleting: true}, {phase: failed, deleting: true}},
			1, cli.ExitFailed, "could not be deleted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			goal := follow.AfterRequest(test.asked.object())
			for i, next := range test.then {
				var object *lsv1alpha1.Installation
				if next != nil {
					object = next.object()
				}
				end := goal.See(object)
				if (end != nil) != (i == test.ends) {
					t.Fatalf("after revision %d: %+v", i, end)
				}
				if end != nil && (end.Code != test.code || end.Verdict != test.verdict) {
					t.Errorf("%+v", end)
				}
			}
		})
	}
}

// A deletion that fails in the continuous flow ends in the phase of every failure.
func TestGoneInTheContinuousFlow(t *testing.T) {
	goal := follow.NewGone(flowing{phase: succeeded}.object())
	for i, next := range []flowing{{phase: lsv1alpha1.PhaseDeleting, deleting: true}, {phase: failed, deleting: true}} {
		end := goal.See(next.object())
		if (end != nil) != (i == 1) || end != nil && (end.Code != cli.ExitFailed || end.Verdict != "could not be deleted") {
			t.Errorf("after revision %d: %+v", i, end)
		}
	}
	again := flowing{phase: failed, deleting: true}.object()
	again.Status.PhaseTransitionTime = &metav1.Time{Time: time.Unix(1, 0)}
	goal = follow.NewGone(again)
	if end := goal.See(again); end != nil {
		t.Errorf("a failure from before the wait ends it: %+v", end)
	}
	for i, next := range []flowing{{phase: lsv1alpha1.PhaseDeleting, deleting: true}, {phase: failed, deleting: true}} {
		object := next.object()
		object.Status.PhaseTransitionTime = again.Status.PhaseTransitionTime // The same second.
		if end := goal.See(object); (end != nil) != (i == 1) || end != nil && end.Verdict != "could not be deleted" {
			t.Errorf("after revision %d of a deletion that fails again: %+v", i, end)
		}
	}
	past := flowing{phase: failed}.object()
	if follow.DeletionFailed(past) {
		t.Error("an installation that has failed and is not deleted counts as a failed deletion")
	}
	past.DeletionTimestamp = &metav1.Time{}
	if follow.DeletionFailed(past) {
		t.Error("a zero deletion timestamp counts")
	}
}
