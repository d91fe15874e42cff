// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

// override returns the counterpart of a value in the stubs, or the value if there is none.
func (e *env) override(own result, overridable bool) (result, error) {
	if !overridable {
		return own, nil
	}
	c, err := e.counterpart()
	if err != nil || c == nil || c.flags.has(isDefault) && !c.flags.has(isInject) {
		return own, err
	}
	return result{value: c.value, flags: own.flags | c.flags}, nil
}

// overrideOutcome is override for the value of an expression. A preferred map or list is not replaced by its counterpart,
// but its parts are.
func (e *env) overrideOutcome(own result, preferred, overridable bool) (result, error) {
	switch own.value.(type) {
	case *dict, *list:
		if preferred && len(e.flow.stubs) > 0 {
			v, err := e.overlay(own.value)
			own.value = v
			return own, err
		}
	}
	return e.override(own, overridable)
}

// overlaid returns a cell for a value from elsewhere that has counterparts in the stubs here.
func (e *env) overlaid(c *cell) *cell {
	return later(e, func(e *env) (result, error) {
		if err := e.run.meter.Step(costOfOverlay); err != nil {
			return result{}, err
		}
		if err := c.force(); err != nil {
			return result{}, err
		}
		own := result{value: c.value, flags: c.flags, undefined: c.undefined}
		switch c.value.(type) {
		case *dict, *list:
			v, err := e.overlay(c.value)
			own.value = v
			return own, err
		}
		return e.override(own, true)
	})
}

// overlay returns a map or a list with its parts replaced by their counterparts in the stubs.
func (e *env) overlay(v value) (value, error) {
	switch v := v.(type) {
	case *dict:
		d := newDict(len(v.cells))
		return d, e.insert(d, v, false)
	case *list:
		return e.overlayList(v)
	}
	return v, nil
}

// overlayList overlays the items of a list that are maps.
func (e *env) overlayList(l *list) (value, error) {
	if err := e.run.meter.Build(sizeOfCell * int64(len(l.cells))); err != nil {
		return nil, err
	}
	cells, err := l.items()
	if err != nil {
		return nil, err
	}
	over := &list{cells: make([]*cell, len(cells)), keyName: l.keyName}
	for i, c := range cells {
		over.cells[i] = c
		if _, ok := c.value.(*dict); !ok {
			continue
		}
		name, err := fieldOf(c, l.key())
		if err != nil {
			return nil, err
		}
		step := indexedPath("", i)
		if name != "" {
			step = l.key() + ":" + name
		}
		over.cells[i] = e.withItem(i, step).overlaid(c)
	}
	return over, nil
}

// inject adds parts of a map's counterpart in the stubs to the map: some of its flags, and entries marked for injection.
func (e *env) inject(own result, d *dict) (result, error) {
	c, err := e.counterpart()
	if err != nil || c == nil {
		return own, err
	}
	own.flags |= c.flags & (isTemporary | isState)
	stub, ok := c.value.(*dict)
	if !ok || stub.plain != nil {
		return own, nil
	}
	for _, name := range stub.all() {
		if entry := stub.get(name); entry.flags.has(isInject|isDefault) && d.cells[name] == nil {
			d.set(name, entry)
		}
	}
	return own, nil
}

// merge is a reference to the counterpart of the value in the stubs.
type merge struct {
	span
	path     []string
	redirect bool
	// nothing reports whether nothing is merged, here and below.
	nothing           bool
	replace, required bool
	keyName           string
}

// needed reports whether a missing counterpart is an error.
func (m *merge) needed(e *env) bool {
	return m.replace || m.required || m.redirect || e.redirected
}

func (m *merge) eval(e *env, _ bool) (outcome, error) {
	out := outcome{info: info{keyName: m.keyName}}
	path := e.stub.steps()
	if m.redirect {
		path = m.path
		out.redirected, out.redirect = true, m.path
	}
	if m.nothing {
		out.merged, out.redirect = true, nil
		return out, nil
	}
	c, err := e.inStubs(path)
	if err != nil {
		return outcome{}, err
	}
	if c == nil {
		return outcome{}, problem("there is nothing to merge with: the state has no value here")
	}
	out.value, out.flags = c.value, c.flags
	out.merged, out.replace = true, m.replace
	return out, e.run.resolve(c.value, 0)
}
