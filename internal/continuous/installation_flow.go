// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package continuous

import (
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/run"
)

// The flow of a tree changes from the top: an installation tells what is below and then goes over itself. Nothing is rendered
// and nothing deployed because of it. A change that is taken back before the installation has seen it leaves no trace but
// another generation; one that is taken back while the tree changes over meets objects of both flows.

// Leave is the effect by which an installation or execution leaves the continuous flow. The status write does it.
type Leave struct{}

// String implements installation.Effect.
func (Leave) String() string { return "leave the continuous flow" }

// Enter is the effect by which an installation that does nothing comes back to the continuous flow. The status write does it.
type Enter struct{}

// String implements installation.Effect.
func (Enter) String() string { return "enter the continuous flow" }

// leaves tells whether the installation is to leave the continuous flow now. It is deleted in the flow that it is in.
func (o Installation) leaves() bool {
	return o.Chosen != lsv1alpha1.FlowContinuous && (o.Phase == "" || o.Phase.IsFinal()) && !o.Deleting
}

// leave tells what is below of the other flow, as soon as nothing of it is on its way. What is asked for until then belongs to
// this flow.
func leave(o Installation) installation.Decision {
	busy := filter(o.every(), func(c installation.Child) bool { return c.Flow == lsv1alpha1.FlowContinuous && Busy(c) })
	why, misfits := because(run.ReasonFlowChanged, "from now on it follows the flow "+string(o.Chosen)), o.misfits(o.Chosen)
	switch {
	case len(busy) > 0 && run.Asked(o.Operation):
		return proceed(o)
	case len(busy) > 0:
		d := rest(lsv1alpha1.ReasonWaitingForSubObjects, "the flow changes once it is completed: "+names(busy))
		d.RequeueAfter = run.Recheck(o.Since, o.Now)
		return d
	case run.Asked(o.Operation) && o.Operation != lsv1alpha1.OperationReconcile:
		return dropOperation("operation "+string(o.Operation)+" has no effect in the flow "+string(o.Chosen), false)
	case len(misfits) > 0:
		return installation.Decision{Do: []installation.Effect{installation.Convert{Flow: o.Chosen, Children: misfits}}, Why: why}
	default:
		return installation.Decision{Do: []installation.Effect{Leave{}}, Wait: true, RequeueAfter: time.Millisecond, Why: why}
	}
}

// follows tells whether nothing but the flow has changed, and was changed back, since the installation was completed. One that
// has been aborted stays so, and what is below follows it nevertheless.
func (o Installation) follows() bool {
	switch {
	case !o.Phase.IsCompleted() || o.Operation != "" || o.Changed:
		return false
	case o.aborted():
		return o.FlowOnly || o.strays() || len(o.misfits(lsv1alpha1.FlowContinuous)) > 0
	default:
		return o.FlowOnly && o.Entered && len(o.ImportsChanged) == 0 && o.lost() == ""
	}
}

func (o Installation) aborted() bool { return o.Own && o.Phase == lsv1alpha1.PhaseAborted }

// strays tells whether the status does not say yet of which flow the installation is, which has something below it.
func (o Installation) strays() bool { return !o.Entered && len(o.every()) > 0 }

// follow has what is below come back, and then takes note of the spec.
func follow(o Installation) installation.Decision {
	why, misfits := because(run.ReasonFlowChanged, "nothing but the flow has changed"), o.misfits(lsv1alpha1.FlowContinuous)
	switch busy := filter(o.every(), Busy); {
	case o.strays():
		return installation.Decision{Do: []installation.Effect{Enter{}}, Why: why}
	case len(misfits) > 0:
		return installation.Decision{Do: []installation.Effect{installation.Convert{Flow: lsv1alpha1.FlowContinuous, Children: misfits}}, SaveFirst: true, Why: why}
	case len(busy) > 0 && o.aborted():
		d := rest(lsv1alpha1.ReasonWaitingForSubObjects, "the flow changes once it is completed: "+names(busy))
		d.RequeueAfter = run.Recheck(o.Since, o.Now)
		return d
	case len(busy) > 0:
		return standard(o)
	case o.FlowOnly:
		return installation.Decision{Do: []installation.Effect{installation.Observe{}}, Why: why}
	default:
		return proceed(o)
	}
}
