// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"slices"
	"strconv"
	"strings"
)

// callLength returns the number of items, entries or bytes.
func callLength(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	switch v := c.args[0].(type) {
	case string:
		return int64(len(v)), nil
	case *list:
		return int64(len(v.cells)), nil
	case *dict:
		return int64(v.length()), nil
	}
	return nil, c.wrong(0, "a string, a list or a map")
}

// callContains reports whether a list has an item, a map has a key, or a string has a substring.
func callContains(c *invocation) (value, error) {
	if err := c.takes(2, 2); err != nil {
		return nil, err
	}
	if d, ok := c.args[0].(*dict); ok {
		name, ok := c.args[1].(string)
		return ok && d.get(name) != nil, nil
	}
	position, err := c.position(true)
	return position >= 0, err
}

func indexFunction(first bool) builtin {
	return func(c *invocation) (value, error) {
		if err := c.takes(2, 2); err != nil {
			return nil, err
		}
		return c.position(first)
	}
}

// position returns the first or last position of an item in a list or a substring in a string, or -1.
func (c *invocation) position(first bool) (int64, error) {
	switch v := c.args[0].(type) {
	case *list:
		return c.positionOfItem(v, first)
	case string:
		part, ok := simpleText(c.args[1])
		if !ok {
			return -1, c.wrong(1, "a simple value")
		}
		if err := c.env.run.meter.Step(int64(len(v)) / bytesPerStep); err != nil {
			return -1, err
		}
		if first {
			return int64(strings.Index(v, part)), nil
		}
		return int64(strings.LastIndex(v, part)), nil
	}
	return -1, c.wrong(0, "a list or a string")
}

func (c *invocation) positionOfItem(l *list, first bool) (int64, error) {
	found := int64(-1)
	if c.args[1] == nil {
		return found, nil
	}
	for i, item := range l.cells {
		same, err := c.env.run.equal(item.value, c.args[1])
		if uncaught(err) != nil {
			return -1, err
		}
		if same {
			found = int64(i)
			if first {
				break
			}
		}
	}
	return found, nil
}

// callUniq removes the items of a list that equal an earlier one.
func callUniq(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	l, err := c.list(0)
	if err != nil {
		return nil, err
	}
	return c.selected(l.cells, func(item *cell, before []*cell) (bool, error) {
		known, err := c.among(item, before)
		return !known, err
	})
}

// among reports whether an item equals one of others.
func (c *invocation) among(item *cell, others []*cell) (bool, error) {
	for _, other := range others {
		same, err := c.env.run.equal(item.value, other.value)
		if uncaught(err) != nil {
			return false, err
		}
		if same {
			return true, nil
		}
	}
	return false, nil
}

// selected returns a list of the items to keep, and passes to keep those already kept.
func (c *invocation) selected(cells []*cell, keep func(item *cell, before []*cell) (bool, error)) (value, error) {
	var kept []*cell
	for _, item := range cells {
		ok, err := keep(item, kept)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, item)
		}
	}
	return &list{cells: kept}, c.buildRepeated(len(kept), sizeOfValue)
}

// callIntersect returns the items of the first list that are in all other lists.
func callIntersect(c *invocation) (value, error) {
	var common *list
	for i, arg := range c.args {
		if arg == nil {
			continue
		}
		l, err := c.list(i)
		if err != nil {
			return nil, err
		}
		if common == nil {
			common = l
			continue
		}
		kept, err := c.selected(common.cells, func(item *cell, _ []*cell) (bool, error) { return c.among(item, l.cells) })
		if err != nil {
			return nil, err
		}
		common = kept.(*list)
	}
	if common == nil {
		common = &list{resolved: true}
	}
	return common, nil
}

// callCompact removes nil and empty items from a list.
func callCompact(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	l, err := c.list(0)
	if err != nil {
		return nil, err
	}
	return c.selected(l.cells, func(item *cell, _ []*cell) (bool, error) {
		switch v := item.value.(type) {
		case nil, string, *list, *dict:
			return truth(v), nil
		}
		return true, nil
	})
}

// callElement returns an item of a list or an entry of a map.
func callElement(c *invocation) (value, error) {
	if err := c.takes(2, 2); err != nil {
		return nil, err
	}
	switch v := c.args[0].(type) {
	case *list:
		digits, _ := simpleText(c.args[1])
		index, err := strconv.Atoi(digits)
		if err != nil {
			return nil, c.wrong(1, "an integer")
		}
		if index < 0 || index >= len(v.cells) {
			return nil, problem("function element: the index is out of the range of the list")
		}
		return v.cells[index].value, nil
	case *dict:
		name, err := c.text(1)
		if err != nil {
			return nil, err
		}
		found, err := lookup(v, name)
		if found == nil && err == nil {
			err = problem("function element: the map has no such key")
		}
		if err != nil {
			return nil, err
		}
		return found.value, nil
	}
	return nil, c.wrong(0, "a list or a map")
}

// callSort sorts strings or integers, or any values by a lambda that reports whether one item comes before another.
func callSort(c *invocation) (value, error) {
	if err := c.takes(1, 2); err != nil {
		return nil, err
	}
	l, err := c.list(0)
	if err != nil {
		return nil, err
	}
	var less *lambda
	if len(c.args) == 2 {
		var ok bool
		if less, ok = c.args[1].(*lambda); !ok {
			return nil, c.wrong(1, "a lambda")
		}
	}
	if err := c.buildRepeated(len(l.cells), sizeOfCell); err != nil {
		return nil, err
	}
	cells := slices.Clone(l.cells)
	var failure error
	slices.SortStableFunc(cells, func(a, b *cell) int {
		if failure != nil {
			return 0
		}
		order, err := c.order(less, a.value, b.value)
		failure = err
		return order
	})
	return &list{cells: cells}, failure
}

// order compares two items.
func (c *invocation) order(less *lambda, a, b value) (int, error) {
	if less != nil {
		return c.orderBy(less, a, b)
	}
	if err := c.env.run.meter.Step(1); err != nil {
		return 0, err
	}
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), c.env.run.meter.Read(int64(min(len(x), len(y))))
		}
	case int64, float64:
		if order, ok := compareNumbers(a, b); ok {
			return order, nil
		}
	}
	return 0, problem("function sort: the items must be all strings or all numbers")
}

// orderBy calls a lambda, which returns a boolean or an integer.
func (c *invocation) orderBy(less *lambda, a, b value) (int, error) {
	before, err := c.comesBefore(less, a, b)
	if err != nil || before {
		return -1, err
	}
	after, err := c.comesBefore(less, b, a)
	if err != nil || after {
		return 1, err
	}
	return 0, nil
}

func (c *invocation) comesBefore(less *lambda, a, b value) (bool, error) {
	out, err := less.call(c.env, arguments{positional: []value{a, b}})
	if err != nil {
		return false, err
	}
	switch v := out.value.(type) {
	case bool:
		return v, nil
	case int64:
		return v < 0, nil
	}
	return false, problem("function sort: the lambda must yield a boolean or an integer")
}

func callReverse(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	l, err := c.list(0)
	if err != nil {
		return nil, err
	}
	if err := c.buildRepeated(len(l.cells), sizeOfValue); err != nil {
		return nil, err
	}
	cells := slices.Clone(l.cells)
	slices.Reverse(cells)
	return &list{cells: cells}, nil
}

// callKeys returns the sorted keys of a map.
func callKeys(c *invocation) (value, error) {
	if err := c.takes(1, 1); err != nil {
		return nil, err
	}
	d, err := c.dict(0)
	if err != nil {
		return nil, err
	}
	names, err := d.names()
	if err != nil {
		return nil, err
	}
	return c.texts(names)
}

// callMakemap builds a map from a list of maps with the fields key and value, or from alternating keys and values.
func callMakemap(c *invocation) (value, error) {
	if err := c.buildRepeated(len(c.args)+1, sizeOfCell); err != nil {
		return nil, err
	}
	if len(c.args) == 1 {
		return c.mapOfPairs()
	}
	if len(c.args)%2 != 0 {
		return nil, problem("function makemap takes a list, or keys and values in turn")
	}
	d := newDict(len(c.args) / 2)
	for i := 0; i < len(c.args); i += 2 {
		name, ok := simpleText(c.args[i])
		if !ok {
			return nil, c.wrong(i, "a simple value")
		}
		d.set(name, done(c.args[i+1]))
	}
	return d, nil
}

func (c *invocation) mapOfPairs() (value, error) {
	l, err := c.list(0)
	if err != nil {
		return nil, err
	}
	if err := c.buildRepeated(len(l.cells), sizeOfCell); err != nil {
		return nil, err
	}
	d := newDict(len(l.cells))
	for _, item := range l.cells {
		pair, ok := item.value.(*dict)
		if !ok || pair.get("key") == nil || pair.get("value") == nil {
			return nil, problem("function makemap: every item needs the fields key and value")
		}
		name, ok := simpleText(pair.get("key").value)
		if !ok {
			return nil, problem("function makemap: the field key must be a simple value")
		}
		d.set(name, pair.get("value"))
	}
	return d, nil
}

// callListToMap builds a map from a list of maps, keyed by one of their fields.
func callListToMap(c *invocation) (value, error) {
	if err := c.takes(1, 2); err != nil {
		return nil, err
	}
	l, err := c.list(0)
	if err != nil {
		return nil, err
	}
	key := l.key()
	if len(c.args) == 2 {
		if key, err = c.text(1); err != nil {
			return nil, err
		}
	}
	if err := c.env.run.meter.Step(int64(len(l.cells)) * costOfCall); err != nil {
		return nil, err
	}
	all := newDict(len(l.cells))
	for _, item := range l.cells {
		entries, ok := item.value.(*dict)
		if !ok {
			return nil, problem("function list_to_map: the items of the list must be maps")
		}
		name, err := fieldOf(item, key)
		if err != nil {
			return nil, err
		}
		if name == "" {
			return nil, problem("function list_to_map: every item needs the key field, and a string in it")
		}
		rest, err := c.without(entries, key)
		if err != nil {
			return nil, err
		}
		all.set(name, done(rest))
	}
	return all, nil
}

// without returns a copy of a map without one of its entries.
func (c *invocation) without(d *dict, omitted string) (*dict, error) {
	names := d.all()
	rest := newDict(len(names))
	for _, name := range names {
		if name != omitted {
			rest.set(name, d.get(name))
		}
	}
	return rest, c.buildRepeated(len(names)+1, sizeOfCell)
}

// callMerge evaluates the first of its maps or templates with the others as stubs.
func callMerge(c *invocation) (value, error) {
	if err := c.takes(1, -1); err != nil {
		return nil, err
	}
	documents := c.args
	if l, ok := c.args[0].(*list); ok && len(c.args) == 1 {
		documents = nil
		for _, item := range l.cells {
			documents = append(documents, item.value)
		}
	}
	if len(documents) == 0 {
		return nil, problem("function merge: there is nothing to merge")
	}
	var stubs []value
	for i := len(documents) - 1; ; i-- {
		merged, err := c.mergeOne(documents[i], stubs)
		if err != nil || i == 0 {
			return merged, err
		}
		stubs = append([]value{merged}, stubs...)
	}
}

// mergeOne evaluates a map or a template with stubs.
func (c *invocation) mergeOne(document value, stubs []value) (value, error) {
	if err := c.env.run.meter.Enter(); err != nil {
		return nil, err
	}
	defer c.env.run.meter.Leave()
	if err := c.env.run.meter.Step(costOfMerge); err != nil {
		return nil, err
	}
	e := &env{run: c.env.run, flow: &flow{stubs: stubs, outer: c.env}}
	var merged *cell
	switch v := document.(type) {
	case *blank:
		merged = cellOf(v.source, e, true)
	case *dict:
		merged = e.overlaid(done(v))
	default:
		return nil, problem("function merge: only maps and templates can be merged, not a value of type %s", typeOf(document))
	}
	if err := c.env.run.complete(merged); err != nil {
		return nil, e.flow.release(err)
	}
	if _, ok := merged.value.(*dict); !ok {
		return nil, problem("function merge: only maps and templates of maps can be merged")
	}
	return merged.value, nil
}
