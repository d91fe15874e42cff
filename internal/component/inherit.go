// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Inherit names a component of the set in the form in which a nested installation inherits it: the nested installation finds the same
// component, and below it the same components from the same places.
//
// A component in a repository is named by its coordinates. A component that was given inline, or that leads to one that was, is given
// inline, because no repository may have it. Then all inline descriptors are passed along, including those that the set did not get from
// the component itself.
func (s *Set) Inherit(found Resolution) (*lsv1alpha1.ComponentDescriptorDefinition, error) {
	m, known := s.members[found.Component.ID()]
	if !known || !m.leadsToInline {
		reference := found.Reference.Reference()
		return &lsv1alpha1.ComponentDescriptorDefinition{Reference: &reference}, nil
	}
	h := inheritance{set: s, given: map[*member]bool{}}
	// References of a component in another repository are looked up there, and not where the set found them.
	h.everything = s.RepositoryContextOf(m.descriptor) != s.home
	text, err := h.descriptor(m).JSON(SchemaV2)
	if err != nil {
		return nil, err
	}
	return &lsv1alpha1.ComponentDescriptorDefinition{Inline: &lsv1alpha1.AnyJSON{Raw: text}}, nil
}

// inheritance is a descriptor under construction that contains others.
type inheritance struct {
	set *Set
	// everything reports whether all components below must be included.
	everything bool
	// given are the members that are already contained: once is enough.
	given map[*member]bool
}

// descriptor returns the descriptor of a member with everything that it must contain. It names the member's repository, which may have come
// from the root or the Context.
func (h *inheritance) descriptor(m *member) *Descriptor {
	h.given[m] = true
	d := *m.descriptor
	if home := h.set.RepositoryContextOf(&d); len(d.RepositoryContexts) == 0 && !home.IsZero() {
		d.RepositoryContexts = []RepositoryContext{home}
	}
	d.References = slices.Clone(d.References)
	for i, target := range m.targets {
		h.reference(&d.References[i], target)
	}
	return &d
}

// reference puts the descriptor of a target into the label of a reference to it, if required. A reference that the overwrites redirect
// cannot hold it: the overwrites also redirect it for the nested installation.
func (h *inheritance) reference(r *Reference, target *member) {
	r.Labels = slices.DeleteFunc(slices.Clone(r.Labels), func(l Label) bool { return l.Name == InlineLabel })
	wanted := h.everything || target.leadsToInline
	if wanted && !h.given[target] && target.descriptor.ID() == r.Target() {
		r.Labels = append(r.Labels, Label{Name: InlineLabel, Value: h.descriptor(target).View(SchemaV2)})
	}
}
