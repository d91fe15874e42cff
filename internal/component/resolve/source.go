// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"espalier.dev/internal/component"
)

// ErrNotFound means that a source does not have a component, so that the next one is queried.
var ErrNotFound = errors.New("component not found")

// Source returns component descriptors. It must be safe for concurrent use.
type Source interface {
	// Descriptor returns the descriptor of a component version. If the source has none, the error is ErrNotFound.
	Descriptor(ctx context.Context, at component.Coordinates) (*component.Descriptor, error)
}

// Memory is a source of descriptors in memory.
type Memory struct {
	descriptors map[component.ID]*component.Descriptor
}

// NewMemory returns a source of descriptors. The same component may occur more than once if the descriptors are equal.
func NewMemory(descriptors ...*component.Descriptor) (*Memory, error) {
	m := &Memory{descriptors: make(map[component.ID]*component.Descriptor, len(descriptors))}
	for _, d := range descriptors {
		if other, taken := m.descriptors[d.ID()]; taken && !reflect.DeepEqual(other, d) {
			return nil, fmt.Errorf("component %s is given twice, with different descriptors", d.ID())
		}
		m.descriptors[d.ID()] = d
	}
	return m, nil
}

// Descriptor implements Source. It ignores the repository context.
func (m *Memory) Descriptor(_ context.Context, at component.Coordinates) (*component.Descriptor, error) {
	d, found := m.descriptors[at.ID()]
	if !found {
		return nil, fmt.Errorf("%w among the %d that are given", ErrNotFound, len(m.descriptors))
	}
	return d, nil
}

// First queries sources in order until one has the component.
type First []Source

// Descriptor implements Source.
func (f First) Descriptor(ctx context.Context, at component.Coordinates) (*component.Descriptor, error) {
	reasons := []error{}
	for _, source := range f {
		d, err := source.Descriptor(ctx, at)
		if err == nil {
			return d, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return nil, err
		}
		reasons = append(reasons, err)
	}
	if len(reasons) == 0 {
		return nil, fmt.Errorf("%w: no repository to read from", ErrNotFound)
	}
	return nil, errors.Join(reasons...)
}
