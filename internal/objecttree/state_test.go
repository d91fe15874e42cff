// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package objecttree_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/run"
)

func installation(name, parent string, status lsv1alpha1.RunStatus) *lsv1alpha1.Installation {
	i := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	if parent != "" {
		i.Labels = map[string]string{lsv1alpha1.EncompassedByLabel: parent}
	}
	i.Status.RunStatus = status
	return i
}

func status(phase lsv1alpha1.Phase, job, finished string) lsv1alpha1.RunStatus {
	return lsv1alpha1.RunStatus{Phase: phase, JobID: job, JobIDFinished: finished}
}

func TestStateOfARoot(t *testing.T) {
	for name, test := range map[string]struct {
		status lsv1alpha1.RunStatus
		asked  bool
		grant  string
		state  objecttree.State
		phase  string
	}{
		"new":                       {lsv1alpha1.RunStatus{}, false, "", objecttree.NotStarted, "NotStarted"},
		"asked":                     {lsv1alpha1.RunStatus{}, true, "", objecttree.Requested, "Requested"},
		"granted":                   {lsv1alpha1.RunStatus{}, false, "a", objecttree.Requested, "Requested"},
		"at work":                   {status(lsv1alpha1.PhaseInit, "a", ""), false, "", objecttree.Running, "Init"},
		"at work, and asked":        {status(lsv1alpha1.PhaseInit, "a", ""), true, "", objecttree.Running, "Init"},
		"triggered":                 {status(lsv1alpha1.PhaseFailed, "b", "a"), false, "", objecttree.Running, "Triggered"},
		"triggered the first time":  {status("", "a", ""), false, "", objecttree.Running, "Triggered"},
		"succeeded":                 {status(lsv1alpha1.PhaseSucceeded, "a", "a"), false, "", objecttree.Succeeded, "Succeeded"},
		"failed":                    {status(lsv1alpha1.PhaseFailed, "a", "a"), false, "", objecttree.Failed, "Failed"},
		"could not be deleted":      {status(lsv1alpha1.PhaseDeleteFailed, "a", "a"), false, "", objecttree.Failed, "DeleteFailed"},
		"asked after a failure":     {status(lsv1alpha1.PhaseFailed, "a", "a"), true, "", objecttree.Requested, "Requested"},
		"continuous, without a job": {status(lsv1alpha1.PhaseProgressing, "", ""), false, "", objecttree.Running, "Progressing"},
	} {
		t.Run(name, func(t *testing.T) {
			root := installation("root", "", test.status)
			root.Annotations = map[string]string{}
			if test.asked {
				root.Annotations[lsv1alpha1.OperationAnnotation] = "reconcile"
			}
			if test.grant != "" {
				root.Annotations[run.GrantAnnotation] = run.FormatGrant(test.grant, "root")
			}
			var objects objecttree.Objects
			objects.Put(root)
			node := objects.Forest().Installation("", "root")
			if node.State() != test.state || node.Phase() != test.phase {
				t.Errorf("state %s, phase %s", node.State(), node.Phase())
			}
		})
	}
}

// In the continuous flow, an object is running whenever its status does not refer to its current spec and requests.
func TestStateInTheContinuousFlow(t *testing.T) {
	const operation, ignore, deletedNow = lsv1alpha1.OperationAnnotation, lsv1alpha1.IgnoreAnnotation, "deleted"
	for name, test := range map[string]struct {
		phase       lsv1alpha1.Phase
		behind      bool
		annotations map[string]string
		state       objecttree.State
		shown       string
	}{
		"new":                     {"", true, nil, objecttree.Running, "Triggered"},
		"on its way":              {lsv1alpha1.PhaseProgressing, false, nil, objecttree.Running, "Progressing"},
		"waiting":                 {lsv1alpha1.PhasePendingDependencies, true, nil, objecttree.Running, "PendingDependencies"},
		"succeeded":               {lsv1alpha1.PhaseSucceeded, false, nil, objecttree.Succeeded, "Succeeded"},
		"outdated":                {lsv1alpha1.PhaseSucceeded, true, nil, objecttree.Running, "Triggered"},
		"frozen":                  {lsv1alpha1.PhaseSucceeded, true, map[string]string{ignore: "true"}, objecttree.Succeeded, "Succeeded"},
		"failed":                  {lsv1alpha1.PhaseFailed, false, nil, objecttree.Failed, "Failed"},
		"aborted":                 {lsv1alpha1.PhaseAborted, false, nil, objecttree.Failed, "Aborted"},
		"asked":                   {lsv1alpha1.PhaseFailed, false, map[string]string{operation: "force-reconcile"}, objecttree.Running, "Triggered"},
		"deleted":                 {lsv1alpha1.PhaseSucceeded, true, map[string]string{deletedNow: ""}, objecttree.Running, "Triggered"},
		"deleted, frozen":         {lsv1alpha1.PhaseSucceeded, true, map[string]string{deletedNow: "", ignore: "true"}, objecttree.Running, "Triggered"},
		"failed, deleted, frozen": {lsv1alpha1.PhaseFailed, true, map[string]string{deletedNow: "", ignore: "true"}, objecttree.Running, "Triggered"},
		"not deleted, frozen":     {lsv1alpha1.PhaseFailed, false, map[string]string{deletedNow: "", ignore: "true"}, objecttree.Failed, "Failed"},
		"asked for no sense":      {lsv1alpha1.PhaseFailed, false, map[string]string{operation: "interrupt"}, objecttree.Failed, "Failed"},
	} {
		root := installation("root", "", status(test.phase, "", ""))
		root.Spec.Flow, root.Generation, root.Status.ObservedGeneration, root.Annotations = lsv1alpha1.FlowContinuous, 2, 2, test.annotations
		if test.behind {
			root.Status.ObservedGeneration = 1
		}
		if _, deleted := test.annotations[deletedNow]; deleted {
			root.DeletionTimestamp = &metav1.Time{}
			root.DeletionTimestamp.Time = time.Unix(1, 0)
		}
		var objects objecttree.Objects
		objects.Put(root)
		if node := objects.Forest().Installation("", "root"); node.State() != test.state || node.Phase() != test.shown {
			t.Errorf("%s: state %s, phase %s", name, node.State(), node.Phase())
		}
	}
}

// A nested object is judged by the job of its tree.
func TestStateWithinATree(t *testing.T) {
	for name, test := range map[string]struct {
		root, nested lsv1alpha1.RunStatus
		want         objecttree.State
	}{
		"not reached":               {status(lsv1alpha1.PhaseProgressing, "b", "a"), status(lsv1alpha1.PhaseSucceeded, "a", "a"), objecttree.Pending},
		"not reached after failure": {status(lsv1alpha1.PhaseProgressing, "b", "a"), status(lsv1alpha1.PhaseFailed, "a", "a"), objecttree.Pending},
		"reached":                   {status(lsv1alpha1.PhaseProgressing, "b", "a"), status(lsv1alpha1.PhaseSucceeded, "b", "a"), objecttree.Running},
		"done before its tree":      {status(lsv1alpha1.PhaseProgressing, "b", "a"), status(lsv1alpha1.PhaseSucceeded, "b", "b"), objecttree.Succeeded},
		"done with its tree":        {status(lsv1alpha1.PhaseFailed, "b", "b"), status(lsv1alpha1.PhaseFailed, "b", "b"), objecttree.Failed},
		"left out of the last job":  {status(lsv1alpha1.PhaseFailed, "b", "b"), status(lsv1alpha1.PhaseSucceeded, "a", "a"), objecttree.Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			var objects objecttree.Objects
			objects.Put(installation("nested", "root", test.nested))
			objects.Put(installation("root", "", test.root))
			if got := objects.Forest().Installation("", "nested").State(); got != test.want {
				t.Errorf("state %s", got)
			}
		})
	}
}

func TestObjectsLeave(t *testing.T) {
	var objects objecttree.Objects
	objects.Remove(installation("never", "", lsv1alpha1.RunStatus{}))
	objects.Put(installation("root", "", lsv1alpha1.RunStatus{}))
	objects.Put(installation("nested", "root", lsv1alpha1.RunStatus{}))
	objects.Remove(installation("root", "", lsv1alpha1.RunStatus{}))
	forest := objects.Forest()
	if len(forest.Tops) != 1 || forest.Tops[0].Name() != "nested" || forest.Installation("", "root") != nil {
		t.Errorf("got %+v", forest.Tops)
	}
}

// Executions of earlier controllers are found by the reference of their installation if they have no owner.
func TestExecutionWithoutOwner(t *testing.T) {
	root := installation("root", "", lsv1alpha1.RunStatus{})
	root.Status.ExecutionReference = &lsv1alpha1.ObjectReference{Name: "root"}
	var objects objecttree.Objects
	objects.Put(root)
	objects.Put(installation("other", "", lsv1alpha1.RunStatus{}))
	for _, name := range []string{"root", "other"} {
		objects.Put(&lsv1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	forest := objects.Forest()
	if below := forest.Installation("", "root").Below; len(below) != 1 || below[0].Kind != objecttree.Execution {
		t.Errorf("root has %v", below)
	}
	if below := forest.Installation("", "other").Below; len(below) != 0 {
		t.Errorf("an execution that belongs to nobody hangs below other: %v", below)
	}
}

// What is below a root gets its job from above: it cannot be requested.
func TestWhyAnItemWasNotReached(t *testing.T) {
	shop := installation("shop", "", status(lsv1alpha1.PhaseFailed, "a", "a"))
	execution := &lsv1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{
		Name: "shop", OwnerReferences: []metav1.OwnerReference{{Kind: "Installation", Name: "shop"}},
	}}
	execution.Status.RunStatus = status(lsv1alpha1.PhaseFailed, "a", "a")
	execution.Spec.DeployItems = []lsv1alpha1.DeployItemTemplate{
		{Name: "db"}, {Name: "web", DependsOn: []string{"db"}}, {Name: "ads", DependsOn: []string{"web"}}, {Name: "logs"},
	}
	var objects objecttree.Objects
	objects.Put(shop)
	objects.Put(execution)
	for _, template := range execution.Spec.DeployItems {
		item := &lsv1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{Name: template.Name, Labels: map[string]string{
			lsv1alpha1.ExecutionManagedByLabel: "shop", lsv1alpha1.ExecutionManagedNameLabel: template.Name,
		}}}
		if template.Name == "db" {
			item.Status.RunStatus = status(lsv1alpha1.PhaseFailed, "a", "a")
		}
		objects.Put(item)
	}
	for name, want := range map[string]string{
		"web":  "the job did not reach this object, because it depends on DeployItem/db, which has failed",
		"ads":  "the job did not reach this object, nor DeployItem/web, which it depends on",
		"logs": "the job ended before it reached this object",
	} {
		if got := objects.Forest().Find(objecttree.DeployItem, "", name).Explain().Message; got != want {
			t.Errorf("%s: it says %q", name, got)
		}
	}
}
