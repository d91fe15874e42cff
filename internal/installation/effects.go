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
)

// Decision is what an installation does next.
type Decision = decision.Of[lsv1alpha1.Phase, Effect]

// Effect is something that an installation has done to the world, in either flow. The types of this file are all there are.
type Effect interface {
	fmt.Stringer
	effect()
}

type (
	// Announce has the status say that a job was requested. It is done by the status write alone.
	Announce struct{}
	// Grant replaces the request for a job by a grant, and adds the finalizer.
	Grant struct{}
	// AddFinalizer adds the finalizer.
	AddFinalizer struct{}
	// DropOperation removes the operation annotation.
	DropOperation struct{}
	// Fail reports an error that was found while observing, in the words of the step that it keeps from being done.
	Fail struct {
		Step string
		Err  error
	}
	// Prepare carries out the plan: it writes the objects of the own context and all children, and deletes the children that are not wanted.
	Prepare struct{ Plan *Plan }
	// PropagateJob makes the job the current one of children.
	PropagateJob struct{ Children []Child }
	// Interrupt passes the interrupt on to children.
	Interrupt struct{ Children []Child }
	// Export writes the exports, and removes what earlier jobs have left in the own context.
	Export struct{ Plan *ExportPlan }
	// Notify asks successors that are roots for a job.
	Notify struct{ Successors []string }
	// DeleteChildren deletes children, and tells them first whether to leave alone what they have installed.
	DeleteChildren struct{ Children []Child }
	// Tell tells children that have a job to do that the tree is to be deleted, and in which manner.
	Tell struct{ Children []Child }
	// Relabel gives a nested installation the label back that names its parent.
	Relabel struct{ Parent string }
	// Restore writes objects again that somebody has deleted, as the last job or update has planned them.
	Restore struct {
		Objects []dataflow.ObjectID
		Plan    *Plan
		Exports *ExportPlan
	}
	// CleanUp removes exports, the objects of the own context and the states of templates.
	CleanUp struct{}
	// RemoveFinalizer removes the finalizer.
	RemoveFinalizer struct{}
	// Observe has the status speak of the present generation, in which nothing but the flow is another one. The status write
	// does it.
	Observe struct{}
	// Ask sets the operation annotation of children, in the continuous flow.
	Ask struct {
		Operation lsv1alpha1.Operation
		Children  []Child
	}
	// TellOfUpdate asks children what AskedByUpdate says once it is its turn, in the continuous flow. It belongs to the update: one that not
	// all know of counts as not made.
	TellOfUpdate struct{}
	// Convert changes the flow of children, and nothing else about them.
	Convert struct {
		Flow     lsv1alpha1.Flow
		Children []Child
	}
	// LeaveFlow has the installation leave the continuous flow. The status write does it.
	LeaveFlow struct{}
	// EnterFlow has an installation that does nothing come back to the continuous flow. The status write does it.
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
func (e PropagateJob) String() string { return "hand the job to " + names(e.Children) }

// String implements Effect.
func (e Interrupt) String() string { return "interrupt " + names(e.Children) }

// String implements Effect.
func (Export) String() string { return "export" }

// String implements Effect.
func (e Notify) String() string { return "request a job of " + strings.Join(e.Successors, ", ") }

// String implements Effect.
func (e DeleteChildren) String() string { return "delete " + names(e.Children) }

// String implements Effect.
func (e Tell) String() string { return "tell " + names(e.Children) + " of the deletion" }

// String implements Effect.
func (Relabel) String() string { return "restore the label" }

// String implements Effect.
func (Restore) String() string { return "restore what was deleted" }

// String implements Effect.
func (CleanUp) String() string { return "clean up" }

// String implements Effect.
func (RemoveFinalizer) String() string { return "remove the finalizer" }

// String implements Effect.
func (Observe) String() string { return "take note of the flow" }

// String implements Effect.
func (e Ask) String() string { return "ask " + names(e.Children) + " to " + string(e.Operation) }

// String implements Effect.
func (e Convert) String() string {
	return "change the flow of " + names(e.Children) + " to " + string(e.Flow)
}

// String implements Effect.
func (TellOfUpdate) String() string { return "tell what is below of the update" }

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
func (LeaveFlow) effect()       {}
func (EnterFlow) effect()       {}

// maxNames is how many children a message names.
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
