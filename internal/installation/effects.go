// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"fmt"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/decision"
	"espalier.dev/internal/run"
)

// Decision is what an installation does next.
type Decision = decision.Of[lsv1alpha1.Phase, Effect]

// Effect is a change that an installation requests, in either flow. This file defines all effects.
type Effect interface {
	fmt.Stringer
	effect()
}

type (
	// Announce records in the status that a job was requested. The status write does it.
	Announce struct{}
	// Grant replaces the request for a job by a grant, and adds the finalizer.
	Grant struct{}
	// AddFinalizer adds the finalizer.
	AddFinalizer struct{}
	// DropOperation removes the operation annotation.
	DropOperation struct{}
	// Fail reports an error that occurred while observing, under the name of the step that it prevents.
	Fail struct {
		Step string
		Err  error
	}
	// Prepare executes the plan: it writes the objects of the installation's context and all children, and deletes unwanted children.
	Prepare struct{ Plan *Plan }
	// PropagateJob makes the job the current one of children.
	PropagateJob struct{ Children []Child }
	// Interrupt passes the interrupt on to children.
	Interrupt struct{ Children []Child }
	// Export writes the exports, and removes leftovers of earlier jobs from the installation's context.
	Export struct{ Plan *ExportPlan }
	// Notify requests jobs of successors that are roots.
	Notify struct{ Successors []string }
	// DeleteChildren deletes children, and first marks those whose installed objects stay.
	DeleteChildren struct{ Children []Child }
	// Tell notifies children in progress that the tree is being deleted, and how.
	Tell struct{ Children []Child }
	// Relabel restores the label of a nested installation that names its parent.
	Relabel struct{ Parent string }
	// Restore rewrites objects that another client has deleted, as planned by the last job or update.
	Restore struct {
		Objects []dataflow.ObjectID
		Plan    *Plan
		Exports *ExportPlan
	}
	// CleanUp removes exports, context objects and the states of templates.
	CleanUp struct{}
	// RemoveFinalizer removes the finalizer.
	RemoveFinalizer struct{}
	// Observe makes the status refer to the current generation, in which only the flow has changed. The status write does it.
	Observe struct{}
	// Ask sets the operation annotation of children, in the continuous flow.
	Ask struct {
		Operation lsv1alpha1.Operation
		Children  []Child
	}
	// TellOfUpdate requests from children what AskedByUpdate returns when it is executed, in the continuous flow. It is part of the update:
	// the update counts as not made until all children are notified.
	TellOfUpdate struct{}
	// Convert changes the flow of children, and nothing else.
	Convert struct {
		Flow     lsv1alpha1.Flow
		Children []Child
	}
	// Adopt restores the owner of children, in the continuous flow. In the job flow, Prepare does that.
	Adopt struct{ Children []Child }
	// LeaveFlow makes the installation leave the continuous flow. The status write does it.
	LeaveFlow struct{}
	// EnterFlow returns an idle installation to the continuous flow. The status write does it.
	EnterFlow struct{}
)

// String implements Effect.
func (Announce) String() string { return "announce the job" }

// String implements Effect.
func (Grant) String() string { return "grant the request" }

// String implements Effect.
func (AddFinalizer) String() string { return "add the finalizer" }

// String implements Effect.
func (DropOperation) String() string { return "remove the operation annotation" }

// String implements Effect.
func (e Fail) String() string { return cmp.Or(e.Step, "check siblings") }

// String implements Effect.
func (Prepare) String() string { return "prepare" }

// String implements Effect.
func (e PropagateJob) String() string { return "pass the job to " + names(e.Children) }

// String implements Effect.
func (e Interrupt) String() string { return "interrupt " + names(e.Children) }

// String implements Effect.
func (Export) String() string { return "export" }

// String implements Effect.
func (e Notify) String() string { return "request a job of " + strings.Join(e.Successors, ", ") }

// String implements Effect.
func (e DeleteChildren) String() string { return "delete " + names(e.Children) }

// String implements Effect.
func (e Tell) String() string { return "notify " + names(e.Children) + " of the deletion" }

// String implements Effect.
func (Relabel) String() string { return "restore the label" }

// String implements Effect.
func (Restore) String() string { return "restore what was deleted or marred" }

// String implements Effect.
func (CleanUp) String() string { return "clean up" }

// String implements Effect.
func (RemoveFinalizer) String() string { return "remove the finalizer" }

// String implements Effect.
func (Observe) String() string { return "record the flow" }

// String implements Effect.
func (e Ask) String() string { return "request " + string(e.Operation) + " of " + names(e.Children) }

// String implements Effect.
func (e Convert) String() string {
	return "change the flow of " + names(e.Children) + " to " + string(e.Flow)
}

// String implements Effect.
func (e Adopt) String() string { return "restore the owner of " + names(e.Children) }

// String implements Effect.
func (TellOfUpdate) String() string { return "notify the objects below of the update" }

// String implements Effect.
func (LeaveFlow) String() string { return "leave the continuous flow" }

// String implements Effect.
func (EnterFlow) String() string { return "enter the continuous flow" }

func (Announce) effect()        {}
func (Grant) effect()           {}
func (AddFinalizer) effect()    {}
func (DropOperation) effect()   {}
func (Fail) effect()            {}
func (Prepare) effect()         {}
func (PropagateJob) effect()    {}
func (Interrupt) effect()       {}
func (Export) effect()          {}
func (Notify) effect()          {}
func (DeleteChildren) effect()  {}
func (Tell) effect()            {}
func (Relabel) effect()         {}
func (Restore) effect()         {}
func (CleanUp) effect()         {}
func (RemoveFinalizer) effect() {}
func (Observe) effect()         {}
func (Ask) effect()             {}
func (Convert) effect()         {}
func (TellOfUpdate) effect()    {}
func (Adopt) effect()           {}
func (LeaveFlow) effect()       {}
func (EnterFlow) effect()       {}

// AfterMetadata returns the facts after an effect on the metadata of the installation itself. Other effects do not change them.
func (o Observed) AfterMetadata(effect Effect) Observed {
	switch effect.(type) {
	case Grant:
		o.Request, o.Finalizer = run.Request{GrantedID: o.NewJobID}, o.Finalizer || !o.Deleting
	case AddFinalizer:
		o.Finalizer = true
	case DropOperation:
		o.Interrupt, o.StrayRequest, o.Operation = false, false, ""
	case Relabel:
		o.LabelLost = false
	case RemoveFinalizer:
		o.Finalizer = false
	case Announce, Fail, Prepare, PropagateJob, Interrupt, Export, Notify, DeleteChildren, Tell, Restore, CleanUp, Observe, Ask, TellOfUpdate,
		Convert, Adopt, LeaveFlow, EnterFlow:
	}
	return o
}

// maxNames limits how many children a message names.
const maxNames = 5

func names(children []Child) string {
	var result []string
	for i, c := range children {
		if i == maxNames {
			result = append(result, "others")
			break
		}
		result = append(result, c.String())
	}
	return strings.Join(result, ", ")
}
