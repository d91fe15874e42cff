// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/resolve"
	"espalier.dev/internal/lru"
)

const (
	// closureCacheBytes suits a process that serves a few hundred components.
	closureCacheBytes = 64 << 20
	// parsedFactor is a generous estimate of how much larger a parsed descriptor is than its text.
	parsedFactor = 8
)

// components returns the component of an installation with everything that it refers to, nil if it names none. The cache key of a closure
// is its start: the components below never change as long as the descriptor of the root is the same.
func (c *Catalog) components(ctx context.Context, r *Request) (*component.Set, error) {
	if !NamesComponent(r.Installation) {
		return nil, nil
	}
	begin, err := r.closureStart()
	if err != nil {
		return nil, err
	}
	options, err := begin.options()
	if err != nil {
		return nil, err
	}
	if options.Overwrites, err = component.NewOverwrites(begin.overwrites); err != nil {
		return nil, r.overwritesInvalid(err)
	}
	source := readRoot(ctx, begin.repository.source(), options)
	key, err := begin.key(source.root)
	if err != nil {
		return nil, r.overwritesInvalid(err)
	}
	return c.closures.Get(key, func() (*component.Set, int, error) {
		set, err := resolve.Closure(ctx, marking{source}, options)
		if err != nil {
			return nil, 0, at("spec.componentDescriptor", closureFailed(ctx, err))
		}
		return set, sizeOf(set), nil
	})
}

// rooted is a source that has already read the root of a closure, and does not reread it.
type rooted struct {
	resolve.Source
	at   component.Coordinates
	root *component.Descriptor
	err  error
}

// readRoot reads the root, unless it is inline.
func readRoot(ctx context.Context, source resolve.Source, options component.ClosureOptions) *rooted {
	r := &rooted{Source: source}
	if options.Inline == nil {
		r.at = options.Overwrites.Apply(options.Root)
		r.root, r.err = source.Descriptor(ctx, r.at)
	}
	return r
}

// Descriptor implements resolve.Source.
func (r *rooted) Descriptor(ctx context.Context, at component.Coordinates) (*component.Descriptor, error) {
	if at == r.at {
		return r.root, r.err
	}
	return r.Source.Descriptor(ctx, at)
}

// closureStart returns the start of the closure of the installation's component.
func (r *Request) closureStart() (closureStart, error) {
	root, err := r.root()
	if err != nil {
		return closureStart{}, err
	}
	overwrites, err := r.overwrites()
	if err != nil {
		return closureStart{}, err
	}
	return closureStart{root: root, overwrites: overwrites, inline: r.inlineDescriptor(), repository: &r.Repository}, nil
}

// kindContext is the name of a Context in errors.
const kindContext = "Context"

// root returns the coordinates of the installation's component. For an inline component, only the fallback for its repository context is
// known.
func (r *Request) root() (component.Coordinates, error) {
	var root component.Coordinates
	var err error
	if r.Context != nil {
		if root.RepositoryContext, err = component.ParseRepositoryContext(r.Context.RepositoryContext); err != nil {
			err = &ObjectError{Object: r.Context, cause: fmt.Errorf("%s %s: repositoryContext: %w", kindContext, r.Context.Name, err)}
			return root, Invalid(ReasonContextInvalid, err)
		}
	}
	if root.RepositoryContext.IsZero() {
		root.RepositoryContext = r.Repository.Default
	}
	reference := r.Installation.Spec.ComponentDescriptor.Reference
	if reference == nil {
		return root, nil
	}
	root, err = component.CoordinatesOf(*reference, root.RepositoryContext)
	return root, Invalid(ReasonComponentInvalid, at("spec.componentDescriptor.ref", err))
}

// inlineDescriptor returns the text of the inline component, nil if the component is in a repository.
func (r *Request) inlineDescriptor() []byte {
	definition := r.Installation.Spec.ComponentDescriptor
	if definition.Reference != nil {
		return nil
	}
	return definition.Inline.Raw
}

// overwrites returns the rules that the Context names.
func (r *Request) overwrites() ([]lsv1alpha1.ComponentVersionOverwrite, error) {
	switch {
	case r.Context == nil || r.Context.ComponentVersionOverwritesReference == "":
		return nil, nil
	case r.Overwrites == nil:
		return nil, Absent(ReasonContextNotFound, &ObjectError{Object: r.Context, cause: fmt.Errorf(
			"%s %s: componentVersionOverwrites: there is no ComponentVersionOverwrites %s/%s: create it",
			kindContext, r.Context.Name, r.Context.Namespace, r.Context.ComponentVersionOverwritesReference)})
	}
	return r.Overwrites.Overwrites, nil
}

// overwritten describes how the overwrites changed the reference of the installation, empty if they did not.
func (r *Request) overwritten(set *component.Set) string {
	if set == nil || r.inlineDescriptor() != nil {
		return ""
	}
	// The closure started there, so this cannot fail.
	named, _ := r.root()
	return named.Difference(set.Origin(set.Root()))
}

func (r *Request) overwritesInvalid(err error) error {
	return Invalid(ReasonContextInvalid, &ObjectError{
		Object: r.Overwrites,
		cause:  fmt.Errorf("ComponentVersionOverwrites %s: %w", r.Overwrites.Name, err),
	})
}

// closureStart is everything that a closure depends on.
type closureStart struct {
	root       component.Coordinates
	overwrites []lsv1alpha1.ComponentVersionOverwrite
	inline     []byte
	repository *Repository
}

// key can fail only for overwrites that are not JSON. The root is nil if it is inline.
func (s *closureStart) key(root *component.Descriptor) (lru.Key, error) {
	var context []byte
	if at := s.root.RepositoryContext; !at.IsZero() {
		context = at.API().Raw
	}
	var text []byte
	if root != nil {
		var err error
		if text, err = root.JSON(root.Schema); err != nil {
			return lru.Key{}, err
		}
	}
	overwrites, err := json.Marshal(s.overwrites)
	return lru.KeyOf([]byte(s.repository.Name), context, []byte(s.root.Name), []byte(s.root.Version), text, overwrites, s.inline), err
}

func (s *closureStart) options() (component.ClosureOptions, error) {
	options := component.ClosureOptions{Root: s.root}
	if s.inline == nil {
		return options, nil
	}
	var err error
	options.Inline, err = component.Parse(s.inline, component.DefaultLimits)
	return options, Invalid(ReasonComponentInvalid, at("spec.componentDescriptor.inline", err))
}

// marking marks the errors of a source, so that they differ from faults of the components.
type marking struct{ resolve.Source }

type sourceError struct{ error }

func (e sourceError) Unwrap() error { return e.error }

// Descriptor implements resolve.Source.
func (m marking) Descriptor(ctx context.Context, at component.Coordinates) (*component.Descriptor, error) {
	d, err := m.Source.Descriptor(ctx, at)
	if err != nil {
		return nil, sourceError{err}
	}
	return d, nil
}

func closureFailed(ctx context.Context, err error) error {
	var ofSource sourceError
	if errors.As(err, &ofSource) || errors.Is(err, resolve.ErrNotFound) || ctx.Err() != nil {
		return unread(ReasonComponentNotFound, err)
	}
	return Invalid(ReasonComponentInvalid, err)
}

// sizeOf estimates the memory that a cached closure needs.
func sizeOf(set *component.Set) int {
	size := 0
	for _, d := range set.All() {
		// A descriptor always has a JSON form, because it was read from a document.
		text, _ := d.JSON(d.Schema)
		size += len(text) * parsedFactor
	}
	return size
}
