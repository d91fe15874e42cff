// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution

import (
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/decision"
)

// Effect is an action of an execution. Each can be repeated without harm.
type Effect interface {
	fmt.Stringer
	effect()
}

// Decision is what to do next about an execution.
type Decision = decision.Of[lsv1alpha1.Phase, Effect]

type (
	// AddFinalizer puts the finalizer on the execution.
	AddFinalizer struct{}
	// RemoveFinalizer removes the finalizer from the execution.
	RemoveFinalizer struct{}
	// AcceptInterrupt replaces the request to interrupt with a record of the job that it has interrupted.
	AcceptInterrupt struct{ JobID string }
	// DropInterrupt removes a request that requires no action.
	DropInterrupt struct{}
	// InterruptItems sets the status of each item to interrupted, unless the item has changed meanwhile.
	InterruptItems struct{ Items []Item }
	// CreateItems creates the objects of items, if they do not exist.
	CreateItems struct{ Items []Item }
	// UpdateItems changes the objects of items, unless they have changed meanwhile.
	UpdateItems struct{ Items []Item }
	// KeepDeployed marks items so that what they deployed stays when they are deleted.
	KeepDeployed struct{ Items []Item }
	// TellItems informs items that the tree is being deleted.
	TellItems struct{ Items []Item }
	// DeleteItems deletes the objects of items.
	DeleteItems struct{ Items []Item }
	// TriggerItems passes the job to items, unless they have changed meanwhile.
	TriggerItems struct {
		JobID string
		Items []Item
	}
	// ConvertItems changes the flow of items, and records in their status that this requires no deployment.
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
	// NoteItems records that items match the spec. The status write does it.
	NoteItems struct{ Items []Item }
	// RedoItems removes the record that items match the spec. The status write does it.
	RedoItems struct{ Items []Item }
	// LeaveFlow moves the execution to another flow. The status write does it.
	LeaveFlow struct{}
	// Observe makes the status refer to the current generation, in which only the flow has changed. The status write does it.
	Observe struct{}
	// WriteExport stores the exports.
	WriteExport struct {
		Object *lsv1alpha1.DataObject
		// Update means that the object exists.
		Update bool
	}
	// RemoveExport deletes the object with the exports.
	RemoveExport struct{ Name string }
	// Refuse ends the job with an error.
	Refuse struct {
		// Doing is what was attempted.
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

// The String methods describe effects in errors and status messages.
func (AddFinalizer) String() string     { return "add the finalizer" }
func (RemoveFinalizer) String() string  { return "remove the finalizer" }
func (AcceptInterrupt) String() string  { return "accept the interrupt" }
func (DropInterrupt) String() string    { return "drop the interrupt" }
func (e InterruptItems) String() string { return "interrupt deploy items " + list(e.Items) }
func (e CreateItems) String() string    { return "create deploy items " + list(e.Items) }
func (e UpdateItems) String() string    { return "update deploy items " + list(e.Items) }
func (e KeepDeployed) String() string {
	return "mark deploy items " + list(e.Items) + " to skip uninstalling"
}
func (e TellItems) String() string {
	return "notify deploy items " + list(e.Items) + " of the deletion"
}
func (e DeleteItems) String() string  { return "delete deploy items " + list(e.Items) }
func (e TriggerItems) String() string { return "start deploy items " + list(e.Items) }
func (e ConvertItems) String() string { return "change the flow of deploy items " + list(e.Items) }
func (e AskItems) String() string {
	return "request " + string(e.Operation) + " of deploy items " + list(e.Items)
}
func (DropOperation) String() string  { return "remove the operation annotation" }
func (e NoteItems) String() string    { return "record deploy items " + list(e.Items) }
func (e RedoItems) String() string    { return "redeploy deploy items " + list(e.Items) }
func (LeaveFlow) String() string      { return "leave the continuous flow" }
func (Observe) String() string        { return "record the flow" }
func (WriteExport) String() string    { return "store the exports" }
func (e RemoveExport) String() string { return "delete DataObject " + e.Name }
func (e Refuse) String() string       { return e.Doing }
