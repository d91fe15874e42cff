// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

// blank is a template inside of a document: a node that is evaluated where it is instantiated.
type blank struct {
	source *source
	// original is the node as it stands in the document.
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

// instantiate evaluates a template here. It is a document of its own: if it fails, the expression fails, which another
// expression can catch.
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

// complete evaluates a cell and everything inside.
func (r *run) complete(c *cell) error {
	if err := c.force(); err != nil {
		return err
	}
	return r.resolve(c.value, 0)
}
