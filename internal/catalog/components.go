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
	// closureCacheBytes is for a process that serves some hundred components.
	closureCacheBytes = 64 << 20
	// parsedFactor is how much larger a descriptor is than its text, roughly and rather too much.
	parsedFactor = 8
)

// components returns the component of an installation with all that it refers to, nil if it names none. A closure is
// remembered by what it begins with: the components below never change as long as the descriptor of the root is the same.
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

// rooted is a source that was asked for the root of a closure already. It is not asked again.
type rooted struct {
	resolve.Source
	at   component.Coordinates
	root *component.Descriptor
	err  error
}

// readRoot asks for the root, unless it is given inline.
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

// closureStart says where the closure of the installation's component begins.
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

// kindContext is what errors call a Context.
const kindContext = "Context"

// root says where the component of the installation is. Of a component that is given inline, only the repository context
// is known that it falls back to.
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

// inlineDescriptor is the text of the component that is given inline, nil if it is in a repository.
func (r *Request) inlineDescriptor() []byte {
	definition := r.Installation.Spec.ComponentDescriptor
	if definition.Reference != nil {
		return nil
	}
	return definition.Inline.Raw
}

// overwrites are the rules that the Context names.
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

// overwritten says what the overwrites have made of the reference of the installation, empty if nothing.
func (r *Request) overwritten(set *component.Set) string {
	if set == nil || r.inlineDescriptor() != nil {
		return ""
	}
	// The closure began there, so that it can be read.
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

// marking marks the errors of a source, so that they can be told from faults of the components.
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

// sizeOf reckons what it costs to remember a closure.
func sizeOf(set *component.Set) int {
	size := 0
	for _, d := range set.All() {
		// What has no JSON form is not there: descriptors are read from documents.
		text, _ := d.JSON(d.Schema)
		size += len(text) * parsedFactor
	}
	return size
}
