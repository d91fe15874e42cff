// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"slices"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// leaves reports whether the execution must leave the continuous flow now. It is deleted in its current flow.
func (o Observed) leaves() bool {
	return o.Chosen != lsv1alpha1.FlowContinuous && (o.Phase == "" || o.Phase.IsFinal()) && !o.Deleted
}

// leave converts the items to the other flow, once no deployer works on them. Requests until then belong to this flow.
func leave(o Observed) Decision {
	convert, busy := o.strangers(o.Chosen)
	why := because(run.ReasonFlowChanged, "switches to flow "+string(o.Chosen))
	switch {
	case len(busy) > 0 && o.Operation != "":
		return answer(o)
	case len(busy) > 0:
		return waitForItems(o, "the flow changes when these deploy items are finished: "+list(busy))
	case o.Operation != "":
		return Decision{Do: []Effect{DropOperation{}}, Why: why}
	case len(convert) > 0:
		return Decision{Do: []Effect{ConvertItems{Flow: o.Chosen, Items: convert}}, Why: why}
	default:
		return Decision{Do: []Effect{LeaveFlow{}}, Wait: true, RequeueAfter: time.Millisecond, Why: why}
	}
}

// strangers returns the items of another flow that can be converted to the given one now, and the items that deployers work on.
func (o Observed) strangers(flow lsv1alpha1.Flow) (convert, busy []Item) {
	for _, item := range slices.Concat(o.Wanted, o.Orphaned) {
		switch {
		case item.State == StateRunning || item.State == StateUnseen:
			busy = append(busy, item)
		case item.Flow != "" && item.Flow != flow, item.Halfway:
			convert = append(convert, item)
		}
	}
	return convert, busy
}

// turned returns the items at rest that a reverted change of the flow has left in another flow, and that differ in nothing else.
func (o Observed) turned() []Item {
	if o.Chosen != lsv1alpha1.FlowContinuous {
		return nil
	}
	convert, _ := o.strangers(lsv1alpha1.FlowContinuous)
	return filter(convert, func(i Item) bool { return i.OnlyFlow || i.Halfway })
}

// follows reports whether only the flow has changed, and was changed back, since the execution reached a phase that it stays in.
func (o Observed) follows() bool { return o.FlowOnly && o.Phase.IsCompleted() && o.Own }

// follow converts the items back, and then records the spec. The status must show that before the first of them is touched.
func follow(o Observed) Decision {
	convert, busy := o.strangers(lsv1alpha1.FlowContinuous)
	why := because(run.ReasonFlowChanged, "only the flow has changed")
	switch {
	case len(busy) > 0:
		return waitForItems(o, "the flow changes when these deploy items are finished: "+list(busy))
	case len(convert) > 0 && len(o.Generations) == 0:
		return Decision{Do: []Effect{NoteItems{Items: existing(o.Wanted)}}, Why: why}
	case len(convert) > 0:
		return Decision{SaveFirst: true, Do: []Effect{ConvertItems{Flow: lsv1alpha1.FlowContinuous, Items: convert}}, Why: why}
	default:
		// A conversion may have been interrupted before the status could record it.
		return Decision{Do: []Effect{NoteItems{Items: o.converted()}, Observe{}}, Why: why}
	}
}

// converted returns the items that match the spec in a generation other than the recorded one.
func (o Observed) converted() []Item {
	return filter(existing(o.Wanted), func(i Item) bool {
		return !i.SpecDiffers && i.Current && slices.ContainsFunc(o.Generations, func(g lsv1alpha1.DeployItemGeneration) bool {
			return g.Name == i.Name && g.DeployItemGeneration != i.Object.Generation
		})
	})
}

func existing(items []Item) []Item {
	return filter(items, func(i Item) bool { return i.Object.UID != "" })
}
