// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package spiff

import (
	"cmp"
	"path"
	"slices"
	"strconv"

	"espalier.dev/internal/template"
)

// env is the environment of an expression.
type env struct {
	run  *run
	flow *flow
	// scope holds the visible names, innermost first.
	scope *scope
	// static holds the names defined by lambdas and scopes inside the expression; lambdas carry them along.
	static map[string]*cell
	// path leads to the node under evaluation, stub to its counterpart in the stubs.
	path, stub *trail
	// unmerged means that values are not overridden by stubs here, redirected that their counterparts are at another path.
	unmerged, redirected bool
	// kept reports whether values here are kept in the state, so that they can be generated.
	kept bool
	// element is the element that a projection is being applied to.
	element value
	// node is the node whose expression is being evaluated.
	node *source
}

// flow is the evaluation of a document: of the template itself, or of a template inside it that is instantiated.
type flow struct {
	// stubs are documents whose values take precedence over those of the document.
	stubs []value
	// outer resolves names that the document does not have.
	outer *env
}

// scope is a set of names.
type scope struct {
	names names
	next  *scope
	// root is the scope of the document.
	root *scope
}

// names resolves names to cells.
type names interface {
	get(name string) *cell
}

// local holds the names that a lambda or a scope defines.
type local map[string]*cell

func (l local) get(name string) *cell { return l[name] }

// trail is a path, linked from its end to its beginning.
type trail struct {
	step string
	up   *trail
}

// steps returns the path from beginning to end.
func (t *trail) steps() []string {
	var steps []string
	for ; t != nil; t = t.up {
		steps = append(steps, t.step)
	}
	slices.Reverse(steps)
	return steps
}

// trailOf is the inverse of steps.
func trailOf(steps []string) *trail {
	var t *trail
	for _, step := range steps {
		t = &trail{step, t}
	}
	return t
}

func (e *env) withScope(n names) *env {
	inner := *e
	inner.scope = &scope{names: n, next: e.scope}
	inner.scope.root = inner.scope
	if e.scope != nil {
		inner.scope.root = e.scope.root
	}
	return &inner
}

// withLocal adds names that are passed on to lambdas.
func (e *env) withLocal(added local) (*env, error) {
	if err := e.run.meter.Build(sizeOfCell * int64(len(e.static)+len(added))); err != nil {
		return nil, err
	}
	inner := e.withScope(added)
	inner.static = make(map[string]*cell, len(e.static)+len(added))
	for name, c := range e.static {
		inner.static[name] = c
	}
	for name, c := range added {
		inner.static[name] = c
	}
	return inner, nil
}

func (e *env) withStep(step string) *env {
	inner := *e
	inner.path = &trail{step, e.path}
	inner.stub = &trail{step, e.stub}
	return &inner
}

// withItem is withStep for an item of a list, which has another step in the stubs if it has a name. The name may be a value,
// so it must not become part of the path, which errors show.
func (e *env) withItem(index int, stubStep string) *env {
	inner := *e
	inner.path = &trail{indexedPath("", index), e.path}
	inner.stub = &trail{stubStep, e.stub}
	return &inner
}

// indexedPath appends an index to a path.
func indexedPath(path string, index int) string { return path + "[" + strconv.Itoa(index) + "]" }

// withRedirect changes where the counterparts of the values are in the stubs. An empty path means that there are none.
func (e *env) withRedirect(path []string) *env {
	inner := *e
	inner.unmerged = len(path) == 0
	if len(path) > 0 {
		inner.stub, inner.redirected = trailOf(path), true
	}
	return &inner
}

func (e *env) withElement(v value) *env {
	inner := *e
	inner.element = v
	return &inner
}

func (e *env) withNode(s *source) *env {
	inner := *e
	inner.node = s
	return &inner
}

// find looks up a name, from the innermost scope to the bindings. It skips undefined values.
func (e *env) find(name string) (*cell, error) {
	if name == contextName {
		return e.context()
	}
	scopes := int64(0)
	for s := e.scope; s != nil; s = s.next {
		scopes++
		c, err := lookup(s.names, name)
		if c != nil || err != nil {
			return c, err
		}
	}
	if err := e.run.meter.Step(scopes / scopesPerStep); err != nil {
		return nil, err
	}
	if e.flow.outer != nil {
		return e.flow.outer.find(name)
	}
	return nil, nil
}

// lookup returns the cell of a name if it exists and is defined.
func lookup(n names, name string) (*cell, error) {
	c := n.get(name)
	if c == nil {
		return nil, nil
	}
	if err := c.force(); err != nil {
		return nil, err
	}
	if c.undefined {
		return nil, nil
	}
	return c, nil
}

// nodeScope returns the scope of the map that contains the expression.
func (e *env) nodeScope() *scope {
	for s := e.scope; s != nil; s = s.next {
		if _, inline := s.names.(local); !inline {
			return s
		}
	}
	return nil
}

// root returns the scope of the document.
func (e *env) root() names {
	if e.scope == nil {
		return nil
	}
	return e.scope.root.names
}

// outermost returns the names of the outermost scope: the bindings, if there are any.
func (e *env) outermost() names {
	for e.flow.outer != nil {
		e = e.flow.outer
	}
	return e.root()
}

// inStubs looks up a value in the stubs. Its lambdas are defined here.
func (e *env) inStubs(path []string) (*cell, error) {
	for _, stub := range e.flow.stubs {
		c, _, err := e.walk(done(stub), path)
		if err != nil {
			return nil, err
		}
		if c != nil {
			v, err := e.revived(c.value, stub == value(e.run.state))
			return &cell{value: v, flags: c.flags}, err
		}
	}
	return nil, nil
}

// counterpart returns the value of the stubs at the place of the node under evaluation.
func (e *env) counterpart() (*cell, error) {
	if len(e.flow.stubs) == 0 || e.unmerged {
		return nil, nil
	}
	return e.inStubs(e.stub.steps())
}

// contextName is the name of the information about an expression's place.
const contextName = "__ctx"

// context returns the information about an expression's place. The file is that of the blueprint.
func (e *env) context() (*cell, error) {
	if err := e.run.meter.Step(costOfContext); err != nil {
		return nil, err
	}
	d := newDict(9)
	file := cmp.Or(e.run.source.File, "template")
	for _, name := range []string{"FILE", "RESOLVED_FILE"} {
		d.set(name, done(file))
	}
	for _, name := range []string{"DIR", "RESOLVED_DIR"} {
		d.set(name, done(path.Dir(file)))
	}
	steps := e.path.steps()
	name := ""
	for _, step := range steps {
		name = template.JoinPath(name, step)
	}
	d.set("PATHNAME", done(name))
	d.set("PATH", done(textList(steps)))
	d.set("STUBPATH", done(textList(e.stub.steps())))
	var outer []*cell
	bindings := done(&list{resolved: true})
	for o := e.flow.outer; o != nil; o = o.flow.outer {
		if root, ok := o.root().(*dict); ok {
			outer = append(outer, done(root))
			bindings = done(root)
		}
	}
	if outer != nil {
		d.set("OUTER", done(&list{cells: outer}))
	}
	d.set("BINDINGS", bindings)
	return done(d), nil
}

func textList(texts []string) *list {
	l := &list{resolved: true}
	for _, text := range texts {
		l.cells = append(l.cells, done(text))
	}
	return l
}

// itemsPerStep is the number of list items examined per step.
const itemsPerStep = 4

// stepInto follows one step of a path: the name of an entry, an index, or a value of the field that distinguishes the
// items of a list. It returns nil if the step leads nowhere.
func (r *run) stepInto(c *cell, step string) (*cell, error) {
	if err := r.meter.Step(1); err != nil {
		return nil, err
	}
	if err := c.force(); err != nil {
		return nil, err
	}
	switch v := c.value.(type) {
	case *dict:
		return lookup(v, step)
	case *list:
		if err := r.meter.Step(int64(len(v.cells)) / itemsPerStep); err != nil {
			return nil, err
		}
		return v.step(step)
	}
	return nil, nil
}

func (l *list) step(step string) (*cell, error) {
	if index, ok := indexOf(step); ok {
		return l.at(index)
	}
	return l.named(step)
}

// at returns the item at an index, counted from the end if negative. Undefined items do not count. Only the items up to it
// are evaluated, so that an item can refer to another one of the same list.
func (l *list) at(index int) (*cell, error) {
	for i := range l.cells {
		c := l.cells[i]
		if index < 0 {
			c = l.cells[len(l.cells)-1-i]
		}
		there, err := c.present()
		if err != nil {
			return nil, err
		}
		switch {
		case !there:
		case index == 0 || index == -1:
			return c, nil
		case index > 0:
			index--
		default:
			index++
		}
	}
	return nil, nil
}

// indexOf parses an index in brackets.
func indexOf(step string) (int, bool) {
	if len(step) < 3 || step[0] != '[' || step[len(step)-1] != ']' {
		return 0, false
	}
	index, err := strconv.Atoi(step[1 : len(step)-1])
	return index, err == nil
}

// named returns the item whose distinguishing field has the given value. The step may name another field: field:value.
func (l *list) named(step string) (*cell, error) {
	key, wanted := l.key(), step
	for i := 1; i < len(step); i++ {
		if step[i] == ':' {
			key, wanted = step[:i], step[i+1:]
			break
		}
	}
	for _, item := range l.cells {
		if there, err := item.present(); err != nil || !there {
			if err != nil {
				return nil, err
			}
			continue
		}
		d, ok := item.value.(*dict)
		if !ok {
			continue
		}
		field, err := lookup(d, key)
		if err != nil {
			return nil, err
		}
		if field != nil && field.value == wanted {
			return item, nil
		}
	}
	return nil, nil
}
