// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"slices"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/run"
)

// leaves tells whether the execution is to leave the continuous flow now. It is deleted in the flow that it is in.
func (o Execution) leaves() bool {
	return o.Chosen != lsv1alpha1.FlowContinuous && (o.Phase == "" || o.Phase.IsFinal()) && !o.Deleted
}

// leaveExecution tells the items of the other flow, as soon as no deployer works on them. What is asked for until then belongs
// to this flow.
func leaveExecution(o Execution) execution.Decision {
	convert, busy := o.strangers(o.Chosen)
	why := because(run.ReasonFlowChanged, "from now on it follows the flow "+string(o.Chosen))
	switch {
	case len(busy) > 0 && o.Operation != "":
		return answer(o)
	case len(busy) > 0:
		return awaitItems(o, busy)
	case o.Operation != "":
		return execution.Decision{Do: []execution.Effect{execution.DropOperation{}}, Why: why}
	case len(convert) > 0:
		return execution.Decision{Do: []execution.Effect{execution.ConvertItems{Flow: o.Chosen, Items: convert}}, Why: why}
	default:
		return execution.Decision{Do: []execution.Effect{execution.LeaveFlow{}}, Wait: true, RequeueAfter: time.Millisecond, Why: why}
	}
}

// strangers are the items of another flow than the given one that can change it now, and the items on which deployers work.
func (o Execution) strangers(flow lsv1alpha1.Flow) (convert, busy []execution.Item) {
	for _, item := range slices.Concat(o.Wanted, o.Orphaned) {
		switch {
		case item.State == execution.StateRunning || item.State == execution.StateUnseen:
			busy = append(busy, item)
		case item.Flow != "" && item.Flow != flow, item.Halfway:
			convert = append(convert, item)
		}
	}
	return convert, busy
}

func awaitItems(o Execution, busy []execution.Item) execution.Decision {
	return execution.Decision{
		Wait: true, RequeueAfter: run.Recheck(o.PhaseSince, o.Now),
		Why: because(lsv1alpha1.ReasonWaitingForSubObjects, "the flow changes once deploy items are completed: "+execution.Names(busy)),
	}
}

// follows tells whether nothing but the flow has changed, and was changed back, since the execution has come to its own end, in
// which it stays.
func (o Execution) follows() bool { return o.FlowOnly && o.Phase.IsCompleted() && o.Own }

// followExecution has the items come back, and then takes note of the spec. That it does so is known before the first of them is
// touched.
func followExecution(o Execution) execution.Decision {
	convert, busy := o.strangers(lsv1alpha1.FlowContinuous)
	why := because(run.ReasonFlowChanged, "nothing but the flow has changed")
	switch {
	case len(busy) > 0:
		return awaitItems(o, busy)
	case len(convert) > 0 && len(o.Generations) == 0:
		return execution.Decision{Do: []execution.Effect{execution.NoteItems{Items: existing(o.Wanted)}}, Why: why}
	case len(convert) > 0:
		return execution.Decision{SaveFirst: true, Do: []execution.Effect{execution.ConvertItems{Flow: lsv1alpha1.FlowContinuous, Items: convert}}, Why: why}
	default:
		// A conversion may have been interrupted before the status could tell of it.
		return execution.Decision{Do: []execution.Effect{execution.NoteItems{Items: o.converted()}, execution.Observe{}}, Why: why}
	}
}

// converted are the items that are as the spec wants them, in another generation than the one that is remembered.
func (o Execution) converted() []execution.Item {
	return slices.DeleteFunc(existing(o.Wanted), func(i execution.Item) bool {
		return i.SpecDiffers || !i.Current || !slices.ContainsFunc(o.Generations, func(g lsv1alpha1.DeployItemGeneration) bool {
			return g.Name == i.Name && g.DeployItemGeneration != i.Object.Generation
		})
	})
}

func existing(items []execution.Item) []execution.Item {
	return slices.DeleteFunc(slices.Clone(items), func(i execution.Item) bool { return i.Object.UID == "" })
}
