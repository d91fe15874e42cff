// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// settleContinuously writes the result of a decision of the continuous flow to the status.
func settleContinuously(e *lsv1alpha1.Execution, o Observed, d Decision, err error) Observed {
	status := &e.Status
	rememberSpec(e)
	if observes(o, d, status.Phase) {
		observeSpec(e)
		o.UpToDate, o.FlowOnly = true, false
	}
	if err == nil {
		for _, effect := range d.Do {
			o = noted(o, effect)
		}
	}
	if d.Next.IsCompleted() && len(o.Generations) == 0 {
		// For example, the execution was aborted before its status could record the items. Otherwise, a change of the flow would not reach them.
		o = o.noteFound(o.Wanted)
	}
	status.DeployItemGenerations = o.Generations
	if status.Phase == lsv1alpha1.PhaseProgressing && !o.Deleted {
		status.DeployItemCache = o.record()
	}
	if err == nil && d.Next == lsv1alpha1.PhaseSucceeded {
		status.ExportReference = o.Export.Reference
	}
	run.SettleContinuously(&status.RunStatus, run.Outcome{Next: d.Next, Why: d.Why, Err: err, Now: o.Now})
	o.Own, o.Aborted = run.EndedByItself(&status.RunStatus), aborted(&status.RunStatus)
	return o.at(&status.RunStatus)
}

// observes reports whether a decision takes the current spec into account: the spec was processed or aborted, or the execution is being
// deleted and its items cannot be. The deletion creates a new generation, which distinguishes this failure from an earlier one.
func observes(o Observed, d Decision, phase lsv1alpha1.Phase) bool {
	takesNote := slices.ContainsFunc(d.Do, func(e Effect) bool { _, yes := e.(Observe); return yes })
	leaves := slices.ContainsFunc(d.Do, func(e Effect) bool { _, yes := e.(LeaveFlow); return yes })
	switch {
	case o.Deleted:
		return d.Next == lsv1alpha1.PhaseFailed
	case takesNote || leaves && o.FlowOnly:
		return true
	case d.Why.Code == lsv1alpha1.ReasonAborted:
		return d.Next == lsv1alpha1.PhaseFailed
	default:
		return phase == lsv1alpha1.PhaseProgressing || d.Next == lsv1alpha1.PhaseProgressing
	}
}

// noted returns the facts after an effect has changed the recorded generations of the items.
func noted(o Observed, effect Effect) Observed {
	switch e := effect.(type) {
	case CreateItems, UpdateItems, AskItems:
		return o.note(itemsOf(e))
	case ConvertItems:
		return o.noteFound(e.Items)
	case NoteItems:
		return o.noteFound(e.Items)
	case RedoItems:
		o.Accepted = true
		for _, item := range e.Items {
			o = o.set(lsv1alpha1.DeployItemGeneration{Name: item.Name})
		}
	case LeaveFlow:
		o.Generations = nil
	case DropOperation:
		o.Operation, o.Accepted = "", false
	case AddFinalizer, RemoveFinalizer, AcceptInterrupt, DropInterrupt, InterruptItems, KeepDeployed, TellItems, DeleteItems, TriggerItems,
		WriteExport, RemoveExport, Observe, Refuse:
	}
	return o
}

// note records that items match the current spec, in their current generation. If the execution leaves the flow, it records nothing.
func (o Observed) note(items []Item) Observed {
	for _, item := range items {
		i := slices.IndexFunc(o.Wanted, func(w Item) bool { return w.Name == item.Name })
		if i >= 0 && !o.Deleted && !o.leaves() {
			o = o.set(lsv1alpha1.DeployItemGeneration{
				Name:                 item.Name,
				ExecutionGeneration:  o.Generation,
				DeployItemGeneration: o.Wanted[i].Object.Generation,
			})
		}
	}
	return o
}

// noteFound records existing items that this spec may not have created. Those that differ from it in more than the flow are due.
func (o Observed) noteFound(items []Item) Observed {
	for _, item := range items {
		switch {
		case item.Object.UID == "" || o.Deleted || o.leaves():
		case item.SpecDiffers && !item.OnlyFlow:
			o = o.set(lsv1alpha1.DeployItemGeneration{Name: item.Name})
		default:
			o = o.note([]Item{item})
		}
	}
	return o
}

// set replaces the record of an item, and removes those of items that the spec no longer contains.
func (o Observed) set(generation lsv1alpha1.DeployItemGeneration) Observed {
	kept := slices.DeleteFunc(slices.Clone(o.Generations), func(g lsv1alpha1.DeployItemGeneration) bool {
		wanted := slices.ContainsFunc(o.Wanted, func(i Item) bool { return i.Name == g.Name })
		return g.Name == generation.Name || !wanted
	})
	o.Generations = append(kept, generation)
	return o
}
