// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"reflect"
)

// InlineLabel is the label of a reference that contains the descriptor of the component it refers to.
const InlineLabel = "landscaper.gardener.cloud/component-descriptor"

// nestedDescriptors returns a descriptor with all descriptors that are nested in the labels of its references, at any depth. The same
// component may be nested more than once if the descriptors are equal.
func nestedDescriptors(root *Descriptor) (map[ID]*Descriptor, error) {
	found := map[ID]*Descriptor{}
	return found, collectNested(root, found)
}

func collectNested(d *Descriptor, found map[ID]*Descriptor) error {
	if other, taken := found[d.ID()]; taken {
		if !reflect.DeepEqual(other, d) {
			return fmt.Errorf("component %s is given inline twice, with different descriptors", d.ID())
		}
		return nil
	}
	found[d.ID()] = d
	for i := range d.References {
		if err := collectReferenced(d, &d.References[i], found); err != nil {
			return err
		}
	}
	return nil
}

func collectReferenced(d *Descriptor, reference *Reference, found map[ID]*Descriptor) error {
	value, labelled := reference.Label(InlineLabel)
	if !labelled {
		return nil
	}
	nested, err := nestedDescriptor(value)
	if err != nil {
		return fmt.Errorf("component %s, reference %s, label %s: %w", d.ID(), reference.Name, InlineLabel, err)
	}
	if nested.ID() != reference.Target() {
		return fmt.Errorf(
			"component %s, reference %s: it refers to %s, but its label %s describes %s",
			d.ID(),
			reference.Name,
			reference.Target(),
			InlineLabel,
			nested.ID(),
		)
	}
	return collectNested(nested, found)
}

// nestedDescriptor reads the value of the label: a descriptor, or its text.
func nestedDescriptor(value any) (*Descriptor, error) {
	if text, ok := value.(string); ok {
		return Parse([]byte(text), DefaultLimits)
	}
	return fromTree(value, DefaultLimits)
}
