// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"strings"

	"espalier.dev/internal/failure"
)

const (
	operation         = "OrderDependencies"
	reasonInvalid     = "InvalidDependencies"
	reasonCycle       = "CyclicDependencies"
	codeConfiguration = "ERR_CONFIGURATION_PROBLEM"
	codeCycle         = "ERR_CYCLIC_DEPENDENCIES"
)

// Missing is a dependency on a node that does not exist.
type Missing struct {
	Node, Dependency string
}

// InvalidError says why a graph could not be built.
type InvalidError struct {
	// Unnamed are the positions of nodes without a name.
	Unnamed []int
	// Duplicates are names that occur more than once.
	Duplicates []string
	// Unknown are dependencies on names that do not exist.
	Unknown []Missing
}

// Error names every offending node.
func (e *InvalidError) Error() string {
	var problems []string
	for _, position := range e.Unnamed {
		problems = append(problems, fmt.Sprintf("entry %d has no name", position+1))
	}
	for _, name := range e.Duplicates {
		problems = append(problems, fmt.Sprintf("%q occurs more than once", name))
	}
	for _, missing := range e.Unknown {
		problems = append(problems, fmt.Sprintf("%q depends on %q, which does not exist", missing.Node, missing.Dependency))
	}
	return strings.Join(problems, "; ")
}

// CycleError means that nodes depend on each other in a cycle.
type CycleError struct {
	Cycle Cycle
}

// Error names every node of the cycle, in order.
func (e *CycleError) Error() string {
	if len(e.Cycle) == 1 {
		return fmt.Sprintf("%s depends on itself", e.Cycle[0])
	}
	return fmt.Sprintf("dependency cycle: %s -> %s (each depends on the next)", strings.Join(e.Cycle, " -> "), e.Cycle[0])
}

// Err returns the cycle as a terminal CycleError, and nil if there is none.
func (c Cycle) Err() error {
	if c == nil {
		return nil
	}
	return failure.NewTerminal(failure.Details{Operation: operation, Reason: reasonCycle, Codes: []string{codeCycle}}, &CycleError{Cycle: c})
}

// orNil returns the problems as a terminal error, and nil if there are none.
func (e *InvalidError) orNil() error {
	if len(e.Unnamed)+len(e.Duplicates)+len(e.Unknown) == 0 {
		return nil
	}
	return failure.NewTerminal(failure.Details{Operation: operation, Reason: reasonInvalid, Codes: []string{codeConfiguration}}, e)
}
