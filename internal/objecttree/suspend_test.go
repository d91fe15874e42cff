// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package objecttree_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/objecttree"
	"espalier.dev/internal/run"
)

// A suspended root keeps the state of its last run, and says that it is suspended and what waits because of that.
func TestStateOfASuspendedRoot(t *testing.T) {
	asked := func(i *lsv1alpha1.Installation) { i.Annotations[lsv1alpha1.OperationAnnotation] = "reconcile" }
	ahead := func(i *lsv1alpha1.Installation) { i.Generation = 7 }
	continuous := func(i *lsv1alpha1.Installation) { i.Spec.Flow = lsv1alpha1.FlowContinuous }
	deleting := func(i *lsv1alpha1.Installation) { i.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
	done, failed := status(lsv1alpha1.PhaseSucceeded, "a", "a"), status(lsv1alpha1.PhaseFailed, "a", "a")
	failed.LastError = &lsv1alpha1.Error{Reason: "Broken", Message: "it broke"}
	ended := lsv1alpha1.RunStatus{Phase: lsv1alpha1.PhaseSucceeded}
	const is, onResume, newer = "it is suspended by jo: audit", "; the requested job starts on resume", "; the spec has changed since the last run"
	atWork := lsv1alpha1.RunStatus{Phase: lsv1alpha1.PhaseProgressing}
	const stops = "the update waits before its exports: the spec has changed; suspended by jo: audit"
	waits := lsv1alpha1.RunStatus{Phase: lsv1alpha1.PhaseProgressing, Conditions: []lsv1alpha1.Condition{
		{Type: lsv1alpha1.ConditionReady, Status: lsv1alpha1.ConditionFalse, Reason: run.ReasonSuspended, Message: stops},
		{Type: lsv1alpha1.ConditionReconciling, Status: lsv1alpha1.ConditionTrue, Reason: run.ReasonSuspended, Message: stops},
	}}
	type changes []func(*lsv1alpha1.Installation)
	on := run.ReasonSuspended
	for name, c := range map[string]struct {
		status        lsv1alpha1.RunStatus
		changes       changes
		state         objecttree.State
		reason, told  string
		awaits, rests bool
	}{
		"done":                    {done, nil, objecttree.Succeeded, on, is, false, true},
		"done, and asked":         {done, changes{asked}, objecttree.Requested, on, is + onResume, true, true},
		"done, and changed":       {done, changes{ahead}, objecttree.Succeeded, on, is + newer, false, true},
		"failed":                  {failed, nil, objecttree.Failed, "Broken", "it broke; " + is, false, true},
		"never ran":               {lsv1alpha1.RunStatus{}, nil, objecttree.NotStarted, on, is + "; it has never run", false, true},
		"at work":                 {status(lsv1alpha1.PhaseInit, "b", "a"), nil, objecttree.Running, "", "", false, false},
		"being deleted":           {done, changes{deleting}, objecttree.Succeeded, "", "", false, false},
		"continuous":              {ended, changes{continuous}, objecttree.Succeeded, on, is, false, true},
		"continuous, and changed": {ended, changes{continuous, ahead}, objecttree.Succeeded, on, is + newer, true, true},
		"continuous, and asked":   {ended, changes{continuous, asked}, objecttree.Succeeded, on, is + onResume, true, true},
		"continuous, never ran":   {lsv1alpha1.RunStatus{}, changes{continuous, ahead}, objecttree.NotStarted, on, is + "; it has never run", true, true},
		"continuous, at work":     {atWork, changes{continuous}, objecttree.Running, "", "", false, false},
		"continuous, stopped":     {waits, changes{continuous, ahead}, objecttree.Running, on, stops, true, true},
		"continuous, going":       {waits, changes{continuous, ahead, deleting}, objecttree.Running, on, stops, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := installation("root", "", c.status)
			root.Annotations = map[string]string{lsv1alpha1.SuspendAnnotation: "true", lsv1alpha1.SuspendReasonAnnotation: "by jo: audit"}
			for _, change := range c.changes {
				change(root)
			}
			var objects objecttree.Objects
			objects.Put(root)
			node := objects.Forest().Installation("", "root")
			said := node.Explain()
			if node.State() != c.state || said.Reason != c.reason || !strings.HasPrefix(said.Message, c.told) || c.told == "" && said.Message != "" {
				t.Errorf("state %s, %+v", node.State(), said)
			}
			if node.AwaitsResumption() != c.awaits || node.HeldBack() != c.rests {
				t.Errorf("awaits resumption: %t, held back: %t", node.AwaitsResumption(), node.HeldBack())
			}
		})
	}
}
