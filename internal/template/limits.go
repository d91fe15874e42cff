// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

// Limits bound the resources of one rendering. A zero field means the default.
type Limits struct {
	// Source is the maximum length of a template in bytes.
	Source int
	// Steps is the maximum number of steps.
	Steps int64
	// Memory is the maximum number of bytes that functions may build in total.
	Memory int64
	// Output is the maximum length of the output in bytes. A tree is measured by the length of its JSON form.
	Output int
	// Depth is the maximum depth of nested calls: templates that call templates, lambdas that call lambdas, values that
	// refer to values.
	Depth int
	// Nesting is the maximum depth of the structure of a value or of a template.
	Nesting int
}

// The defaults. Objects of the API have at most about 1.5 MiB, so normal templates do not reach the first and the third.
// The steps take a second or two, and are enough for lists of ninety thousand texts or thirty thousand small maps.
const (
	DefaultSource  = 1 << 20
	DefaultSteps   = 2_000_000
	DefaultMemory  = 64 << 20
	DefaultOutput  = 4 << 20
	DefaultDepth   = 1000
	DefaultNesting = 200
)

// WithDefaults returns the limits with zeros replaced by the defaults.
func (l Limits) WithDefaults() Limits {
	return Limits{
		Source:  orDefault(l.Source, DefaultSource),
		Steps:   orDefault(l.Steps, DefaultSteps),
		Memory:  orDefault(l.Memory, DefaultMemory),
		Output:  orDefault(l.Output, DefaultOutput),
		Depth:   orDefault(l.Depth, DefaultDepth),
		Nesting: orDefault(l.Nesting, DefaultNesting),
	}
}

func orDefault[N int | int64](n, otherwise N) N {
	if n <= 0 {
		return otherwise
	}
	return n
}
