// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

import "fmt"

// LimitError is the error of a rendering that reached a limit. Nothing in a template can catch it.
type LimitError struct {
	// Limit is the name of the field in Limits.
	Limit string
	// Max is the value of the limit.
	Max int64
	// Hint describes the usual cause.
	Hint string
}

// Error names the limit and the usual cause.
func (e *LimitError) Error() string {
	return fmt.Sprintf("limit reached: %s", fmt.Sprintf(e.Hint, e.Max))
}

// The hints. Each has one verb for the limit.
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

// Meter counts the resources that one rendering uses. Once a limit is reached, every further charge fails with the same
// error, so that an engine that swallows an error still ends.
//
// A meter belongs to one rendering; it is not safe for concurrent use.
type Meter struct {
	limits  Limits
	steps   int64
	memory  int64
	depth   int
	reached error
}

// NewMeter returns a meter at zero.
func NewMeter(limits Limits) *Meter {
	return &Meter{limits: limits.WithDefaults()}
}

// Limits returns the limits of the meter.
func (m *Meter) Limits() Limits { return m.limits }

// Used returns the steps and bytes counted.
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

// bytesPerStep is the number of bytes that an ordinary function processes per step.
const bytesPerStep = 256

// Read charges the steps for reading a number of bytes once.
func (m *Meter) Read(bytes int64) error {
	return m.Step(bytes / bytesPerStep)
}

// Build charges for bytes that a function is about to build, and for the steps that this takes.
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

// Leave ends the level of the last Enter.
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
