// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// HandDown names a component of the set the way a nested installation does, so that the nested installation finds what
// the set has: the same component, and below it the same components from the same places.
//
// A component that can be read from a repository is named by its coordinates. One that was given inline, or that leads to
// one that was, is given inline: no repository may know it. Then all descriptors that were given inline go along, also
// those that the set had from elsewhere than the component itself.
func (s *Set) HandDown(found Resolution) (*lsv1alpha1.ComponentDescriptorDefinition, error) {
	m, known := s.members[found.Component.ID()]
	if !known || !m.leadsToInline {
		reference := found.Reference.Reference()
		return &lsv1alpha1.ComponentDescriptorDefinition{Reference: &reference}, nil
	}
	h := handover{set: s, given: map[*member]bool{}}
	// What is looked up for a component that belongs to another repository would be looked up there, and not where the set
	// has found it.
	h.everything = s.RepositoryContextOf(m.descriptor) != s.home
	text, err := h.descriptor(m).JSON(SchemaV2)
	if err != nil {
		return nil, err
	}
	return &lsv1alpha1.ComponentDescriptorDefinition{Inline: &lsv1alpha1.AnyJSON{Raw: text}}, nil
}

// handover is a descriptor in the making that contains others.
type handover struct {
	set *Set
	// everything says that no component below may be left to a repository.
	everything bool
	// given are the members that are contained already: once is enough.
	given map[*member]bool
}

// descriptor returns the descriptor of a member with all that it must contain. It names the repository that the member
// belongs to, which may have been that of the root or of the Context.
func (h *handover) descriptor(m *member) *Descriptor {
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

// reference puts the descriptor of a target into the label of a reference to it, if it has to be there. A reference that
// the overwrites send elsewhere cannot hold it: the overwrites will do the same for the nested installation.
func (h *handover) reference(r *Reference, target *member) {
	r.Labels = slices.DeleteFunc(slices.Clone(r.Labels), func(l Label) bool { return l.Name == InlineLabel })
	wanted := h.everything || target.leadsToInline
	if wanted && !h.given[target] && target.descriptor.ID() == r.Target() {
		r.Labels = append(r.Labels, Label{Name: InlineLabel, Value: h.descriptor(target).View(SchemaV2)})
	}
}
