// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"strconv"
	"strings"
)

// Names with a special meaning.
const (
	selfName = "_"   // the lambda or the template that is being evaluated, and the scope of its definition
	nodeName = "__"  // the scope of the node that is being evaluated
	rootName = "___" // the outermost scope
)

// reference is a path to a value.
type reference struct {
	span
	path []string
}

func (r *reference) eval(e *env, locally bool) (outcome, error) {
	c, rest, err := e.begin(r.path)
	if err != nil {
		return outcome{}, err
	}
	if c == nil {
		return outcome{}, problem("%s is not defined", strings.Join(r.path, "."))
	}
	reached, taken, err := e.walk(c, rest)
	if err != nil {
		return outcome{}, err
	}
	if reached == nil {
		return outcome{}, problem("%s is not defined", strings.Join(r.path[:len(r.path)-len(rest)+taken+1], "."))
	}
	return e.take(reached, locally)
}

// begin returns the cell at which a path starts, and the rest of the path.
func (e *env) begin(path []string) (*cell, []string, error) {
	switch first := path[0]; {
	case first == "":
		return beginIn(e.root(), path[1:])
	case first == selfName && len(path) > 1:
		self, err := e.find(selfName)
		if err != nil || self == nil || self.resolver == nil {
			return nil, nil, err
		}
		return self.resolver.begin(path[1:])
	}
	c, err := e.find(path[0])
	if c != nil || err != nil {
		return c, path[1:], err
	}
	switch path[0] {
	case rootName:
		return beginIn(e.outermost(), path[1:])
	case nodeName:
		return e.beginAtNode(path[1:])
	}
	return nil, nil, nil
}

// beginIn starts a path in given names. An empty path means the names themselves.
func beginIn(n names, path []string) (*cell, []string, error) {
	if n == nil {
		return nil, nil, nil
	}
	if len(path) == 0 {
		switch v := n.(type) {
		case *dict:
			return done(v), nil, nil
		case items:
			return done(v.list), nil, nil
		}
		return nil, nil, nil
	}
	if i, ok := n.(items); ok {
		return done(i.list), path, nil
	}
	c, err := lookup(n, path[0])
	return c, path[1:], err
}

// beginAtNode starts a path in the map that contains the expression, or in a map around it.
func (e *env) beginAtNode(path []string) (*cell, []string, error) {
	s := e.nodeScope()
	if len(path) == 0 {
		if s == nil {
			return nil, nil, nil
		}
		return beginIn(s.names, nil)
	}
	for ; s != nil; s = s.next {
		c, err := lookup(s.names, path[0])
		if c != nil || err != nil {
			return c, path[1:], err
		}
	}
	return nil, nil, nil
}

// items are the names of a document that is a list: it has none, but paths from the root lead into it.
type items struct{ list *list }

func (items) get(string) *cell { return nil }

// walk follows a path. If a step leads nowhere, it returns nil and the number of steps taken.
func (e *env) walk(c *cell, path []string) (reached *cell, taken int, err error) {
	for i, step := range path {
		next, err := e.run.stepInto(c, step)
		if err != nil || next == nil {
			return nil, i, err
		}
		c = next
	}
	return c, len(path), nil
}

// take returns the value of a cell.
func (e *env) take(c *cell, locally bool) (outcome, error) {
	if err := c.force(); err != nil {
		return outcome{}, err
	}
	out := just(c.value)
	if l, ok := c.value.(*list); ok {
		out.keyName = l.keyName
	}
	if locally {
		return out, nil
	}
	return out, e.run.resolve(c.value, 0)
}

// qualified is a path into the value of an expression.
type qualified struct {
	span
	base expr
	path []string
}

func (q *qualified) eval(e *env, locally bool) (outcome, error) {
	base, err := e.evaluate(q.base, locally)
	if err != nil {
		return outcome{}, err
	}
	reached, taken, err := e.walk(done(base.value), q.path)
	if err != nil {
		return outcome{}, err
	}
	if reached == nil {
		return outcome{}, problem("there is no %s in the value", strings.Join(q.path[:taken+1], "."))
	}
	return e.take(reached, locally)
}

// dynamic is a path into the value of an expression. Another expression computes the path.
type dynamic struct {
	span
	base, index expr
}

func (d *dynamic) eval(e *env, _ bool) (outcome, error) {
	base, err := e.evalLocally(d.base)
	if err != nil {
		return outcome{}, err
	}
	index, err := e.eval(d.index)
	if err != nil {
		return outcome{}, err
	}
	path, err := pathOf(index.value)
	if err != nil {
		return outcome{}, err
	}
	reached, _, err := e.walk(done(base.value), path)
	if err != nil {
		return outcome{}, err
	}
	if reached == nil {
		return outcome{}, problem("there is nothing at this index")
	}
	return e.take(reached, false)
}

// pathOf converts names and indexes to a path.
func pathOf(v value) ([]string, error) {
	l, ok := v.(*list)
	if !ok {
		l = newList([]value{v})
	}
	if len(l.cells) == 1 {
		if inner, ok := l.cells[0].value.(*list); ok {
			l = inner
		}
	}
	var path []string
	for _, c := range l.cells {
		switch step := c.value.(type) {
		case int64:
			path = append(path, "["+strconv.FormatInt(step, 10)+"]")
		case string:
			path = append(path, step)
		default:
			return nil, problem("an index must be an integer or the name of a field, not of type %s", typeOf(c.value))
		}
	}
	if len(path) == 0 {
		return nil, problem("there must be an index or the name of a field between the brackets")
	}
	return path, nil
}

// interval is the list of integers between two bounds, both included.
type interval struct {
	span
	from, to expr
}

func (i *interval) eval(e *env, _ bool) (outcome, error) {
	if i.from == nil || i.to == nil {
		return outcome{}, problem("a range needs both bounds")
	}
	from, to, err := i.bounds(e, 0)
	if err != nil {
		return outcome{}, err
	}
	step := int64(1)
	if from > to {
		step = -1
	}
	count := uint64(to-from) * uint64(step)
	if limit := e.run.meter.Limits().Memory; count >= uint64(limit) {
		return outcome{}, e.run.meter.Build(limit + 1)
	}
	if err := e.run.meter.Build(int64(count+1) * sizeOfCell); err != nil {
		return outcome{}, err
	}
	values := make([]value, count+1)
	for n := range values {
		values[n] = from + int64(n)*step
	}
	return just(newList(values)), nil
}

// bounds evaluates the bounds; a missing one means the end of a list of the given length.
func (i *interval) bounds(e *env, length int) (from, to int64, err error) {
	to = int64(length) - 1
	if i.from != nil {
		if from, err = e.integer(i.from); err != nil {
			return 0, 0, err
		}
		if from < 0 && i.to == nil {
			to = -1
		}
	}
	if i.to != nil {
		if to, err = e.integer(i.to); err != nil {
			return 0, 0, err
		}
		if to < 0 && i.from == nil {
			from = -int64(length)
		}
	}
	if i.from == nil && i.to == nil {
		return 0, 0, problem("a part of a list needs at least one bound")
	}
	return from, to, nil
}

// integer evaluates an expression that must be an integer.
func (e *env) integer(x expr) (int64, error) {
	out, err := e.eval(x)
	if err != nil {
		return 0, err
	}
	n, ok := out.value.(int64)
	if !ok {
		return 0, problem("an integer is required here, not a value of type %s", typeOf(out.value))
	}
	return n, nil
}

// slice is a part of a list.
type slice struct {
	span
	base   expr
	bounds *interval
}

func (s *slice) eval(e *env, locally bool) (outcome, error) {
	base, err := e.evaluate(s.base, locally)
	if err != nil {
		return outcome{}, err
	}
	l, ok := base.value.(*list)
	if !ok {
		return outcome{}, problem("only a list has parts, not a value of type %s", typeOf(base.value))
	}
	cells, err := l.items()
	if err != nil {
		return outcome{}, err
	}
	length := int64(len(cells))
	from, to, err := s.bounds.bounds(e, len(cells))
	if err != nil {
		return outcome{}, err
	}
	switch {
	case from > to:
		return outcome{&list{resolved: true}, base.info}, nil
	case from < 0 && to >= 0:
		return outcome{}, problem("the bounds of a part must be both negative or both not")
	case from < 0:
		from, to = from+length, to+length
	}
	if from < 0 || to >= length {
		return outcome{}, problem("the part is out of the range of the list")
	}
	return outcome{&list{cells: cells[from : to+1 : to+1], keyName: l.keyName}, base.info}, e.run.meter.Build(length * sizeOfValue)
}

// projection applies an expression to every element of a list or a map.
type projection struct {
	span
	base, inner expr
}

func (p *projection) eval(e *env, locally bool) (outcome, error) {
	base, err := e.eval(p.base)
	if err != nil {
		return outcome{}, err
	}
	if _, unchanged := p.inner.(*projected); unchanged {
		if _, ok := base.value.(*list); ok {
			return base, nil
		}
	}
	cells, err := elements(base.value)
	if err != nil {
		return outcome{}, err
	}
	values := make([]value, len(cells))
	for i, c := range cells {
		out, err := e.withElement(c.value).evaluate(p.inner, locally)
		if err != nil {
			return outcome{}, err
		}
		values[i] = out.value
	}
	return outcome{newList(values), base.info}, e.run.meter.Build(sizeOfCell * int64(len(values)))
}

// elements returns the items of a list or the values of a map in the order of their names.
func elements(v value) ([]*cell, error) {
	switch v := v.(type) {
	case *list:
		return v.items()
	case *dict:
		names, err := v.names()
		if err != nil {
			return nil, err
		}
		cells := make([]*cell, len(names))
		for i, name := range names {
			cells[i] = v.get(name)
		}
		return cells, nil
	}
	return nil, problem("only a list or a map can be projected, not a value of type %s", typeOf(v))
}

// projected is the element that a projection is applied to.
type projected struct{ span }

func (*projected) eval(e *env, _ bool) (outcome, error) { return just(e.element), nil }
