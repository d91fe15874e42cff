// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution_test

import (
	"fmt"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
)

// BenchmarkPass makes one pass over an execution whose items all depend on the first one, which has succeeded.
func BenchmarkPass(b *testing.B) {
	for _, size := range []int{20, 200, 2000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := fan(b, size)
			for b.Loop() {
				if d := execution.Decide(execution.NewObserved(s)); len(effects[execution.TriggerItems](d)) != 1 {
					b.Fatalf("decided %+v", d)
				}
			}
		})
	}
}

func fan(b *testing.B, size int) execution.Snapshot {
	items := []lsv1alpha1.DeployItemTemplate{template("first")}
	for i := range size - 1 {
		items = append(items, template(fmt.Sprintf("item-%d", i), "first"))
	}
	e := begun(items...)
	s := execution.Snapshot{Execution: e, Now: noon}
	e.Status.DeployItemCache = &lsv1alpha1.DeployItemCache{}
	for _, item := range execution.NewObserved(s).Wanted {
		object := item.Write.DeepCopy()
		if item.Name == "first" {
			object.Status.JobID, object.Status.JobIDFinished, object.Status.Phase = job, job, lsv1alpha1.PhaseSucceeded
		}
		s.Items = append(s.Items, *object)
		e.Status.DeployItemCache.ActiveDIs = append(e.Status.DeployItemCache.ActiveDIs, lsv1alpha1.NamePair{
			SpecName:   item.Name,
			ObjectName: object.Name,
		})
	}
	if len(s.Items) != size {
		b.Fatalf("%d items", len(s.Items))
	}
	e.Status.Phase, e.Status.ObservedGeneration = lsv1alpha1.PhaseProgressing, e.Generation
	return s
}
