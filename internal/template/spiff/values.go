// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"espalier.dev/internal/template"
)

// value is the value of an expression: nil, bool, int64, float64, string, *list, *dict, *lambda or *blank.
type value any

// flags are the markers of a value.
type flags uint8

const (
	isTemplate flags = 1 << iota
	isTemporary
	isLocal
	isInject
	isState
	isDefault
	// isDynamic makes stubs evaluate again. The only stub is the state, so it has no effect.
	isDynamic
)

func (f flags) has(flag flags) bool { return f&flag != 0 }

// list is a list whose items may be unevaluated. Its items must not be modified, because lists share them.
type list struct {
	cells []*cell
	// keyName is the field that distinguishes the items, if they are maps; empty means "name".
	keyName string
	// resolved reports whether everything inside is evaluated.
	resolved bool
}

// dict is a map whose entries may be unevaluated. It is modified only while it is being built.
type dict struct {
	cells map[string]*cell
	// plain holds the entries not accessed yet. A dict has either plain entries or cells; the first access to an entry moves
	// it, so that a large input costs nothing until it is used.
	plain    map[string]any
	resolved bool
	// revives is where the lambdas among the plain entries are defined. It is nil if texts are just texts.
	revives *env
}

// The sizes of parts of values, in bytes.
const (
	sizeOfCell  = 96
	sizeOfValue = 16
)

// fromPlain converts a plain value to a cell. A value that is not plain gives a cell that cannot be evaluated.
func fromPlain(plain any) *cell {
	switch v := plain.(type) {
	case map[string]any:
		return done(&dict{plain: v, resolved: true})
	case []any:
		cells := make([]*cell, len(v))
		for i, item := range v {
			cells[i] = fromPlain(item)
		}
		return done(&list{cells: cells, resolved: true})
	case nil, bool, string, int64, float64:
		return done(v)
	}
	converted, err := template.Plain(plain, template.Limits{})
	if err != nil {
		return &cell{state: failed, err: err}
	}
	return fromPlain(converted)
}

func newDict(size int) *dict { return &dict{cells: make(map[string]*cell, size)} }

// get returns an entry, which may turn out to be undefined.
func (d *dict) get(name string) *cell {
	if c := d.cells[name]; c != nil {
		return c
	}
	plain, ok := d.plain[name]
	if !ok {
		return nil
	}
	if d.cells == nil {
		d.cells = map[string]*cell{}
	}
	c := fromPlain(plain)
	if d.revives != nil {
		c = d.revives.revivedPart(c)
	}
	d.cells[name] = c
	return c
}

// length returns the number of entries of a resolved dict.
func (d *dict) length() int {
	if d.plain != nil {
		return len(d.plain)
	}
	return len(d.cells)
}

// set adds an entry to a dict that is being built.
func (d *dict) set(name string, c *cell) { d.cells[name] = c }

// all returns the sorted names of all entries, including undefined ones.
func (d *dict) all() []string {
	if d.plain != nil {
		return slices.Sorted(maps.Keys(d.plain))
	}
	return slices.Sorted(maps.Keys(d.cells))
}

// names returns the sorted names of the defined entries.
func (d *dict) names() ([]string, error) {
	var defined []string
	for _, name := range d.all() {
		c := d.get(name)
		if err := c.force(); err != nil {
			return nil, err
		}
		if !c.undefined {
			defined = append(defined, name)
		}
	}
	return defined, nil
}

// items returns the defined items.
func (l *list) items() ([]*cell, error) {
	defined := make([]*cell, 0, len(l.cells))
	for _, c := range l.cells {
		if err := c.force(); err != nil {
			return nil, err
		}
		if !c.undefined {
			defined = append(defined, c)
		}
	}
	return defined, nil
}

// key returns the name of the field that distinguishes the items.
func (l *list) key() string {
	if l.keyName == "" {
		return "name"
	}
	return l.keyName
}

// resolve evaluates everything inside a value, and removes undefined parts.
func (r *run) resolve(v value, level int) error {
	if err := r.meter.Nested(level); err != nil {
		return err
	}
	switch v := v.(type) {
	case *dict:
		return r.resolveDict(v, level)
	case *list:
		return r.resolveList(v, level)
	}
	return nil
}

func (r *run) resolveDict(d *dict, level int) error {
	if d.resolved {
		return nil
	}
	for _, name := range d.all() {
		c := d.get(name)
		if err := r.resolveCell(c, level); err != nil {
			return err
		}
		if c.undefined {
			delete(d.cells, name)
		}
	}
	d.resolved = true
	return nil
}

func (r *run) resolveList(l *list, level int) error {
	if l.resolved {
		return nil
	}
	for _, c := range l.cells {
		if err := r.resolveCell(c, level); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(l.cells, (*cell).isUndefined) {
		l.cells = slices.DeleteFunc(slices.Clone(l.cells), (*cell).isUndefined)
	}
	l.resolved = true
	return nil
}

func (r *run) resolveCell(c *cell, level int) error {
	if err := r.meter.Step(1); err != nil {
		return err
	}
	if err := c.force(); err != nil {
		return err
	}
	return r.resolve(c.value, level+1)
}

// typeOf returns the name of a value's type, in the language's terms.
func typeOf(v value) string {
	switch v.(type) {
	case nil:
		return "nil"
	case string:
		return "string"
	case int64:
		return "int"
	case float64:
		return "float"
	case bool:
		return "bool"
	case *list:
		return "list"
	case *dict:
		return "map"
	case *blank:
		return "template"
	default:
		return "lambda"
	}
}

// truth reports whether a value counts as true.
func truth(v value) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case int64:
		return v != 0
	case *list:
		return len(v.cells) > 0
	case *dict:
		return v.length() > 0
	}
	return true
}

// simpleText formats a string, an integer or a boolean.
func simpleText(v value) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case int64:
		return strconv.FormatInt(v, 10), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// toPlain returns a plain copy of a resolved value. For output, temporary and local parts are omitted. Lambdas and
// templates become their source text.
func (r *run) toPlain(v value, output bool) (any, error) {
	return r.plainValue(v, output, 0)
}

func (r *run) plainValue(v value, output bool, level int) (any, error) {
	if err := r.meter.Nested(level); err != nil {
		return nil, err
	}
	if err := r.meter.Step(costOfCell); err != nil {
		return nil, err
	}
	if err := r.meter.Build(sizeOfValue); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case *list:
		return r.plainItems(v, output, level)
	case *dict:
		return r.plainEntries(v, output, level)
	case *lambda:
		return "(( " + v.text() + " ))", r.meter.Build(int64(len(v.text())))
	case *blank:
		return template.Plain(v.original, r.meter.Limits())
	case string:
		return v, r.meter.Build(int64(len(v)))
	case float64:
		return template.PlainFloat(v), nil
	}
	return v, nil
}

func (r *run) plainItems(l *list, output bool, level int) (any, error) {
	plain := make([]any, 0, len(l.cells))
	for _, c := range l.cells {
		if c.undefined || output && c.flags.has(isTemporary|isLocal) {
			continue
		}
		item, err := r.plainValue(c.value, output, level+1)
		if err != nil {
			return nil, err
		}
		plain = append(plain, item)
	}
	return plain, nil
}

func (r *run) plainEntries(d *dict, output bool, level int) (any, error) {
	if d.plain != nil {
		_, before := r.meter.Used()
		if err := r.meter.Measure(d.plain); err != nil {
			return nil, err
		}
		_, after := r.meter.Used()
		if err := r.meter.Step((after - before) / bytesPerStep); err != nil {
			return nil, err
		}
		return template.Plain(d.plain, r.meter.Limits())
	}
	plain := make(map[string]any, len(d.cells))
	for _, name := range d.all() {
		c := d.get(name)
		if c.undefined || output && c.flags.has(isTemporary|isLocal) {
			continue
		}
		if err := r.meter.Build(int64(len(name)) + sizeOfCell); err != nil {
			return nil, err
		}
		item, err := r.plainValue(c.value, output, level+1)
		if err != nil {
			return nil, err
		}
		plain[name] = item
	}
	return plain, nil
}

// isExpression reports whether a string is an expression, and returns the text between its brackets.
func isExpression(text string) (string, bool) {
	if len(text) < len("(())") || !strings.HasPrefix(text, "((") || !strings.HasSuffix(text, "))") {
		return "", false
	}
	return text[2 : len(text)-2], true
}
