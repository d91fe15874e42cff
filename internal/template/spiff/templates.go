// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"maps"
	"slices"
)

// blank is a template inside a document: a node that is evaluated where it is instantiated.
type blank struct {
	source *source
	// original is the plain value of the node.
	original any
	resolver *env
}

// substitution instantiates a template.
type substitution struct {
	span
	template expr
}

func (s *substitution) eval(e *env, _ bool) (outcome, error) {
	out, err := e.eval(s.template)
	if err != nil {
		return outcome{}, err
	}
	b, ok := out.value.(*blank)
	if !ok {
		return outcome{}, problem("only a template can be instantiated, not a value of type %s", typeOf(out.value))
	}
	return e.instantiate(b)
}

// instantiate evaluates a template here, as a separate document: if it fails, the expression fails, which another expression
// can catch.
func (e *env) instantiate(b *blank) (outcome, error) {
	if err := e.run.meter.Enter(); err != nil {
		return outcome{}, err
	}
	defer e.run.meter.Leave()
	self := &cell{value: b, resolver: b.resolver}
	inner, err := e.withLocal(local{selfName: self})
	if err != nil {
		return outcome{}, err
	}
	inner.flow = &flow{stubs: e.flow.stubs, outer: e.flow.outer}
	c := cellOf(b.source, inner, false)
	if err := e.run.complete(c); err != nil {
		return outcome{}, inner.flow.release(err)
	}
	return outcome{c.value, info{undefined: c.undefined}}, nil
}

// complete evaluates a cell and everything inside it.
func (r *run) complete(c *cell) error {
	if err := c.force(); err != nil {
		return err
	}
	return r.resolve(c.value, 0)
}

// templatesIn converts maps among the arguments of merge that contain expressions as text to templates, as in merge(m, {"a"
// = "(( b ))"}): they are evaluated where the maps are merged. Texts from elsewhere are data.
func (e *env) templatesIn(arguments []argument) ([]argument, error) {
	changed := slices.Clone(arguments)
	for i, a := range arguments {
		m, ok := a.expr.(*mapping)
		if !ok || !slices.ContainsFunc(m.assignments, func(a assignment) bool { return writtenExpression(a.value) != "" }) {
			continue
		}
		prepared, err := e.templateOf(m)
		if err != nil {
			return nil, err
		}
		changed[i].expr = &literal{m.span, prepared}
	}
	return changed, nil
}

// writtenExpression returns the text of a literal that is written as an expression.
func writtenExpression(x expr) string {
	l, ok := x.(*literal)
	if !ok {
		return ""
	}
	text, _ := l.value.(string)
	if _, ok := isExpression(text); !ok {
		return ""
	}
	return text
}

func (e *env) templateOf(m *mapping) (*blank, error) {
	s := &source{kind: mappingKind, entries: map[string]*source{}}
	original := map[string]any{}
	for _, a := range m.assignments {
		key, err := e.eval(a.key)
		if err != nil {
			return nil, err
		}
		name, ok := key.value.(string)
		if !ok {
			return nil, problem("the key of a map must be a string, not of type %s", typeOf(key.value))
		}
		if text := writtenExpression(a.value); text != "" {
			compiled, failed := (&compiler{meter: e.run.meter, hidden: e.hidden()}).text(text, name)
			if failed != nil {
				return nil, &evalError{cause: failed.cause}
			}
			s.entries[name], original[name] = compiled, text
			continue
		}
		content, err := e.eval(a.value)
		if err != nil {
			return nil, err
		}
		s.entries[name] = &source{kind: scalarKind, scalar: content.value}
	}
	s.names = slices.Sorted(maps.Keys(s.entries))
	return &blank{s, original, e}, nil
}
