// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// The flow of a tree changes from the top: an installation converts the objects below and then switches itself. This renders and deploys
// nothing. A change that is reverted before the installation has seen it only leaves a new generation; one that is reverted while the tree
// switches leaves objects of both flows.

// leaves reports whether the installation must leave the continuous flow now. It is deleted in its current flow.
func (o Observed) leaves() bool {
	return o.Chosen != lsv1alpha1.FlowContinuous && (o.Phase == "" || o.Phase.IsFinal()) && !o.Deleting
}

// leave converts the objects below to the other flow, once none of them is in progress. Requests until then belong to this flow.
func leave(o Observed) Decision {
	busy := filter(o.below(), func(c Child) bool { return c.Flow == lsv1alpha1.FlowContinuous && c.Busy() })
	why, misfits := because(run.ReasonFlowChanged, "switches to flow "+string(o.Chosen)), o.misfits(o.Chosen)
	switch {
	case len(busy) > 0 && run.Asked(o.Operation):
		return proceed(o)
	case len(busy) > 0:
		return o.informed(busy, wait(lsv1alpha1.ReasonWaitingForSubObjects, "the flow changes when these are finished: "+listed(busy)))
	case run.Asked(o.Operation) && o.Operation != lsv1alpha1.OperationReconcile:
		return dropOperation("operation "+string(o.Operation)+" has no effect in flow "+string(o.Chosen), false)
	case len(misfits) > 0:
		return Decision{Do: []Effect{Convert{Flow: o.Chosen, Children: misfits}}, Why: why}
	default:
		return Decision{Do: []Effect{LeaveFlow{}}, Wait: true, RequeueAfter: time.Millisecond, Why: why}
	}
}

// follows reports whether only the flow has changed, and was changed back, since the installation was completed. An aborted installation
// stays aborted, but the objects below follow nevertheless.
func (o Observed) follows() bool {
	switch {
	case !o.Phase.IsCompleted() || o.Operation != "" || o.Changed:
		return false
	case o.aborted():
		return o.FlowOnly || o.strays() || len(o.misfits(lsv1alpha1.FlowContinuous)) > 0
	default:
		return o.FlowOnly && o.Entered && len(o.ImportsChanged) == 0 && o.childGone() == ""
	}
}

func (o Observed) aborted() bool { return o.Own && o.Phase == lsv1alpha1.PhaseAborted }

// strays reports whether an installation with objects below it does not record its flow in the status yet.
func (o Observed) strays() bool { return !o.Entered && len(o.below()) > 0 }

// follow converts the objects below back, and then records the spec.
func follow(o Observed) Decision {
	why, misfits := because(run.ReasonFlowChanged, "only the flow has changed"), o.misfits(lsv1alpha1.FlowContinuous)
	switch busy := filter(o.below(), Child.Busy); {
	case o.strays():
		return Decision{Do: []Effect{EnterFlow{}}, Why: why}
	case len(misfits) > 0:
		return Decision{Do: []Effect{Convert{Flow: lsv1alpha1.FlowContinuous, Children: misfits}}, SaveFirst: true, Why: why}
	case len(busy) > 0 && o.aborted():
		return wait(lsv1alpha1.ReasonWaitingForSubObjects, "the flow changes when these are finished: "+listed(busy))
	case len(busy) > 0:
		return standard(o)
	case o.FlowOnly:
		return Decision{Do: []Effect{Observe{}}, Why: why}
	default:
		return proceed(o)
	}
}
