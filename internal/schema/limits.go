// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema

// Limits bound the costs of schemas and data.
type Limits struct {
	// DocumentBytes is the maximum size of one schema; Bytes that of a schema with everything that it refers to.
	DocumentBytes, Bytes int
	// Documents is the maximum number of schemas that one may refer to, including itself.
	Documents int
	// Nodes is the maximum number of objects and lists in all of them together, Depth their maximum nesting.
	Nodes, Depth int
	// ReferenceHops is how often a reference may lead directly to another reference.
	ReferenceHops int
	// PatternBytes is the maximum length of a regular expression.
	PatternBytes int
	// Steps is the maximum cost of a validation, plus StepsPerValue for each object, list or other value in the data. A step
	// is about one schema applied to one value.
	Steps, StepsPerValue int
	// Problems is the maximum number of problems in an error.
	Problems int
}

// DefaultLimits are far above what people write by hand, and low enough for a hostile schema to fail within a second.
func DefaultLimits() Limits {
	return Limits{
		DocumentBytes: 512 << 10,
		Bytes:         1 << 20,
		Documents:     100,
		Nodes:         5000,
		Depth:         100,
		ReferenceHops: 32,
		PatternBytes:  2000,
		Steps:         200_000,
		StepsPerValue: 50,
		Problems:      10,
	}
}
