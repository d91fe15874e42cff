// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"slices"
)

// flowList evaluates a list: its length is known afterwards.
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

// listBuilder builds a list from its items.
type listBuilder struct {
	env    *env
	source *source
	list   *list
	flags  flags
	// inserted holds the items that replace an insertion, by its index.
	inserted map[int][]*cell
	// replaced is the index, plus one, of an insertion whose items replace the list.
	replaced int
	// direct reports whether the list's counterpart is merged into it, so that items without a name have no counterparts
	// themselves.
	direct bool
}

// template records the markers of the list. If one of them makes it a template, it returns the rest of the list.
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

// evaluateInsertions evaluates the insertions. This must happen before the other items get cells, because an insertion can
// change their counterparts in the stubs.
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

// insert stores the items of an inserted list. Any other value is ignored.
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

// collect creates the cells of the list.
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
		at.kept = at.kept && b.keeps(item)
		at.unmerged = at.unmerged || b.direct && named == nil
		b.list.cells = append(b.list.cells, cellOf(item, at, false))
	}
	return nil
}

// keeps reports whether the parts of an item can be found in the state again: it is a map whose name is known beforehand.
func (b *listBuilder) keeps(item *source) bool {
	name := item.entries[b.list.key()]
	return item.kind == mappingKind && (name == nil || name.kind != expressionKind)
}

// names returns the names of the items of the list, by index, if all items have one and the names are unique. Counterparts
// in the stubs are then found by name, otherwise by index. Without stubs, names do not matter.
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

// namesAt returns the name of an item, or the names of the items inserted in its place. An item without a name has an empty
// one.
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
	at := b.env.withItem(index, indexedPath("", index))
	at.kept = false
	field := cellOf(item.entries[key], at, false)
	if err := field.force(); err != nil {
		return "", err
	}
	name, _ := field.value.(string)
	return name, nil
}

// mergesDirectly reports whether the value of an expression can be the counterpart of the node.
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

// fresh returns the items of a list whose names none of this list's own items has.
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

// literalField returns the value of a field that is a literal string in the template.
func literalField(item *source, field string) (string, bool) {
	if item.kind != mappingKind || item.entries[field] == nil {
		return "", false
	}
	name, ok := item.entries[field].scalar.(string)
	return name, ok
}

// fieldOf returns the value of a string field; empty if there is none.
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
