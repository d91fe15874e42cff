// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/objecttree"
)

// The status of a job that waits for others is as old as its last pass. The decision says why it waits now.
func TestAJobThatWaitsForOthersIsHeldUpByThoseThatRun(t *testing.T) {
	noon := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	root := func(name string, phase lsv1alpha1.Phase, minute int) *lsv1alpha1.Installation {
		at := metav1.NewTime(noon.Add(time.Duration(minute) * time.Minute))
		inst := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, Finalizers: []string{lsv1alpha1.Finalizer}}}
		inst.Status.RunStatus = lsv1alpha1.RunStatus{
			Phase: phase, JobID: "job-" + name, PhaseTransitionTime: &at, TransitionTimes: &lsv1alpha1.TransitionTimes{TriggerTime: &at},
		}
		return inst
	}
	waiting := func(inst *lsv1alpha1.Installation) *lsv1alpha1.Installation {
		o := installation.NewObserved(installation.Snapshot{Installation: inst, Now: noon})
		o.Turn = &installation.Turn{Namespace: "shop", Limit: 1, Running: 7}
		installation.Settle(inst, o, installation.Decide(o), nil)
		return inst
	}
	runs := root("runs", lsv1alpha1.PhaseProgressing, 0)
	runs.Status.ExecutionReference = &lsv1alpha1.ObjectReference{Name: "runs"}
	first, second := waiting(root("first", lsv1alpha1.PhaseInit, 1)), waiting(root("second", lsv1alpha1.PhaseInit, 2))
	below := &lsv1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "runs", OwnerReferences: []metav1.OwnerReference{{Kind: "Installation", Name: "runs"}},
	}}
	below.Status.RunStatus = lsv1alpha1.RunStatus{Phase: lsv1alpha1.PhaseProgressing, JobID: "job-runs"}

	var objects objecttree.Objects
	objects.Put(runs)
	objects.Put(below)
	objects.Put(first)
	objects.Put(second)
	chains := explain.Find(objects.Forest().Installation("shop", "second"), &explain.Controllers{Now: noon})
	if len(chains) != 1 || len(chains[0]) < 3 || chains[0][1].Node.Name() != "runs" || chains[0].Cause().Node.Kind != objecttree.Execution {
		t.Fatalf("the chains are %+v", chains)
	}
	if got := chains[0][0].Message; got != "Waiting for 2 other jobs in namespace shop: quota of concurrent jobs is 1" {
		t.Errorf("it says %q", got)
	}

	objects.Remove(runs)
	objects.Remove(below)
	chains = explain.Find(objects.Forest().Installation("shop", "second"), &explain.Controllers{Now: noon})
	if got := explain.Message(chains[0].Cause()); got != "Waiting for 1 other job in namespace shop: quota of concurrent jobs is 1" {
		t.Errorf("behind one that is about to begin it says %q", got)
	}
	if advice := explain.AdviceFor(chains[0]); advice.Somebody || !strings.Contains(advice.Hint, "starts automatically when another one finishes") {
		t.Errorf("the advice is %+v", advice)
	}
	chains = explain.Find(objects.Forest().Installation("shop", "first"), &explain.Controllers{Now: noon})
	if reason := chains[0].Cause().Reason; reason != explain.ReasonProceeding {
		t.Errorf("the one whose turn it is has reason %s: %s", reason, chains[0].Cause().Message)
	}
}
