// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"slices"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// leaves reports whether the execution is to leave the continuous flow now. It is deleted in the flow that it is in.
func (o Observed) leaves() bool {
	return o.Chosen != lsv1alpha1.FlowContinuous && (o.Phase == "" || o.Phase.IsFinal()) && !o.Deleted
}

// leave tells the items of the other flow, as soon as no deployer works on them. What is asked for until then belongs
// to this flow.
func leave(o Observed) Decision {
	convert, busy := o.strangers(o.Chosen)
	why := because(run.ReasonFlowChanged, "from now on it follows the flow "+string(o.Chosen))
	switch {
	case len(busy) > 0 && o.Operation != "":
		return answer(o)
	case len(busy) > 0:
		return waitForItems(o, "the flow changes once deploy items are completed: "+list(busy))
	case o.Operation != "":
		return Decision{Do: []Effect{DropOperation{}}, Why: why}
	case len(convert) > 0:
		return Decision{Do: []Effect{ConvertItems{Flow: o.Chosen, Items: convert}}, Why: why}
	default:
		return Decision{Do: []Effect{LeaveFlow{}}, Wait: true, RequeueAfter: time.Millisecond, Why: why}
	}
}

// strangers are the items of another flow than the given one that can change it now, and the items on which deployers work.
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

// turned are the items at rest that a change of the flow which was taken back has left in another one, and that differ in nothing else.
func (o Observed) turned() []Item {
	if o.Chosen != lsv1alpha1.FlowContinuous {
		return nil
	}
	convert, _ := o.strangers(lsv1alpha1.FlowContinuous)
	return filter(convert, func(i Item) bool { return i.OnlyFlow || i.Halfway })
}

// follows reports whether nothing but the flow has changed, and was changed back, since the execution has come to its own end, in
// which it stays.
func (o Observed) follows() bool { return o.FlowOnly && o.Phase.IsCompleted() && o.Own }

// follow has the items come back, and then takes note of the spec. That it does so is known before the first of them is
// touched.
func follow(o Observed) Decision {
	convert, busy := o.strangers(lsv1alpha1.FlowContinuous)
	why := because(run.ReasonFlowChanged, "nothing but the flow has changed")
	switch {
	case len(busy) > 0:
		return waitForItems(o, "the flow changes once deploy items are completed: "+list(busy))
	case len(convert) > 0 && len(o.Generations) == 0:
		return Decision{Do: []Effect{NoteItems{Items: existing(o.Wanted)}}, Why: why}
	case len(convert) > 0:
		return Decision{SaveFirst: true, Do: []Effect{ConvertItems{Flow: lsv1alpha1.FlowContinuous, Items: convert}}, Why: why}
	default:
		// A conversion may have been interrupted before the status could tell of it.
		return Decision{Do: []Effect{NoteItems{Items: o.converted()}, Observe{}}, Why: why}
	}
}

// converted are the items that are as the spec wants them, in another generation than the one that is remembered.
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
