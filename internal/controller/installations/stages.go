// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
)

// write is one write of a plan.
type write func(context.Context) error

// stages returns the writes of a plan in the order in which they are made; those of a stage do not depend on each other. In the
// continuous flow, whatever was written when prepare is cut short must be able to come to an end by itself, because nothing is written
// again before it has: so what children import comes before them, and a nested installation after those that it imports from. What
// templates keep comes first of all: a value that was generated has to be stored before anybody can use it.
func (p *plan) stages(run dataflow.Run) [][]write {
	var children [][]write
	for _, generation := range generations(p.subs) {
		var writes []write
		for _, sub := range generation {
			writes = append(writes, sub.write)
		}
		children = append(children, writes)
	}
	if p.execution != nil {
		children = append(children, []write{p.writeExecution})
	}
	stages := slices.Concat([][]write{p.context}, children)
	if run.Flow != lsv1alpha1.FlowContinuous {
		stages = [][]write{slices.Concat(p.context, slices.Concat(children...))}
	}
	if len(p.states) == 0 {
		return stages
	}
	return slices.Insert(stages, 0, p.states)
}

// generations puts nested installations behind those that they import from. Those of a cycle, which another check refuses, come last.
func generations(subs []wantedSub) [][]wantedSub {
	var all [][]wantedSub
	for left := slices.Clone(subs); len(left) > 0; {
		exported := map[dataflow.ObjectID]string{}
		for _, sub := range left {
			for _, id := range exportsOf(sub.object) {
				exported[id] = sub.name
			}
		}
		waits := func(sub wantedSub) bool {
			return slices.ContainsFunc(importsOf(sub.object), func(id dataflow.ObjectID) bool { return exported[id] != "" && exported[id] != sub.name })
		}
		ready := slices.DeleteFunc(slices.Clone(left), waits)
		if len(ready) == 0 {
			ready = left
		}
		all = append(all, ready)
		left = slices.DeleteFunc(slices.Clone(left), func(sub wantedSub) bool {
			return slices.ContainsFunc(ready, func(r wantedSub) bool { return r.name == sub.name })
		})
	}
	return all
}
