// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"slices"
	"strings"
)

// Calculation is an expression that divides or compares a number of the bindings. Landscaper passes all of them to the original
// engine as floats, so that the result differs there.
type Calculation struct {
	// Path leads to the node of the template.
	Path, Expression string
	Effect           Effect
}

// Effect is what a calculation means in Landscaper.
type Effect string

// The effects. The original engine compares no floats: on the left, one makes a comparison false; on the right, it can also be
// an error, which depends on the value on the left.
const (
	KeepsFraction Effect = "the division keeps the fraction"
	AlwaysFalse   Effect = "the comparison is always false"
	AlwaysTrue    Effect = "the comparison is always true"
	NeverTrue     Effect = "the comparison is false or an error"
	NeverFalse    Effect = "the comparison is true or an error"
	Fails         Effect = "the expression is an error"
)

// Calculations returns the expressions of the template that divide or compare a number of the bindings. The function reports
// whether the value at a path of the bindings may be a number. An index in brackets is a step, with nothing in them if it is
// computed.
func (t *Template) Calculations(isNumber func(path []string) bool) []Calculation {
	c := &calculations{isNumber: isNumber}
	c.node(t.root, nil)
	return c.found
}

type calculations struct {
	isNumber func(path []string) bool
	found    []Calculation
}

// inner are names that hide those of the bindings.
type inner struct {
	names []string
	next  *inner
}

func (i *inner) hides(name string) bool {
	return i != nil && (slices.Contains(i.names, name) || i.next.hides(name))
}

func (c *calculations) node(s *source, hidden *inner) {
	if s == nil {
		return
	}
	if s.kind == expressionKind {
		c.expression(s, s.expr, hidden)
	}
	if s.kind == mappingKind {
		hidden = &inner{s.names, hidden}
	}
	c.node(s.inserted, hidden)
	for _, name := range s.names {
		c.node(s.entries[name], hidden)
	}
	for _, item := range s.items {
		c.node(item, hidden)
	}
}

// expression examines an expression and all expressions inside it.
func (c *calculations) expression(s *source, x expr, hidden *inner) {
	switch x := x.(type) {
	case nil:
		return
	case *operation:
		if effect := c.effect(x, hidden); effect != "" {
			from, to := x.where()
			c.found = append(c.found, Calculation{Path: s.place.Path, Expression: strings.TrimSpace(s.text[from:to]), Effect: effect})
		}
	case *function:
		hidden = &inner{parameterNames(x), hidden}
	case *scoped:
		hidden = &inner{x.names.literalKeys(), hidden}
	}
	for _, part := range partsOf(x) {
		c.expression(s, part, hidden)
	}
}

func parameterNames(f *function) []string {
	var names []string
	for _, p := range f.parameters {
		names = append(names, p.name)
	}
	return names
}

// literalKeys returns the keys of a map written in an expression, as far as they are written as well.
func (m *mapping) literalKeys() []string {
	var keys []string
	for _, a := range m.assignments {
		if l, ok := a.key.(*literal); ok {
			if key, ok := l.value.(string); ok {
				keys = append(keys, key)
			}
		}
	}
	return keys
}

// effect returns what an operation on a number of the bindings means in Landscaper; it is empty if that is the same, or if there
// is no such number.
func (c *calculations) effect(o *operation, hidden *inner) Effect {
	left, right := c.number(o.left, hidden), c.number(o.right, hidden)
	switch o.operator {
	case "/":
		return quotient(o, left, right)
	case "==", "!=", "<", "<=", ">", ">=":
		return comparison(o, left, right)
	}
	return ""
}

// quotient is the effect of a division of, or by, a number.
func quotient(o *operation, left, right bool) Effect {
	dividend, divisor := literalType(o.left), literalType(o.right)
	switch {
	case !left && !right, dividend == "float", divisor == "float":
		return ""
	case dividend == "string":
		return Fails
	}
	return KeepsFraction
}

// comparison is the effect of a comparison with a number.
func comparison(o *operation, left, right bool) Effect {
	equality := o.operator == "==" || o.operator == "!="
	first, second := literalType(o.left), literalType(o.right)
	switch {
	case !left && !right, equality && (first == "bool" || second == "bool" || second == "nil"):
		return ""
	case left, first == "float", equality && first == "int":
		return negated(o, AlwaysFalse, AlwaysTrue)
	case first != "":
		return Fails
	}
	return negated(o, NeverTrue, NeverFalse)
}

// negated selects the effect for an operator.
func negated(o *operation, effect, opposite Effect) Effect {
	if o.operator == "!=" {
		return opposite
	}
	return effect
}

// literalType returns the type of a literal; it is empty for all other expressions.
func literalType(x expr) string {
	if l, ok := x.(*literal); ok {
		return typeOf(l.value)
	}
	return ""
}

// number reports whether the value of an expression may be a number of the bindings, or calculated from one.
func (c *calculations) number(x expr, hidden *inner) bool {
	switch x := x.(type) {
	case *grouped:
		return c.number(x.inner, hidden)
	case *prefer:
		return c.number(x.inner, hidden)
	case *conditional:
		return c.number(x.yes, hidden) || c.number(x.no, hidden)
	case *operation:
		return slices.Contains([]string{"+", "-", "*", "/", "||", "//"}, x.operator) &&
			literalType(x.left) != "string" && (c.number(x.left, hidden) || c.number(x.right, hidden))
	}
	path := pathTo(x, hidden)
	return len(path) > 0 && c.isNumber(path)
}

// pathTo returns the path of the bindings that an expression follows, or nil.
func pathTo(x expr, hidden *inner) []string {
	switch x := x.(type) {
	case *reference:
		if x.path[0] == rootName {
			return x.path[1:]
		}
		if !hidden.hides(x.path[0]) {
			return x.path
		}
	case *grouped:
		return pathTo(x.inner, hidden)
	case *qualified:
		return behind(pathTo(x.base, hidden), x.path...)
	case *dynamic:
		return behind(pathTo(x.base, hidden), stepsOf(x.index)...)
	}
	return nil
}

// behind appends steps to a path, if there is one.
func behind(path []string, steps ...string) []string {
	if path == nil {
		return nil
	}
	return slices.Concat(path, steps)
}

// stepsOf returns the steps of a computed index: names that are written, and otherwise brackets.
func stepsOf(index expr) []string {
	switch x := index.(type) {
	case *listing:
		var steps []string
		for _, item := range x.items {
			steps = append(steps, stepsOf(item.expr)...)
		}
		return steps
	case *literal:
		if name, ok := x.value.(string); ok {
			return []string{name}
		}
	}
	return []string{"[]"}
}
