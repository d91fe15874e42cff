// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
)

// The flow of a tree changes from the top: an installation tells what is below and then goes over itself. Nothing is rendered
// and nothing deployed because of it. A change that is taken back before the installation has seen it leaves no trace but
// another generation; one that is taken back while the tree changes over meets objects of both flows.

// leaves reports whether the installation is to leave the continuous flow now. It is deleted in the flow that it is in.
func (o Observed) leaves() bool {
	return o.Chosen != lsv1alpha1.FlowContinuous && (o.Phase == "" || o.Phase.IsFinal()) && !o.Deleting
}

// leave tells what is below of the other flow, as soon as nothing of it is on its way. What is asked for until then belongs to
// this flow.
func leave(o Observed) Decision {
	busy := filter(o.below(), func(c Child) bool { return c.Flow == lsv1alpha1.FlowContinuous && c.Busy() })
	why, misfits := because(run.ReasonFlowChanged, "from now on it follows the flow "+string(o.Chosen)), o.misfits(o.Chosen)
	switch {
	case len(busy) > 0 && run.Asked(o.Operation):
		return proceed(o)
	case len(busy) > 0:
		return wait(lsv1alpha1.ReasonWaitingForSubObjects, "the flow changes once it is completed: "+listed(busy))
	case run.Asked(o.Operation) && o.Operation != lsv1alpha1.OperationReconcile:
		return dropOperation("operation "+string(o.Operation)+" has no effect in the flow "+string(o.Chosen), false)
	case len(misfits) > 0:
		return Decision{Do: []Effect{Convert{Flow: o.Chosen, Children: misfits}}, Why: why}
	default:
		return Decision{Do: []Effect{LeaveFlow{}}, Wait: true, RequeueAfter: time.Millisecond, Why: why}
	}
}

// follows reports whether nothing but the flow has changed, and was changed back, since the installation was completed. One that
// has been aborted stays so, and what is below follows it nevertheless.
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

// strays reports whether the status does not say yet of which flow the installation is, which has something below it.
func (o Observed) strays() bool { return !o.Entered && len(o.below()) > 0 }

// follow has what is below come back, and then takes note of the spec.
func follow(o Observed) Decision {
	why, misfits := because(run.ReasonFlowChanged, "nothing but the flow has changed"), o.misfits(lsv1alpha1.FlowContinuous)
	switch busy := filter(o.below(), Child.Busy); {
	case o.strays():
		return Decision{Do: []Effect{EnterFlow{}}, Why: why}
	case len(misfits) > 0:
		return Decision{Do: []Effect{Convert{Flow: lsv1alpha1.FlowContinuous, Children: misfits}}, SaveFirst: true, Why: why}
	case len(busy) > 0 && o.aborted():
		return wait(lsv1alpha1.ReasonWaitingForSubObjects, "the flow changes once it is completed: "+listed(busy))
	case len(busy) > 0:
		return standard(o)
	case o.FlowOnly:
		return Decision{Do: []Effect{Observe{}}, Why: why}
	default:
		return proceed(o)
	}
}
