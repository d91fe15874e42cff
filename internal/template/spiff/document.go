// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"slices"

	"espalier.dev/internal/template"
)

// blank is a template inside of a document: a node that is evaluated where it is instantiated.
type blank struct {
	source *source
	// original is the node as it stands in the document.
	original any
	resolver *env
}

// cellOf returns the cell of a node of a document. A value that may be overridden gives way to its counterpart in the stubs.
func cellOf(s *source, e *env, overridable bool) *cell {
	if s.kind == expressionKind {
		e = e.withNode(s)
	}
	return later(e, func(e *env) (result, error) {
		switch s.kind {
		case mappingKind:
			return e.flowMap(s)
		case sequenceKind:
			return e.flowList(s)
		case expressionKind:
			return e.flowExpression(s, overridable)
		}
		return e.override(result{value: scalarOf(s)}, overridable)
	})
}

// scalarOf returns the value of a node that is neither an expression nor a collection.
func scalarOf(s *source) value {
	if f, ok := s.scalar.(float64); ok {
		return template.PlainFloat(f)
	}
	return s.scalar
}

// override returns the counterpart of a value in the stubs if there is one.
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

// flowExpression evaluates a node that is an expression.
func (e *env) flowExpression(s *source, overridable bool) (result, error) {
	if m := s.markers(); m != nil && m.flags.has(isTemplate) {
		inner := s.unmarked(m)
		if inner == nil {
			return result{}, problem("there is nothing behind the marker &template")
		}
		return result{value: &blank{inner, s.original, e}, flags: m.flags &^ isTemplate}, nil
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

// overrideOutcome is override for the value of an expression. A map or a list that is preferred is not replaced by its
// counterpart, only its parts are.
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

// flowMap evaluates a map: the names of its entries are known then, their values not.
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

// enter puts the entries of a map of the template into a dict.
func (e *env) enter(d *dict, s *source) {
	for _, name := range s.names {
		d.set(name, cellOf(s.entries[name], e.withStep(name), true))
	}
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
	return outcome{}, e.withNode(s.inserted).locate(problem("only a map can be inserted into a map, not a value of type %s", typeOf(out.value)), nil)
}

// inserted evaluates what is behind an insertion. A plain merge that finds nothing inserts nothing.
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

// insert adds the entries of a map to another one, as far as they are not there yet.
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

// overlaid returns a cell for a value that comes from elsewhere and has counterparts in the stubs here.
func (e *env) overlaid(c *cell) *cell {
	return later(e, func(e *env) (result, error) {
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

// overlay returns a map or a list whose parts give way to their counterparts in the stubs.
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

// inject adds what the counterpart of a map in the stubs says about it: some of its flags, and entries that are marked to
// be injected.
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

// flowList evaluates a list: it is known then how many items it has.
func (e *env) flowList(s *source) (result, error) {
	if err := e.run.meter.Build(sizeOfCell * int64(len(s.items)+1)); err != nil {
		return result{}, err
	}
	b := &listBuilder{env: e, source: s, list: &list{keyName: s.keyName}}
	if e.scope == nil {
		b.env = e.withScope(items{b.list})
	}
	if prepared := b.template(); prepared != nil {
		return result{value: &blank{prepared, s.original, e}, flags: b.flags}, nil
	}
	if err := b.evaluateInsertions(); err != nil {
		return result{}, err
	}
	return result{value: b.list, flags: b.flags}, b.collect()
}

// listBuilder puts the items of a list together.
type listBuilder struct {
	env    *env
	source *source
	list   *list
	flags  flags
	// inserted holds the items that are put in the place of an insertion, by its index.
	inserted map[int][]*cell
	// replaced is the index of an insertion whose items replace the list, plus one.
	replaced int
	// direct says that the list has its counterpart merged into it, so that items without a name have none themselves.
	direct bool
}

// template notes the markers of the list. If one of them makes it a template, the rest of the list is returned.
func (b *listBuilder) template() *source {
	rest := *b.source
	rest.items = nil
	found := false
	for _, item := range b.source.items {
		m := item.insertion().markers()
		if m == nil || !m.flags.has(isTemplate) {
			if m != nil {
				b.flags |= m.flags
			}
			rest.items = append(rest.items, item)
			continue
		}
		found = true
		b.flags |= m.flags &^ isTemplate
		if inner := item.insertion().unmarked(m); inner != nil {
			changed := *item
			changed.inserted = inner
			rest.items = append(rest.items, &changed)
		}
	}
	if !found {
		return nil
	}
	return &rest
}

// evaluateInsertions finds out what is inserted. It has to be known before there can be cells for the other items, because
// an insertion can change what their counterparts in the stubs are.
func (b *listBuilder) evaluateInsertions() error {
	b.inserted = map[int][]*cell{}
	for i, item := range b.source.items {
		insertion := item.insertion()
		if insertion == nil {
			continue
		}
		out, err := b.env.inserted(insertion)
		if err != nil {
			return err
		}
		if out.keyName != "" {
			b.list.keyName = out.keyName
		}
		if out.redirected {
			b.env = b.env.withRedirect(out.redirect)
		}
		b.direct = b.direct || insertion.kind == expressionKind && mergesDirectly(insertion.expr)
		if err := b.insert(i, out); err != nil {
			return err
		}
	}
	return nil
}

// insert keeps the items of a list that is inserted. Anything but a list is left out.
func (b *listBuilder) insert(index int, out outcome) error {
	inserted, ok := out.value.(*list)
	if !ok {
		return nil
	}
	fresh, err := b.fresh(inserted)
	if err != nil {
		return err
	}
	if out.replace && b.replaced == 0 {
		b.replaced = index + 1
	}
	b.inserted[index] = fresh
	return b.env.run.meter.Build(sizeOfCell * int64(len(fresh)))
}

// collect makes the cells of the list.
func (b *listBuilder) collect() error {
	if b.replaced > 0 {
		b.list.cells = b.inserted[b.replaced-1]
		return nil
	}
	named, err := b.names()
	if err != nil {
		return err
	}
	for i, item := range b.source.items {
		if item.insertion() != nil {
			b.list.cells = append(b.list.cells, b.inserted[i]...)
			continue
		}
		step := indexedPath("", i)
		if named != nil {
			step = b.list.key() + ":" + named[i]
		}
		at := b.env.withItem(i, step)
		at.unmerged = at.unmerged || b.direct && named == nil
		b.list.cells = append(b.list.cells, cellOf(item, at, false))
	}
	return nil
}

// names returns the names of the items of the list, by their index, if all items have one and no two have the same. Their
// counterparts in the stubs are then those of the same name, and otherwise those at the same index. Without stubs it does
// not matter.
func (b *listBuilder) names() (map[int]string, error) {
	if len(b.env.flow.stubs) == 0 || b.list.key() == noKey {
		return nil, nil
	}
	names := map[int]string{}
	known := map[string]bool{"": true}
	for i, item := range b.source.items {
		found, err := b.namesAt(i, item)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if known[name] {
				return nil, nil
			}
			known[name] = true
			names[i] = name
		}
	}
	return names, nil
}

// namesAt returns the name of an item, or the names of those that were inserted. An item without a name has an empty one.
func (b *listBuilder) namesAt(index int, item *source) ([]string, error) {
	key := b.list.key()
	if item.insertion() == nil {
		name, err := b.nameOf(index, item)
		return []string{name}, err
	}
	var names []string
	for _, c := range b.inserted[index] {
		name, err := fieldOf(c, key)
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// nameOf returns the value of the distinguishing field of an item, which may be an expression.
func (b *listBuilder) nameOf(index int, item *source) (string, error) {
	key := b.list.key()
	if name, ok := literalField(item, key); ok {
		return name, nil
	}
	if item.kind != mappingKind || item.entries[key] == nil {
		return "", nil
	}
	field := cellOf(item.entries[key], b.env.withItem(index, indexedPath("", index)), false)
	if err := field.force(); err != nil {
		return "", err
	}
	name, _ := field.value.(string)
	return name, nil
}

// mergesDirectly tells whether the value of an expression can be the counterpart of the node.
func mergesDirectly(x expr) bool {
	var parts []expr
	switch x := x.(type) {
	case *merge:
		return !x.redirect
	case *grouped:
		parts = []expr{x.inner}
	case *marked:
		parts = []expr{x.inner}
	case *operation:
		if x.operator == "" || x.operator == "||" {
			parts = []expr{x.left, x.right}
		}
	case *conditional:
		parts = []expr{x.yes, x.no}
	case *catch:
		parts = []expr{x.source}
	}
	return slices.ContainsFunc(parts, mergesDirectly)
}

// fresh returns the items of a list that the list itself has no item of the same name for.
func (b *listBuilder) fresh(inserted *list) ([]*cell, error) {
	own := map[string]bool{}
	key := b.list.key()
	for _, item := range b.source.items {
		if name, ok := literalField(item, key); ok {
			own[name] = true
		}
	}
	if err := b.env.run.meter.Step(int64(len(inserted.cells) + len(b.source.items))); err != nil {
		return nil, err
	}
	cells, err := inserted.items()
	if err != nil || len(own) == 0 {
		return cells, err
	}
	var fresh []*cell
	for _, c := range cells {
		name, err := fieldOf(c, key)
		if err != nil {
			return nil, err
		}
		if name == "" || !own[name] {
			fresh = append(fresh, c)
		}
	}
	return fresh, nil
}

// literalField returns the value of a field that stands in the template as a string.
func literalField(item *source, field string) (string, bool) {
	if item.kind != mappingKind || item.entries[field] == nil {
		return "", false
	}
	name, ok := item.entries[field].scalar.(string)
	return name, ok
}

// fieldOf returns the value of a field that is a string, or nothing.
func fieldOf(c *cell, field string) (string, error) {
	d, ok := c.value.(*dict)
	if !ok {
		return "", nil
	}
	f, err := lookup(d, field)
	if err != nil || f == nil {
		return "", err
	}
	name, _ := f.value.(string)
	return name, nil
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

// merge is a reference to the counterpart of the value in the stubs.
type merge struct {
	span
	path     []string
	redirect bool
	// nothing says that nothing is merged, here and below.
	nothing           bool
	replace, required bool
	keyName           string
}

// needed tells whether it is an error if there is no counterpart.
func (m *merge) needed(e *env) bool {
	return m.replace || m.required || m.redirect || e.path != nil && e.stub != nil && displayPath(e.path) != displayPath(e.stub)
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
	return out, nil
}
