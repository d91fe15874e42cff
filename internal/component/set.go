// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"slices"
)

// Set is a component with everything that it refers to. It is complete, has no cycles, and never changes.
type Set struct {
	members map[ID]*member
	// ordered starts with the root; every component comes after the first one that refers to it.
	ordered []*member
	home    RepositoryContext
}

// Root returns the component of the installation, after overwrites.
func (s *Set) Root() *Descriptor { return s.ordered[0].descriptor }

// All returns the descriptors, the root first. The order depends only on the references.
func (s *Set) All() []*Descriptor {
	all := make([]*Descriptor, len(s.ordered))
	for i, m := range s.ordered {
		all[i] = m.descriptor
	}
	return all
}

// Lookup returns a component by its name and version.
func (s *Set) Lookup(id ID) (*Descriptor, error) {
	m, found := s.members[id]
	if !found {
		return nil, fmt.Errorf("there is no component %s; there are %s", id, s.list())
	}
	return m.descriptor, nil
}

func (s *Set) list() string {
	var texts []string
	for _, m := range s.ordered[:min(len(s.ordered), maxListed)] {
		texts = append(texts, m.origin.ID().String())
	}
	return joinListed(texts, len(s.ordered))
}

// Origin returns where a component of the set was found, after overwrites.
func (s *Set) Origin(d *Descriptor) Coordinates {
	if m, found := s.members[d.ID()]; found {
		return m.origin
	}
	return Coordinates{Name: d.Name, Version: d.Version}
}

// IsInline reports whether a component of the set was given inline.
func (s *Set) IsInline(d *Descriptor) bool {
	m, found := s.members[d.ID()]
	return found && m.inline
}

// RepositoryContextOf returns the repository to which a component belongs: the last one that its descriptor names,
// otherwise the one in which it was found.
func (s *Set) RepositoryContextOf(d *Descriptor) RepositoryContext {
	if context := d.EffectiveRepositoryContext(); !context.IsZero() {
		return context
	}
	return s.Origin(d).RepositoryContext
}

// Referenced returns the target of a reference, and the coordinates that it had before overwrites.
func (s *Set) Referenced(from *Descriptor, selector Identity) (*Descriptor, Coordinates, error) {
	reference, err := from.Reference(selector)
	if err != nil {
		return nil, Coordinates{}, err
	}
	d, err := s.follow(from.ID(), reference)
	target := reference.Target()
	return d, Coordinates{RepositoryContext: s.home, Name: target.Name, Version: target.Version}, err
}

// Target returns the target of a reference of a component of the set.
func (s *Set) Target(of *Descriptor, reference *Reference) (*Descriptor, error) {
	return s.follow(of.ID(), reference)
}

// follow returns the target of a reference. A reference of a component of the set follows the overwrites, which depend only on the
// component that it names; any other reference leads to the component that it names.
func (s *Set) follow(from ID, reference *Reference) (*Descriptor, error) {
	if m, found := s.members[from]; found {
		i := slices.IndexFunc(m.descriptor.References, func(r Reference) bool { return r.Target() == reference.Target() })
		if i >= 0 {
			return m.targets[i].descriptor, nil
		}
	}
	d, err := s.Lookup(reference.Target())
	if err != nil {
		return nil, fmt.Errorf("component %s, reference %s: %w", from, reference.Name, err)
	}
	return d, nil
}

// Resolution is the target of a reference to a component or a resource.
type Resolution struct {
	// Component is the target component.
	Component *Descriptor
	// Resource is the target resource in it, nil if the reference is to the component.
	Resource *Resource
	// Reference contains the coordinates of the component as written, before overwrites. An installation that uses the component refers to it
	// by them, so that the overwrites of its own context apply.
	Reference Coordinates
	// Inline reports whether the component was given inline, so that a repository may not have it.
	Inline bool
}

// Resolve follows a reference to a resource from one of the components of the set.
func (s *Set) Resolve(from *Descriptor, ref ResourceReference) (Resolution, error) {
	at := Resolution{Component: from, Reference: s.Origin(from), Inline: s.IsInline(from)}
	for _, selector := range ref.Path {
		next, original, err := s.Referenced(at.Component, selector)
		if err != nil {
			return Resolution{}, err
		}
		at = Resolution{Component: next, Reference: original, Inline: s.IsInline(next)}
	}
	if len(ref.Resource) == 0 {
		return at, nil
	}
	resource, err := at.Component.Resource(ref.Resource)
	if err != nil {
		return Resolution{}, err
	}
	at.Resource = resource
	return at, nil
}

// View returns all components as templates see them in the binding components: in schema v2 an object with the list under components, in
// schema v3alpha1 the list itself. The caller may change it.
func (s *Set) View(schema Schema) any {
	views := make([]any, len(s.ordered))
	for i, m := range s.ordered {
		views[i] = m.descriptor.View(schema)
	}
	if schema == SchemaV3 {
		return views
	}
	return map[string]any{"meta": map[string]any{"schemaVersion": string(SchemaV2)}, "components": views}
}
