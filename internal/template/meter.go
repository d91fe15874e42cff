// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

import "fmt"

// LimitError says which limit a rendering has reached. Nothing in a template can catch it.
type LimitError struct {
	// Limit is the name of the field in Limits.
	Limit string
	// Max is what the limit allows.
	Max int64
	// Hint says what usually leads there.
	Hint string
}

// Error says which limit was reached and how that usually happens.
func (e *LimitError) Error() string {
	return fmt.Sprintf("limit reached: %s", fmt.Sprintf(e.Hint, e.Max))
}

// The hints. Each has one place for the limit.
const (
	hintSource  = "the template is longer than %d bytes"
	hintSteps   = "the template takes more than %d steps; a loop or a recursion is endless or too large"
	hintMemory  = "the functions of the template build more than %d bytes"
	hintOutput  = "the output is longer than %d bytes"
	hintDepth   = "calls nest deeper than %d levels; a recursion is endless"
	hintNesting = "the structure nests deeper than %d levels"
)

func limitError(limit string, max int64, hint string) error {
	return &LimitError{Limit: limit, Max: max, Hint: hint}
}

// Meter counts what one rendering uses. Once a limit is reached every further charge fails with the same error, so that
// an engine that swallows an error still comes to an end.
//
// A meter belongs to one rendering; it is not safe for concurrent use.
type Meter struct {
	limits  Limits
	steps   int64
	memory  int64
	depth   int
	reached error
}

// NewMeter returns a meter that has counted nothing yet.
func NewMeter(limits Limits) *Meter {
	return &Meter{limits: limits.WithDefaults()}
}

// Limits returns what the meter counts against.
func (m *Meter) Limits() Limits { return m.limits }

// Used returns the steps and the bytes that were counted.
func (m *Meter) Used() (steps, memory int64) { return m.steps, m.memory }

// Reached returns the limit that was reached, or nil.
func (m *Meter) Reached() error { return m.reached }

// Step counts n steps.
func (m *Meter) Step(n int64) error {
	if m.reached != nil {
		return m.reached
	}
	if n > m.limits.Steps-m.steps {
		return m.fail("Steps", m.limits.Steps, hintSteps)
	}
	m.steps += n
	return nil
}

// bytesPerStep is how many bytes an ordinary function handles in the time of a step.
const bytesPerStep = 256

// Read counts the steps that it takes to look at so many bytes once.
func (m *Meter) Read(bytes int64) error {
	return m.Step(bytes / bytesPerStep)
}

// Build counts bytes that a function is about to build, and the steps that this takes.
func (m *Meter) Build(bytes int64) error {
	if m.reached != nil {
		return m.reached
	}
	if bytes > m.limits.Memory-m.memory {
		return m.fail("Memory", m.limits.Memory, hintMemory)
	}
	m.memory += bytes
	return m.Step(bytes / bytesPerStep)
}

// Enter counts one level of nested calls. Every Enter that succeeds is followed by a Leave.
func (m *Meter) Enter() error {
	if m.reached != nil {
		return m.reached
	}
	if m.depth >= m.limits.Depth {
		return m.fail("Depth", int64(m.limits.Depth), hintDepth)
	}
	m.depth++
	return nil
}

// Leave ends the level that Enter has begun.
func (m *Meter) Leave() { m.depth-- }

// Source checks the length of a template.
func (m *Meter) Source(bytes int) error {
	if bytes > m.limits.Source {
		return m.fail("Source", int64(m.limits.Source), hintSource)
	}
	return m.Read(int64(bytes))
}

// Output checks the length of the output so far.
func (m *Meter) Output(bytes int) error {
	if bytes > m.limits.Output {
		return m.fail("Output", int64(m.limits.Output), hintOutput)
	}
	return m.reached
}

// Nested checks the depth of a structure.
func (m *Meter) Nested(levels int) error {
	if levels > m.limits.Nesting {
		return m.fail("Nesting", int64(m.limits.Nesting), hintNesting)
	}
	return m.reached
}

func (m *Meter) fail(limit string, max int64, hint string) error {
	if m.reached == nil {
		m.reached = limitError(limit, max, hint)
	}
	return m.reached
}
