// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
)

// Need is a fact that is costly to obtain.
type Need string

// These are the facts that a decision may need, in addition to those that are always observed.
const (
	// NeedPlan requests Observed.Plan, NeedExports Observed.Exporting, and NeedRestored those parts of them that another client has deleted.
	NeedPlan     Need = "plan"
	NeedExports  Need = "exports"
	NeedRestored Need = "restored"
	// NeedSuccessors requests the current Observed.Successors: they may have changed while the exports were written.
	NeedSuccessors Need = "successors"
	// NeedTurn requests Observed.Turn.
	NeedTurn Need = "turn"
)

// Needs returns the facts that the next decision needs and that were not read yet; empty if none.
func Needs(o Observed) Need {
	for _, effect := range decide(o).Do {
		if need := needOf(o, effect); need != "" {
			return need
		}
	}
	return ""
}

func needOf(o Observed, effect Effect) Need {
	switch effect.(type) {
	case Prepare:
		if o.needsTurn() {
			return NeedTurn
		}
		if o.Plan == nil {
			return NeedPlan
		}
	case Export:
		if o.Exporting == nil {
			return NeedExports
		}
	case Restore:
		if o.Plan == nil {
			return NeedRestored
		}
	case Notify:
		if !o.SuccessorsRead {
			return NeedSuccessors
		}
	case Announce, Grant, AddFinalizer, RemoveFinalizer, DropOperation, Fail, PropagateJob, Interrupt, DeleteChildren, Tell, Relabel, CleanUp,
		Observe, Ask, TellOfUpdate, Convert, Adopt, LeaveFlow, EnterFlow:
		// What is always observed suffices.
	}
	return ""
}

// planned adds the plans to the effects of a decision. If there is no plan, its error becomes the decision.
func planned(o Observed, d Decision) Decision {
	d.Do = slices.Clone(d.Do)
	for i, effect := range d.Do {
		switch e := effect.(type) {
		case Prepare:
			if o.Plan != nil && o.Plan.Err != nil {
				return failing(d, effect, o.Plan.Err)
			}
			d.Do[i] = Prepare{Plan: o.Plan}
		case Export:
			if o.Exporting != nil && o.Exporting.Err != nil {
				return failing(d, effect, o.Exporting.Err)
			}
			d.Do[i] = Export{Plan: o.Exporting}
		case Restore:
			d.Do[i] = Restore{Objects: e.Objects, Plan: o.Plan, Exports: o.Exporting}
		case Announce, Grant, AddFinalizer, RemoveFinalizer, DropOperation, Fail, PropagateJob, Interrupt, Notify, DeleteChildren, Tell, Relabel,
			CleanUp, Observe, Ask, TellOfUpdate, Convert, Adopt, LeaveFlow, EnterFlow:
			// These have no plan.
		}
	}
	return d
}

// failing turns a decision that cannot be executed into one that reports the error.
func failing(d Decision, step Effect, err error) Decision {
	d.Do = []Effect{Fail{Step: step.String(), Err: err}}
	d.Wait, d.Why.Message = true, err.Error()
	return d
}

// RestoresExports reports whether exports that the last job created are among the objects that another client has deleted. The continuous
// flow detects missing exports by itself.
func (o Observed) RestoresExports(inst *lsv1alpha1.Installation) bool {
	exported := slices.ContainsFunc(o.Lost, func(id dataflow.ObjectID) bool { return slices.Contains(ExportsOf(inst), id) })
	return exported && !o.Continuous && o.Phase == lsv1alpha1.PhaseSucceeded
}
