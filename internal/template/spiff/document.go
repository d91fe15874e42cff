// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import "regexp"

// cellOf returns the cell of a node of a document. An overridable value is replaced by its counterpart in the stubs, if any.
func cellOf(s *source, e *env, overridable bool) *cell {
	if s.kind == expressionKind {
		e = e.withNode(s)
	}
	c := later(e, func(e *env) (result, error) {
		switch s.kind {
		case mappingKind:
			return e.flowMap(s)
		case sequenceKind:
			return e.flowList(s)
		case expressionKind:
			return e.flowExpression(s, overridable)
		}
		return e.override(result{value: s.scalar}, overridable)
	})
	e.run.noteNode(s, c)
	return c
}

// flowExpression evaluates a node that is an expression.
func (e *env) flowExpression(s *source, overridable bool) (result, error) {
	if m := s.markers(); m != nil && m.flags.has(isTemplate) {
		inner := s.unmarked(m)
		if inner == nil {
			return result{}, problem("there is nothing behind the marker &template")
		}
		return result{value: &blank{inner, s.original, e}, flags: m.flags &^ isTemplate}, nil
	}
	if known, err := e.keptBefore(s, overridable); known != nil || err != nil {
		return *known, err
	}
	out, err := e.eval(s.expr)
	if err != nil {
		return result{}, err
	}
	own := result{value: out.value, flags: out.flags, undefined: out.undefined}
	if out.merged || out.replace || len(out.redirect) > 0 {
		return own, nil
	}
	return e.overrideOutcome(own, out.preferred, overridable)
}

// keptBefore returns the state's value of a node that is kept in it, or nil. A value that is overridden need not be
// generated. Expressions that use the state themselves are evaluated.
func (e *env) keptBefore(s *source, overridable bool) (*result, error) {
	if !e.kept || !overridable || dealsWithState.MatchString(s.text) {
		return nil, nil
	}
	c, err := e.counterpart()
	if err != nil {
		return &result{}, err
	}
	if c == nil || c.flags.has(isDefault) && !c.flags.has(isInject) {
		return nil, nil
	}
	known := result{value: c.value, flags: c.flags}
	if m := s.markers(); m != nil {
		known.flags |= m.flags
	}
	return &known, nil
}

var dealsWithState = regexp.MustCompile(`\b(?:merge|stub|prefer)\b`)

// flowMap evaluates a map: afterwards, the names of its entries are known, but not their values.
func (e *env) flowMap(s *source) (result, error) {
	if err := e.run.meter.Build(sizeOfCell * int64(len(s.names)+1)); err != nil {
		return result{}, err
	}
	own := result{}
	if m := s.inserted.markers(); m != nil {
		own.flags = m.flags &^ isTemplate
		if m.flags.has(isTemplate) {
			prepared := *s
			prepared.inserted = s.inserted.unmarked(m)
			own.value = &blank{&prepared, s.original, e}
			return own, nil
		}
	}
	d := newDict(len(s.names))
	inner := e.withScope(d)
	inner.enter(d, s)
	inserted, err := inner.insertion(s)
	if err != nil || inserted.undefined {
		return result{undefined: inserted.undefined}, err
	}
	if inserted.redirected {
		inner = inner.withRedirect(inserted.redirect)
		inner.enter(d, s)
	}
	if inserted.replace {
		clear(d.cells)
	}
	if base, ok := inserted.value.(*dict); ok {
		if err := inner.insert(d, base, inserted.merged); err != nil {
			return result{}, err
		}
	}
	own.value = d
	return inner.inject(own, d)
}

// enter adds the entries of a map of the template to a dict.
func (e *env) enter(d *dict, s *source) {
	for _, name := range s.names {
		inner := e.withStep(name)
		inner.kept = e.kept || e.path == nil && s.entries[name].isKept()
		d.set(name, cellOf(s.entries[name], inner, true))
	}
}

// isKept reports whether an entry at the root is kept in the state, according to its markers.
func (s *source) isKept() bool {
	var all flags
	for _, node := range append([]*source{s, s.inserted}, s.items...) {
		if m := node.markers(); m != nil {
			all |= m.flags
		} else if m := node.itemMarkers(); m != nil && s.kind == sequenceKind {
			all |= m.flags
		}
	}
	return all.has(isState) && !all.has(isTemporary|isLocal|isTemplate)
}

// itemMarkers returns the markers of the list for which an item stands.
func (s *source) itemMarkers() *marked {
	if s == nil {
		return nil
	}
	return s.insertion().markers()
}

// insertion evaluates the entry << of a map. Names in it are looked up among the other entries first.
func (e *env) insertion(s *source) (outcome, error) {
	if s.inserted == nil {
		return outcome{}, nil
	}
	out, err := e.inserted(s.inserted)
	if err != nil {
		return outcome{}, err
	}
	switch out.value.(type) {
	case nil, *dict:
		return out, nil
	}
	if s.inserted.kind != expressionKind {
		return outcome{}, nil
	}
	return outcome{}, e.withNode(s.inserted).
		locate(problem("only a map can be inserted into a map, not a value of type %s", typeOf(out.value)), nil)
}

// inserted evaluates the value of an insertion. A plain merge without a result inserts nothing.
func (e *env) inserted(s *source) (outcome, error) {
	if s.kind != expressionKind {
		c := cellOf(s, e, false)
		if err := c.force(); err != nil {
			return outcome{}, err
		}
		return just(c.value), e.run.resolve(c.value, 0)
	}
	at := e.withNode(s)
	out, err := at.eval(s.expr)
	if m, ok := s.expr.(*merge); ok && !m.needed(e) && catchable(err) {
		return outcome{}, nil
	}
	return out, err
}

// insert adds those entries of a map to another one that it lacks.
func (e *env) insert(d, base *dict, merged bool) error {
	names := base.all()
	if err := e.run.meter.Build(sizeOfCell * int64(len(names))); err != nil {
		return err
	}
	for _, name := range names {
		if d.cells[name] != nil {
			continue
		}
		c := base.get(name)
		if !merged && len(e.flow.stubs) > 0 {
			c = e.withStep(name).overlaid(c)
		}
		d.set(name, c)
	}
	return nil
}
