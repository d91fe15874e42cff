// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package mutants

import "slices"

// Mutant is the product with one sentence of the specification broken.
type Mutant struct {
	// ID is the ID of the requirement.
	ID string
	// Breaks says what goes wrong.
	Breaks string
	// File is the file to edit, relative to the root of the module; Old occurs in it once, and is replaced by New.
	File, Old, New string
}

// All returns the mutants in the order of their IDs.
func All() []Mutant { return slices.Concat(continuous, jobs, pipelines) }
