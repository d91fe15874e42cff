// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import "espalier.dev/internal/template"

// cell holds a value, or the way to evaluate it. A cell is evaluated at most once.
type cell struct {
	value value
	flags flags
	// undefined reports whether the value counts as missing.
	undefined bool
	// resolver is the environment of the names behind _, in the cell that _ stands for.
	resolver *env

	state cellState
	err   error
	// env is the environment of the evaluation, and evaluate performs it.
	env      *env
	evaluate func(*env) (result, error)
}

type cellState uint8

const (
	evaluated cellState = iota
	pending
	running
	failed
)

// result is the result of the evaluation of a node.
type result struct {
	value     value
	flags     flags
	undefined bool
}

// done returns a cell with a value.
func done(v value) *cell { return &cell{value: v} }

// later returns a cell that is evaluated on demand.
func later(e *env, evaluate func(*env) (result, error)) *cell {
	return &cell{state: pending, env: e, evaluate: evaluate}
}

// present reports whether the cell is defined. A cell that is being evaluated counts as defined.
func (c *cell) present() (bool, error) {
	if c.state == running {
		return true, nil
	}
	err := c.force()
	return err == nil && !c.undefined, err
}

func (c *cell) isUndefined() bool { return c.undefined }

// force evaluates the cell. Values can only nest endlessly by referring to each other in a cycle, which is an error here.
func (c *cell) force() error {
	switch c.state {
	case evaluated:
		return nil
	case failed:
		return c.err
	case running:
		return c.env.fatal(template.Problemf("the value refers to itself"))
	}
	c.state = running
	r, err := c.env.run.deepen(c.env, c.evaluate)
	if err != nil {
		c.state, c.err = failed, c.env.settle(err)
		return c.err
	}
	c.state, c.value, c.undefined = evaluated, r.value, r.undefined
	c.flags |= r.flags
	c.env, c.evaluate = nil, nil
	return nil
}
