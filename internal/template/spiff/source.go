// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"maps"
	"slices"
	"strings"

	"espalier.dev/internal/template"
)

// source is a node of a template before evaluation. It is immutable.
type source struct {
	kind sourceKind
	// original is the plain value that the node was compiled from.
	original any
	// scalar is the value of a node that needs no evaluation.
	scalar value
	// expr is the expression of a node, and text the text between its brackets.
	expr expr
	text string
	// names are the sorted names of the entries of a mapping; entries are their nodes.
	names   []string
	entries map[string]*source
	// inserted is the entry << of a mapping. Its value is inserted into the mapping.
	inserted *source
	items    []*source
	// keyName is the field that distinguishes the items of a sequence.
	keyName string
	place   template.Place
	// hidden reports whether the expression was composed from values, so that it must not be shown.
	hidden bool
}

type sourceKind uint8

const (
	scalarKind sourceKind = iota
	expressionKind
	mappingKind
	sequenceKind
)

// The names of the entry whose value is inserted. The second one is for files that pass through a parser for which the first
// has a special meaning.
const (
	insertKey      = "<<"
	otherInsertKey = "<<<"
)

// noKey means that no field distinguishes the items of a list.
const noKey = "!"

// compiler compiles a plain value to a template.
type compiler struct {
	meter  *template.Meter
	places map[string]template.Place
	// hidden reports whether the text was composed from values, so that it must not be shown.
	hidden bool
	// tags reports whether nodes can have tags: those of the document itself can.
	tags bool
}

// compileError is where a template cannot be compiled.
type compileError struct {
	place  template.Place
	offset int
	cause  error
}

func (c *compiler) node(plain any, path string, level int) (*source, *compileError) {
	if err := c.meter.Nested(level); err != nil {
		return nil, &compileError{place: template.Place{Path: path}, cause: err}
	}
	if err := c.meter.Step(1); err != nil {
		return nil, &compileError{place: template.Place{Path: path}, cause: err}
	}
	switch v := plain.(type) {
	case map[string]any:
		return c.mapping(v, path, level)
	case []any:
		return c.sequence(v, path, level)
	case string:
		return c.text(v, path)
	}
	return &source{kind: scalarKind, original: plain, scalar: plain, place: template.Place{Path: path}}, nil
}

// text compiles a string, which may be an expression, or an expression escaped by an exclamation mark.
func (c *compiler) text(text, path string) (*source, *compileError) {
	place := template.Place{Path: path}
	if known, ok := c.places[path]; ok {
		place.Line, place.Column = known.Line, known.Column
	}
	inner, ok := isExpression(text)
	if !ok {
		return &source{kind: scalarKind, original: text, scalar: text, place: place}, nil
	}
	if escaped, ok := strings.CutPrefix(inner, "!"); ok {
		return &source{kind: scalarKind, original: text, scalar: "((" + escaped + "))", place: place}, nil
	}
	place.Expression = text
	expression, err := parse(inner, c.meter)
	if err != nil {
		return nil, &compileError{place: place, offset: err.offset, cause: err.problem}
	}
	if m, ok := expression.(*marked); ok && m.tag != "" && !c.tags {
		return nil, &compileError{place: place, cause: template.Problemf("the marker &tag is not available here because %s", becauseNoNode)}
	}
	return &source{kind: expressionKind, original: text, expr: expression, text: inner, place: place, hidden: c.hidden}, nil
}

func (c *compiler) mapping(entries map[string]any, path string, level int) (*source, *compileError) {
	s := &source{kind: mappingKind, original: entries, entries: make(map[string]*source, len(entries)), place: template.Place{Path: path}}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if instead := refusedControls[name]; instead != "" {
			return nil, c.refuseControl(path, name, instead)
		}
		entry, err := c.node(entries[name], template.JoinPath(path, name), level+1)
		if err != nil {
			return nil, err
		}
		if name == insertKey || name == otherInsertKey {
			if s.inserted != nil {
				return nil, &compileError{place: s.place, cause: template.Problemf("a map can have only one of the keys << and <<<")}
			}
			s.inserted = entry
			continue
		}
		s.entries[unescapeKey(name)] = entry
	}
	s.names = slices.Sorted(maps.Keys(s.entries))
	return s, nil
}

// refusedControls are the keys of control structures, which are an option of the original language, with replacements.
var refusedControls = map[string]string{
	"<<if":     `(( condition ? value :~~ ))`,
	"<<switch": `(( x == "a" ? value :other ))`,
	"<<type":   `(( type(x) == "list" ? value :other ))`,
	"<<for":    `(( map[list|x|->value] ))`,
	"<<merge":  `(( merge(map, map) ))`,
}

// refuseControl rejects a map that is a control structure. Without the option, the original treats it as data, which cannot
// be the intention of its author.
func (c *compiler) refuseControl(path, name, instead string) *compileError {
	place := c.places[template.JoinPath(path, name)]
	place.Path = template.JoinPath(path, name)
	return &compileError{place: place, cause: template.Problemf(
		"the control structure %s is not available in blueprints because it is an option of spiff that is off; use %s instead, or write %s for a key of this name",
		name,
		instead,
		strings.Replace(name, insertKey, insertKey+"!", 1),
	)}
}

// unescapeKey removes the exclamation mark that prevents a key from being an insertion.
func unescapeKey(name string) string {
	for _, key := range []string{otherInsertKey, insertKey} {
		if rest, ok := strings.CutPrefix(name, key+"!"); ok {
			return key + rest
		}
	}
	return name
}

func (c *compiler) sequence(items []any, path string, level int) (*source, *compileError) {
	s := &source{kind: sequenceKind, original: items, items: make([]*source, len(items)), place: template.Place{Path: path}}
	for i, plain := range items {
		item, err := c.node(plain, indexedPath(path, i), level+1)
		if err != nil {
			return nil, err
		}
		item, keyName := item.withoutKeyTag()
		if keyName != "" {
			s.keyName = keyName
		}
		s.items[i] = item
	}
	return s, nil
}

// withoutKeyTag removes the prefix key: from a field of a mapping, which marks the field that distinguishes the items of
// the list; with an exclamation mark, no field does. It returns the name of the field.
func (s *source) withoutKeyTag() (*source, string) {
	keyName := ""
	for _, name := range s.names {
		tagged, ok := strings.CutPrefix(name, "key:")
		if !ok {
			continue
		}
		field, not := strings.CutPrefix(tagged, "!")
		if not || keyName != "" && keyName != field {
			field, keyName = strings.TrimPrefix(tagged, "!"), noKey
		} else {
			keyName = field
		}
		s = s.renamed(name, field)
	}
	return s, keyName
}

func (s *source) renamed(from, to string) *source {
	changed := *s
	changed.entries = maps.Clone(s.entries)
	changed.entries[to] = changed.entries[from]
	delete(changed.entries, from)
	changed.names = slices.Sorted(maps.Keys(changed.entries))
	return &changed
}

// insertion returns the entry << of an item that has no other entry: such an item stands for several.
func (s *source) insertion() *source {
	if s.kind == mappingKind && len(s.names) == 0 {
		return s.inserted
	}
	return nil
}

// markers returns the markers of a node, if its expression has any.
func (s *source) markers() *marked {
	if s == nil || s.kind != expressionKind {
		return nil
	}
	m, _ := s.expr.(*marked)
	return m
}

// unmarked returns the expression after the markers of a node as a separate node, or nil if there is none.
func (s *source) unmarked(m *marked) *source {
	if m.inner == nil {
		return nil
	}
	inner := *s
	inner.expr = m.inner
	return &inner
}
