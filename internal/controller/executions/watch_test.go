// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package executions

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

func itemIn(jobID, finished string, phase lsv1alpha1.Phase) *lsv1alpha1.DeployItem {
	item := &lsv1alpha1.DeployItem{}
	item.Status.JobID, item.Status.JobIDFinished, item.Status.Phase = jobID, finished, phase
	return item
}

func deleted(item *lsv1alpha1.DeployItem) *lsv1alpha1.DeployItem {
	item.DeletionTimestamp = &metav1.Time{}
	item.DeletionTimestamp.Time = item.DeletionTimestamp.AddDate(1, 0, 0)
	return item
}

func TestOnlyWhatAnExecutionWaitsForWakesIt(t *testing.T) {
	cases := map[string]struct {
		before, after *lsv1alpha1.DeployItem
		wakes         bool
	}{
		"it got the job":               {itemIn("", "", ""), itemIn("j", "", ""), false},
		"it was picked up":             {itemIn("j", "", ""), itemIn("j", "", lsv1alpha1.PhaseProgressing), false},
		"it makes progress":            {itemIn("j", "", lsv1alpha1.PhaseProgressing), itemIn("j", "", lsv1alpha1.PhaseProgressing), false},
		"it has finished":              {itemIn("j", "", lsv1alpha1.PhaseProgressing), itemIn("j", "j", lsv1alpha1.PhaseSucceeded), true},
		"it has failed":                {itemIn("j", "i", lsv1alpha1.PhaseProgressing), itemIn("j", "j", lsv1alpha1.PhaseFailed), true},
		"got and finished, unseen":     {itemIn("i", "i", lsv1alpha1.PhaseSucceeded), itemIn("j", "j", lsv1alpha1.PhaseSucceeded), true},
		"a word about the last job":    {itemIn("j", "j", lsv1alpha1.PhaseSucceeded), itemIn("j", "j", lsv1alpha1.PhaseSucceeded), false},
		"it was deleted":               {itemIn("", "", ""), deleted(itemIn("", "", "")), true},
		"it makes progress in going":   {deleted(itemIn("j", "", "")), deleted(itemIn("j", "", lsv1alpha1.PhaseDeleting)), false},
		"it could not be deleted":      {deleted(itemIn("j", "", "")), deleted(itemIn("j", "j", lsv1alpha1.PhaseDeleteFailed)), true},
		"another one of the same name": {itemIn("", "", ""), &lsv1alpha1.DeployItem{ObjectMeta: metav1.ObjectMeta{UID: "2"}}, true},
	}
	filter := worthALook()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := filter.Update(event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}); got != c.wakes {
				t.Errorf("wakes: %t", got)
			}
		})
	}
	if !filter.Delete(event.DeleteEvent{Object: itemIn("", "", "")}) {
		t.Error("an item that goes does not wake")
	}
	for _, quiet := range []*lsv1alpha1.DeployItem{itemIn("", "", ""), itemIn("j", "", ""), itemIn("j", "i", lsv1alpha1.PhaseProgressing)} {
		if filter.Create(event.CreateEvent{Object: quiet}) {
			t.Errorf("an item that appears wakes: %+v", quiet.Status)
		}
	}
	for _, telling := range []*lsv1alpha1.DeployItem{itemIn("j", "j", lsv1alpha1.PhaseSucceeded), deleted(itemIn("", "", ""))} {
		if !filter.Create(event.CreateEvent{Object: telling}) {
			t.Errorf("an item that is seen late does not wake: %+v", telling.Status)
		}
	}
}

func TestAnItemBelongsToTheExecutionOfItsLabelAndOfItsOwner(t *testing.T) {
	item := &lsv1alpha1.DeployItem{}
	execution := &lsv1alpha1.Execution{ObjectMeta: metav1.ObjectMeta{Name: "app"}}
	owner := metav1.NewControllerRef(execution, lsv1alpha1.SchemeGroupVersion.WithKind("Execution"))
	if names := executionNames(item); len(names) != 0 {
		t.Errorf("an item of nobody belongs to %q", names)
	}
	item.OwnerReferences = []metav1.OwnerReference{*owner}
	if names := executionNames(item); len(names) != 1 || names[0] != "app" {
		t.Errorf("by owner: %q", names)
	}
	item.Labels = map[string]string{lsv1alpha1.ExecutionManagedByLabel: "app"}
	if names := executionNames(item); len(names) != 1 {
		t.Errorf("by both: %q", names)
	}
	item.Labels[lsv1alpha1.ExecutionManagedByLabel] = "other"
	if names := executionNames(item); len(names) != 2 {
		t.Errorf("by each: %q", names)
	}
}
