// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

// expr is an expression. It is immutable; everything mutable is in the environment.
type expr interface {
	// where returns the part of the text that the expression was parsed from.
	where() (from, to int)
	// eval evaluates the expression. With locally, parts of the value may stay unevaluated.
	eval(e *env, locally bool) (outcome, error)
}

type span struct{ from, to int }

func (s span) where() (from, to int) { return s.from, s.to }

// outcome is the result of an expression.
type outcome struct {
	value value
	info
}

// info is information about the value of an expression.
type info struct {
	// undefined reports whether the value counts as missing.
	undefined bool
	// merged reports whether the value comes from a stub, replace whether it replaces what it is merged with.
	merged, replace bool
	// preferred reports whether the value takes precedence over the stubs.
	preferred bool
	// redirected reports whether the counterparts in the stubs are at another path.
	redirected bool
	redirect   []string
	keyName    string
	flags      flags
}

// join adds the information from a later part of an expression.
func (i info) join(later info) info {
	if later.redirected {
		i.redirected, i.redirect = true, later.redirect
	}
	if later.keyName != "" {
		i.keyName = later.keyName
	}
	i.replace = later.replace
	i.preferred = i.preferred || later.preferred
	i.merged = i.merged || later.merged
	i.undefined = i.undefined || later.undefined
	i.flags |= later.flags
	return i
}

func just(v value) outcome { return outcome{value: v} }

// literal is a value written in the expression.
type literal struct {
	span
	value value
}

func (l *literal) eval(*env, bool) (outcome, error) { return just(l.value), nil }

// undefined is the missing value.
type undefined struct{ span }

func (*undefined) eval(*env, bool) (outcome, error) {
	return outcome{info: info{undefined: true}}, nil
}

// grouped is a parenthesised expression.
type grouped struct {
	span
	inner expr
}

func (g *grouped) eval(e *env, locally bool) (outcome, error) { return e.evaluate(g.inner, locally) }

// prefer is an expression whose value takes precedence over the stubs.
type prefer struct {
	span
	inner expr
}

func (p *prefer) eval(e *env, locally bool) (outcome, error) {
	out, err := e.evaluate(p.inner, locally)
	out.preferred = true
	return out, err
}

// marked is an expression with markers, or markers alone.
type marked struct {
	span
	flags flags
	// tag is a name for references to the node.
	tag   string
	inner expr
}

func (m *marked) eval(e *env, locally bool) (outcome, error) {
	if m.flags.has(isTemplate) {
		return outcome{}, problem("the marker &template can only stand at a node of the template")
	}
	if m.inner == nil {
		return outcome{info: info{flags: m.flags}}, nil
	}
	out, err := e.evaluate(m.inner, locally)
	out.flags |= m.flags
	return out, err
}

// conditional chooses one of two expressions.
type conditional struct {
	span
	condition, yes, no expr
}

func (c *conditional) eval(e *env, _ bool) (outcome, error) {
	condition, err := e.eval(c.condition)
	if err != nil {
		return outcome{}, err
	}
	chosen := c.no
	if truth(condition.value) {
		chosen = c.yes
	}
	out, err := e.eval(chosen)
	out.info = out.join(condition.info)
	return out, err
}

// not negates the truth of an expression.
type not struct {
	span
	inner expr
}

func (n *not) eval(e *env, _ bool) (outcome, error) {
	out, err := e.eval(n.inner)
	return outcome{!truth(out.value), out.info}, err
}

// mapping is a map written in an expression.
type mapping struct {
	span
	assignments []assignment
}

type assignment struct{ key, value expr }

func (m *mapping) eval(e *env, locally bool) (outcome, error) {
	d, err := m.entries(e, locally)
	if err != nil {
		return outcome{}, err
	}
	return just(d), nil
}

func (m *mapping) entries(e *env, locally bool) (*dict, error) {
	if err := e.run.meter.Build(sizeOfCell * int64(len(m.assignments)+1)); err != nil {
		return nil, err
	}
	d := newDict(len(m.assignments))
	for _, a := range m.assignments {
		key, err := e.evaluate(a.key, locally)
		if err != nil {
			return nil, err
		}
		name, ok := key.value.(string)
		if !ok {
			return nil, problem("the key of a map must be a string, not of type %s", typeOf(key.value))
		}
		content, err := e.evaluate(a.value, locally)
		if err != nil {
			return nil, err
		}
		d.set(name, done(content.value))
	}
	return d, nil
}

// scoped names values for an expression.
type scoped struct {
	span
	names *mapping
	inner expr
}

func (s *scoped) eval(e *env, locally bool) (outcome, error) {
	d, err := s.names.entries(e, locally)
	if err != nil {
		return outcome{}, err
	}
	inner, err := e.withLocal(d.cells)
	if err != nil {
		return outcome{}, err
	}
	return inner.evaluate(s.inner, locally)
}

// argument is an item of a list or an argument of a call. If it is expanded, it is a list that stands for its items.
type argument struct {
	expr     expr
	expanded bool
}

// evalAll evaluates items or arguments.
func (e *env) evalAll(arguments []argument) ([]value, info, error) {
	var all info
	values := make([]value, 0, len(arguments))
	for _, a := range arguments {
		out, err := e.eval(a.expr)
		if err != nil {
			return nil, all, err
		}
		all = all.join(out.info)
		if !a.expanded {
			values = append(values, out.value)
			continue
		}
		l, ok := out.value.(*list)
		if !ok {
			return nil, all, problem("only a list can be expanded to several arguments, not a value of type %s", typeOf(out.value))
		}
		if err := e.run.meter.Build(sizeOfCell * int64(len(l.cells))); err != nil {
			return nil, all, err
		}
		items, err := l.items()
		if err != nil {
			return nil, all, err
		}
		for _, item := range items {
			values = append(values, item.value)
		}
	}
	return values, all, e.run.meter.Build(sizeOfCell * int64(len(values)))
}

// listing is a list written in an expression.
type listing struct {
	span
	items []argument
}

func (l *listing) eval(e *env, _ bool) (outcome, error) {
	values, all, err := e.evalAll(l.items)
	if err != nil {
		return outcome{}, err
	}
	return outcome{newList(values), all}, nil
}

func newList(values []value) *list {
	l := &list{cells: make([]*cell, len(values))}
	for i, v := range values {
		l.cells[i] = done(v)
	}
	return l
}
