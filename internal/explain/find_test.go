// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/explain"
	"espalier.dev/internal/objecttree"
)

// A job that lacks an import is held up by that, and not by what is below, which knows only the earlier job.
func TestWhatIsOfAFormerJobHoldsUpNothing(t *testing.T) {
	shop := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	shop.Status.RunStatus = lsv1alpha1.RunStatus{
		Phase: lsv1alpha1.PhaseInit, JobID: "b", JobIDFinished: "a",
		LastError: &lsv1alpha1.Error{Reason: dataflow.ReasonImportNotFound, Message: "Target red does not exist"},
	}
	below := &lsv1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{
		Name: "shop", OwnerReferences: []metav1.OwnerReference{{Kind: "Installation", Name: "shop"}},
	}}
	below.Status.RunStatus = lsv1alpha1.RunStatus{Phase: lsv1alpha1.PhaseSucceeded, JobID: "a", JobIDFinished: "a"}
	var objects objecttree.Objects
	objects.Put(shop)
	objects.Put(below)
	chains := explain.Find(objects.Forest().Installation("", "shop"), nil)
	if len(chains) != 1 || len(chains[0]) != 1 || chains[0].Cause().Reason != dataflow.ReasonImportNotFound {
		t.Errorf("the chains are %+v", chains)
	}
	if advice := explain.AdviceFor(chains[0]); !advice.Somebody {
		t.Errorf("nobody has to act: %+v", advice)
	}
}

// After a fix of the spec of a stuck job, the advice says that the job continues without it.
func TestANewerSpecCountsFromTheNextJobOn(t *testing.T) {
	for name, test := range map[string]struct {
		phase      lsv1alpha1.Phase
		generation int64
		told       bool
	}{
		"newer":                   {lsv1alpha1.PhaseProgressing, 3, true},
		"the same":                {lsv1alpha1.PhaseProgressing, 2, false},
		"newer, but not read yet": {lsv1alpha1.PhaseInit, 3, false},
	} {
		shop := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "shop", Generation: test.generation}}
		shop.Status.RunStatus = lsv1alpha1.RunStatus{Phase: test.phase, JobID: "b", ObservedGeneration: 2}
		var objects objecttree.Objects
		objects.Put(shop)
		advice := explain.AdviceFor(explain.Find(objects.Forest().Installation("", "shop"), nil)[0])
		if told := strings.Contains(advice.Hint, "the spec changed after this job started") &&
			advice.Ours[0][0] == "interrupt"; told != test.told {
			t.Errorf("%s: %+v", name, advice)
		}
	}
}

// Everything has succeeded, and yet a release differs from what its deploy item deployed.
func TestAReleaseThatAnotherItemHasTakenOverIsToldOfASucceededInstallation(t *testing.T) {
	done := lsv1alpha1.RunStatus{Phase: lsv1alpha1.PhaseSucceeded, JobID: "a", JobIDFinished: "a"}
	shop := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	execution := &lsv1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{
		Name: "shop", OwnerReferences: []metav1.OwnerReference{{Kind: "Installation", Name: "shop"}},
	}}
	item := &lsv1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{
		Name: "chart", Labels: map[string]string{lsv1alpha1.ExecutionManagedByLabel: "shop"},
	}}
	shop.Status.RunStatus, execution.Status.RunStatus, item.Status.RunStatus = done, done, done
	item.Status.ProviderStatus = &runtime.RawExtension{
		Raw: []byte(`{"release": {"name": "web", "namespace": "shops", "takenOverBy": "default/other"}}`),
	}
	var objects objecttree.Objects
	for _, object := range []client.Object{shop, execution, item} {
		objects.Put(object)
	}
	chains := explain.Find(objects.Forest().Installation("", "shop"), nil)
	if len(chains) != 1 || chains[0].Cause().Node.Name() != "chart" || chains[0].Cause().Reason != objecttree.ReleaseTakenOver ||
		!strings.Contains(chains[0].Cause().Message, "release shops/web was taken over by deploy item default/other") {
		t.Fatalf("the chains are %+v", chains)
	}
	if advice := explain.AdviceFor(chains[0]); !advice.Somebody || len(advice.Ours) > 0 ||
		!strings.Contains(advice.Hint, "a different release") {
		t.Errorf("the advice is %+v", advice)
	}
}
