// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package deployitem

import "fmt"

// Effect is an action that a decision requests. This file defines all effects.
type Effect interface {
	fmt.Stringer
	effect()
}

type (
	// AddFinalizer keeps the item until its deployer releases it. Items that executions create have it from the start.
	AddFinalizer struct{}
	// Intend gets from the deployer what it is about to do.
	Intend struct{}
	// Deploy calls the deployer to deploy.
	Deploy struct{}
	// Delete makes the deployer remove what it has deployed.
	Delete struct{}
	// Repair makes the deployer check and repair what it has deployed.
	Repair struct{}
	// StoreExports stores the exports from the deployer's answer in the item's Secret.
	StoreExports struct{}
	// DropExports deletes that Secret.
	DropExports struct{}
	// RemoveFinalizer releases the item.
	RemoveFinalizer struct{}
	// DropOperation removes the annotation that requested work, in the continuous flow.
	DropOperation struct{}
	// Fail only returns the error.
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
