// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ClosureOptions are the starting point of a closure.
type ClosureOptions struct {
	// Root is the component of the installation, as the installation names it. If Inline is set, only the repository
	// context counts, and only if the descriptor names none.
	Root Coordinates
	// Inline is the inline descriptor of the installation, or nil.
	Inline *Descriptor
	// Overwrites apply to the root and to every reference.
	Overwrites *Overwrites
	// Limits default to DefaultClosureLimits.
	Limits ClosureLimits
}

// Closure collects a component and everything that it refers to. It reads nothing itself: the caller gets the wanted components, provides
// them, and repeats that until none are wanted.
type Closure struct {
	options ClosureOptions
	// home is the repository in which references are looked up: that of the root, after overwrites.
	home    RepositoryContext
	inline  map[ID]*Descriptor
	members map[ID]*member
	root    *member
	// given are inline components with references that were not followed yet.
	given  []*member
	wanted []Wanted
}

// member is a component of a closure.
type member struct {
	origin     Coordinates
	descriptor *Descriptor
	inline     bool
	// leadsToInline means that the member or one below it was given inline. It is known once the set is complete.
	leadsToInline bool
	// targets are the targets of the references, in the order of the descriptor.
	targets []*member
	// parent and via record how the member was found first; the root has no parent.
	parent *member
	via    string
	depth  int
}

// Wanted is a component that a closure needs next.
type Wanted struct {
	At Coordinates

	member *member
}

// Path returns the references that led to the component, for messages.
func (w Wanted) Path() string { return w.member.path() }

// NewClosure starts a closure.
func NewClosure(options ClosureOptions) (*Closure, error) {
	if options.Limits == (ClosureLimits{}) {
		options.Limits = DefaultClosureLimits
	}
	c := &Closure{options: options, members: map[ID]*member{}}
	at := options.Root
	if options.Inline != nil {
		nested, err := nestedDescriptors(options.Inline)
		if err != nil {
			return nil, err
		}
		c.inline = nested
		at = InlineCoordinates(options.Inline, options.Root.RepositoryContext)
	}
	if at.Name == "" || at.Version == "" {
		return nil, fmt.Errorf("a component needs a name and a version, got %q and %q", at.Name, at.Version)
	}
	at = options.Overwrites.Apply(at)
	c.home = at.RepositoryContext
	c.root = &member{origin: at}
	if err := c.add(c.root); err != nil {
		return nil, err
	}
	return c, c.expandGiven()
}

// Wanted returns what to provide next, in the same order for the same input. It returns each component only once.
func (c *Closure) Wanted() []Wanted {
	wanted := c.wanted
	c.wanted = nil
	return wanted
}

// Provide adds the descriptor of a wanted component.
func (c *Closure) Provide(w Wanted, d *Descriptor) error {
	if d.ID() != w.At.ID() {
		return fmt.Errorf("%s: the repository returned the descriptor of %s", w.Path(), d.ID())
	}
	if err := c.expand(w.member, d); err != nil {
		return err
	}
	return c.expandGiven()
}

// add adds a new component.
func (c *Closure) add(m *member) error {
	if m.depth > c.options.Limits.Depth {
		return fmt.Errorf("%s: references are nested deeper than %d", m.path(), c.options.Limits.Depth)
	}
	if len(c.members) >= c.options.Limits.Components {
		return fmt.Errorf("%s: there are more than %d components", m.path(), c.options.Limits.Components)
	}
	c.members[m.origin.ID()] = m
	if _, m.inline = c.inline[m.origin.ID()]; m.inline {
		c.given = append(c.given, m)
	} else {
		c.wanted = append(c.wanted, Wanted{At: m.origin, member: m})
	}
	return nil
}

// expandGiven follows the references of inline components until they lead to components that are not inline.
func (c *Closure) expandGiven() error {
	for len(c.given) > 0 {
		next := c.given[0]
		c.given = c.given[1:]
		if err := c.expand(next, c.inline[next.origin.ID()]); err != nil {
			return err
		}
	}
	return nil
}

// expand follows the references of a component.
func (c *Closure) expand(m *member, d *Descriptor) error {
	m.descriptor = d
	m.targets = make([]*member, len(d.References))
	for i := range d.References {
		target, err := c.follow(m, &d.References[i])
		if err != nil {
			return err
		}
		m.targets[i] = target
	}
	return nil
}

func (c *Closure) follow(from *member, reference *Reference) (*member, error) {
	target := reference.Target()
	at := c.options.Overwrites.Apply(Coordinates{RepositoryContext: c.home, Name: target.Name, Version: target.Version})
	found := &member{origin: at, parent: from, via: reference.Name, depth: from.depth + 1}
	known, taken := c.members[at.ID()]
	if !taken {
		return found, c.add(found)
	}
	if !known.inline && known.origin != at {
		return nil, fmt.Errorf(
			"%s is required from %s, but %s from %s: the overwrites redirect one component to two repositories",
			found.path(),
			at.RepositoryContext,
			known.path(),
			known.origin.RepositoryContext,
		)
	}
	return known, nil
}

// path returns the references from the root to the member.
func (m *member) path() string {
	if m.parent == nil {
		return "component " + m.origin.ID().String()
	}
	return m.parent.path() + step(m.via, m.origin.ID())
}

func step(via string, to ID) string { return " -> " + via + " (" + to.String() + ")" }

// Set returns the finished closure. It fails if components are still wanted, or refer to each other in a
// cycle.
func (c *Closure) Set() (*Set, error) {
	s := &Set{members: c.members, home: c.home}
	visited := map[*member]visit{}
	if err := s.visit(c.root, visited, nil); err != nil {
		return nil, err
	}
	return s, nil
}

// visit is the state of a member during the traversal that orders a set.
type visit int

const (
	visitBegun visit = iota + 1
	visitDone
)

// visit walks from a member along its references, depth first, and fails if it meets a member again on the same path.
func (s *Set) visit(m *member, visited map[*member]visit, way []*member) error {
	switch visited[m] {
	case visitDone:
		return nil
	case visitBegun:
		return circle(append(way, m))
	}
	if m.descriptor == nil {
		return fmt.Errorf("%s: the component descriptor is missing", m.path())
	}
	visited[m] = visitBegun
	s.ordered = append(s.ordered, m)
	way = append(way, m)
	m.leadsToInline = m.inline
	for _, target := range m.targets {
		if err := s.visit(target, visited, way); err != nil {
			return err
		}
		m.leadsToInline = m.leadsToInline || target.leadsToInline
	}
	visited[m] = visitDone
	return nil
}

// circle names the members of a cycle, which closes at the last member of the path.
func circle(way []*member) error {
	last := way[len(way)-1]
	ring := way[slices.Index(way, last):]
	var text strings.Builder
	text.WriteString("components refer to each other in a cycle: " + last.origin.ID().String())
	for i, m := range ring[1:] {
		from := ring[i]
		via := from.descriptor.References[slices.Index(from.targets, m)].Name
		text.WriteString(step(via, m.origin.ID()))
	}
	return errors.New(text.String())
}
