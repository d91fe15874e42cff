// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
)

// Effect is something to be done. Each can be repeated without harm.
type Effect interface {
	fmt.Stringer
	effect()
}

// Decision is what to do next about an execution.
type Decision = decision.Of[lsv1alpha1.Phase, Effect]

type (
	// AddFinalizer puts the finalizer on the execution.
	AddFinalizer struct{}
	// RemoveFinalizer lets the execution go.
	RemoveFinalizer struct{}
	// AcceptInterrupt replaces the request to interrupt by a note of the job that it has cut short.
	AcceptInterrupt struct{ JobID string }
	// DropInterrupt removes a request that there is nothing to do about.
	DropInterrupt struct{}
	// InterruptItems gives each item the status of an interrupted one, unless it has changed meanwhile.
	InterruptItems struct{ Items []Item }
	// CreateItems creates the objects of items, if they do not exist.
	CreateItems struct{ Items []Item }
	// UpdateItems changes the objects of items, unless they have changed meanwhile.
	UpdateItems struct{ Items []Item }
	// KeepDeployed passes on to items that what they deployed stays when they are deleted.
	KeepDeployed struct{ Items []Item }
	// TellItems tells items that the tree is to be deleted.
	TellItems struct{ Items []Item }
	// DeleteItems asks the objects of items to go.
	DeleteItems struct{ Items []Item }
	// TriggerItems passes the job to items, unless they have changed meanwhile.
	TriggerItems struct {
		JobID string
		Items []Item
	}
	// ConvertItems changes the flow of items, and has their status say that this is nothing to deploy.
	ConvertItems struct {
		Flow  lsv1alpha1.Flow
		Items []Item
	}
	// AskItems sets the operation annotation of items, in the continuous flow.
	AskItems struct {
		Operation lsv1alpha1.Operation
		Items     []Item
	}
	// DropOperation removes the operation annotation of the execution, in the continuous flow.
	DropOperation struct{}
	// NoteItems has it remembered that items are as the spec wants them. The status write does it.
	NoteItems struct{ Items []Item }
	// RedoItems forgets that items are as the spec wants them. The status write does it.
	RedoItems struct{ Items []Item }
	// LeaveFlow makes the execution one of another flow. The status write does it.
	LeaveFlow struct{}
	// Observe has the status speak of the present generation, in which nothing but the flow is another one. The status write
	// does it.
	Observe struct{}
	// WriteExport stores the exports.
	WriteExport struct {
		Object *lsv1alpha1.DataObject
		// Update says that the object exists.
		Update bool
	}
	// RemoveExport deletes the object with the exports.
	RemoveExport struct{ Name string }
	// Refuse ends the job with an error.
	Refuse struct {
		// Doing is what cannot be done.
		Doing string
		Err   error
	}
)

func (AddFinalizer) effect()    {}
func (RemoveFinalizer) effect() {}
func (AcceptInterrupt) effect() {}
func (DropInterrupt) effect()   {}
func (InterruptItems) effect()  {}
func (CreateItems) effect()     {}
func (UpdateItems) effect()     {}
func (KeepDeployed) effect()    {}
func (TellItems) effect()       {}
func (DeleteItems) effect()     {}
func (TriggerItems) effect()    {}
func (ConvertItems) effect()    {}
func (AskItems) effect()        {}
func (DropOperation) effect()   {}
func (NoteItems) effect()       {}
func (RedoItems) effect()       {}
func (LeaveFlow) effect()       {}
func (Observe) effect()         {}
func (WriteExport) effect()     {}
func (RemoveExport) effect()    {}
func (Refuse) effect()          {}

// The words in which errors and people read of effects.
func (AddFinalizer) String() string     { return "add the finalizer" }
func (RemoveFinalizer) String() string  { return "remove the finalizer" }
func (AcceptInterrupt) String() string  { return "accept the interrupt" }
func (DropInterrupt) String() string    { return "drop the interrupt" }
func (e InterruptItems) String() string { return "interrupt deploy items " + list(e.Items) }
func (e CreateItems) String() string    { return "create deploy items " + list(e.Items) }
func (e UpdateItems) String() string    { return "update deploy items " + list(e.Items) }
func (e KeepDeployed) String() string {
	return "pass on to deploy items " + list(e.Items) + " not to uninstall"
}
func (e TellItems) String() string {
	return "tell deploy items " + list(e.Items) + " of the deletion"
}
func (e DeleteItems) String() string  { return "delete deploy items " + list(e.Items) }
func (e TriggerItems) String() string { return "start deploy items " + list(e.Items) }
func (e ConvertItems) String() string { return "change the flow of deploy items " + list(e.Items) }
func (e AskItems) String() string {
	return "ask deploy items " + list(e.Items) + " to " + string(e.Operation)
}
func (DropOperation) String() string  { return "remove the operation annotation" }
func (e NoteItems) String() string    { return "note deploy items " + list(e.Items) }
func (e RedoItems) String() string    { return "do deploy items " + list(e.Items) + " again" }
func (LeaveFlow) String() string      { return "leave the continuous flow" }
func (Observe) String() string        { return "take note of the flow" }
func (WriteExport) String() string    { return "store the exports" }
func (e RemoveExport) String() string { return "delete DataObject " + e.Name }
func (e Refuse) String() string       { return e.Doing }
