// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import "fmt"

// Effect is something that a decision wants to have done. The types of this file are all there are.
type Effect interface {
	fmt.Stringer
	effect()
}

type (
	// AddFinalizer keeps the item until its deployer lets it go. Items that executions create have it from the start.
	AddFinalizer struct{}
	// Intend asks the deployer what it is going to do.
	Intend struct{}
	// Deploy, Delete and Repair call the deployer.
	Deploy struct{}
	// Delete has the deployer remove what it has deployed.
	Delete struct{}
	// Repair has the deployer look after what it has deployed.
	Repair struct{}
	// StoreExports puts the exports of the deployer's answer into the item's Secret.
	StoreExports struct{}
	// DropExports deletes that Secret.
	DropExports struct{}
	// RemoveFinalizer lets the item go.
	RemoveFinalizer struct{}
	// DropOperation removes the annotation that has asked for work, in the continuous flow.
	DropOperation struct{}
	// Fail does nothing but return the error.
	Fail struct {
		While string
		Err   error
	}
)

func (AddFinalizer) effect()    {}
func (Intend) effect()          {}
func (Deploy) effect()          {}
func (Delete) effect()          {}
func (Repair) effect()          {}
func (StoreExports) effect()    {}
func (DropExports) effect()     {}
func (RemoveFinalizer) effect() {}
func (DropOperation) effect()   {}
func (Fail) effect()            {}

// String names the effect in errors.
func (AddFinalizer) String() string { return "add the finalizer" }

// String names the effect in errors.
func (Intend) String() string { return "prepare" }

// String names the effect in errors.
func (Deploy) String() string { return "deploy" }

// String names the effect in errors.
func (Delete) String() string { return "delete" }

// String names the effect in errors.
func (Repair) String() string { return "repair" }

// String names the effect in errors.
func (StoreExports) String() string { return "store the exports" }

// String names the effect in errors.
func (DropExports) String() string { return "drop the exports" }

// String names the effect in errors.
func (RemoveFinalizer) String() string { return "remove the finalizer" }

// String names the effect in errors.
func (DropOperation) String() string { return "remove the operation annotation" }

// String names what failed.
func (f Fail) String() string { return f.While }
