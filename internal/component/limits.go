// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

// Limits bound the cost of one descriptor, including its nested ones.
type Limits struct {
	// Bytes is the size of the document.
	Bytes int
	// Depth is how deeply objects and lists may be nested.
	Depth int
	// Values is how many values the document may contain, counting objects, lists and everything in them.
	Values int
	// Elements is how many resources, sources or references a descriptor may have, each.
	Elements int
}

// DefaultLimits leave room for descriptors many times as large as those in use.
var DefaultLimits = Limits{Bytes: 2 << 20, Depth: 128, Values: 200_000, Elements: 10_000}

// ClosureLimits bound the cost of a component's closure.
type ClosureLimits struct {
	// Components is how many components there may be.
	Components int
	// Depth is how many references may lead from the root to a component, along the path on which it is found first.
	Depth int
}

// DefaultClosureLimits leave room for products many times as large as those in use.
var DefaultClosureLimits = ClosureLimits{Components: 1000, Depth: 64}
