// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"espalier.dev/internal/component"
)

// parallel is how many descriptors are read concurrently.
const parallel = 8

// Closure collects a component with everything that it refers to. It reads each version of a component once. An error names the references
// that led to its cause, and all components of the same depth that could not be read.
func Closure(ctx context.Context, source Source, options component.ClosureOptions) (*component.Set, error) {
	closure, err := component.NewClosure(options)
	if err != nil {
		return nil, err
	}
	for wanted := closure.Wanted(); len(wanted) > 0; wanted = closure.Wanted() {
		descriptors, err := readAll(ctx, source, wanted)
		if err != nil {
			return nil, err
		}
		for i, d := range descriptors {
			if err := closure.Provide(wanted[i], d); err != nil {
				return nil, err
			}
		}
	}
	return closure.Set()
}

// readAll reads descriptors concurrently and returns them in the order of wanted.
func readAll(ctx context.Context, source Source, wanted []component.Wanted) ([]*component.Descriptor, error) {
	descriptors := make([]*component.Descriptor, len(wanted))
	failures := make([]error, len(wanted))
	slots := make(chan struct{}, parallel)
	var running sync.WaitGroup
	for i, w := range wanted {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			descriptors[i], failures[i] = read(ctx, source, w)
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("read component descriptors: %w", err)
	}
	return descriptors, errors.Join(failures...)
}

func read(ctx context.Context, source Source, w component.Wanted) (*component.Descriptor, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d, err := source.Descriptor(ctx, w.At)
	if err == nil && d == nil {
		err = ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("%s: read the descriptor of %s: %w", w.Path(), w.At, err)
	}
	return d, nil
}
