// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	doors "espalier.dev/internal/deployer/objects/cluster"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/target"
)

// running returns the chain of an installation that works on its job and encounters an error.
func running(reason string) explain.Chain {
	object := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	object.Status.RunStatus = lsv1alpha1.RunStatus{
		Phase:     lsv1alpha1.PhaseInit,
		JobID:     "a",
		LastError: &lsv1alpha1.Error{Reason: reason, Message: "no"},
	}
	var objects objecttree.Objects
	objects.Put(object)
	return explain.Find(objects.Forest().Installation("", "shop"), nil)[0]
}

// Which reasons require somebody to act decides between two exit codes, so the list must contain the reasons that other packages use.
func TestWhoHasToAct(t *testing.T) {
	for reason, somebody := range map[string]bool{
		dataflow.ReasonImportNotFound:         true,
		lsv1alpha1.ReasonWaitingForImports:    true,
		lsv1alpha1.ReasonNoTargetFound:        true,
		target.ReasonInvalid:                  true,
		target.ReasonRefusedAddress:           true,
		target.ReasonSecretMissing:            true,
		target.ReasonTokenRefused:             true,
		doors.ReasonForbidden:                 true,
		target.ReasonUnreachable:              false,
		doors.ReasonConflict:                  false,
		lsv1alpha1.ReasonWaitingForReadiness:  false,
		lsv1alpha1.ReasonWaitingForDeployer:   false,
		lsv1alpha1.ReasonWaitingForSubObjects: false,
	} {
		advice := explain.AdviceFor(running(reason))
		if advice.Somebody != somebody || len(advice.Ours) == 0 {
			t.Errorf("%s: %+v", reason, advice)
		}
	}
}

func TestEveryCauseHasANextCommand(t *testing.T) {
	for name, status := range map[string]lsv1alpha1.RunStatus{
		"not started": {},
		"failed":      {Phase: lsv1alpha1.PhaseFailed, JobID: "a", JobIDFinished: "a"},
		"interrupted": {
			Phase:         lsv1alpha1.PhaseFailed,
			JobID:         "a",
			JobIDFinished: "a",
			LastError:     &lsv1alpha1.Error{Reason: lsv1alpha1.ReasonInterrupted},
		},
		"triggered": {Phase: lsv1alpha1.PhaseFailed, JobID: "b", JobIDFinished: "a"},
		"silent":    {Phase: lsv1alpha1.PhaseProgressing, JobID: "b"},
	} {
		object := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
		object.Status.RunStatus = status
		var objects objecttree.Objects
		objects.Put(object)
		chains := explain.Find(objects.Forest().Installation("", "shop"), nil)
		if len(chains) != 1 {
			t.Fatalf("%s: %d chains", name, len(chains))
		}
		if advice := explain.AdviceFor(chains[0]); len(advice.Ours)+len(advice.Kubectl) == 0 {
			t.Errorf("%s: no advice", name)
		}
		if explain.Message(chains[0].Cause()) == "" {
			t.Errorf("%s: nothing is said", name)
		}
	}
}

// In a suspended tree, nothing helps before somebody resumes it.
func TestAdviceForWhatIsSuspended(t *testing.T) {
	for phase, first := range map[lsv1alpha1.Phase]string{lsv1alpha1.PhaseSucceeded: "", lsv1alpha1.PhaseFailed: "describe"} {
		object := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{
			Name: "shop", Annotations: map[string]string{lsv1alpha1.SuspendAnnotation: "true"},
		}}
		object.Status.RunStatus = lsv1alpha1.RunStatus{Phase: phase, JobID: "a", JobIDFinished: "a"}
		var objects objecttree.Objects
		objects.Put(object)
		chains := explain.Find(objects.Forest().Installation("", "shop"), nil)
		if len(chains) != 1 {
			t.Fatalf("%s: %d chains", phase, len(chains))
		}
		advice := explain.AdviceFor(chains[0])
		if !advice.Somebody || advice.Ours[0][0] != "resume" || advice.Ours[0][1] != "shop" || (first != "") != (len(advice.Kubectl) > 0) {
			t.Errorf("%s: %+v", phase, advice)
		}
	}
}
