// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/signature"
	"espalier.dev/internal/lru"
)

// Catalog finds components and blueprints. Thousands of installations share few components, so it caches the closures that it has read,
// up to a limit. It is safe for concurrent use.
type Catalog struct {
	engine   *blueprint.Engine
	closures *lru.Cache[*component.Set]
}

// New returns a catalog whose blueprints the given engine renders.
func New(engine *blueprint.Engine) *Catalog {
	return &Catalog{engine: engine, closures: lru.NewCache[*component.Set](closureCacheBytes)}
}

// Request is an installation with the objects that determine the source of its component.
type Request struct {
	Installation *lsv1alpha1.Installation
	// Context is the Context of the installation, nil if there is none. It matters only for components.
	Context *lsv1alpha1.Context
	// Overwrites are those of the Context. They are nil if it names none, or if there are none of that name.
	Overwrites *lsv1alpha1.ComponentVersionOverwrites
	Repository Repository
	// Policy determines which signatures are checked; the zero value means those of installations that request it.
	Policy VerificationPolicy
	// Trust verifies signatures, if the installation requests that.
	Trust signature.Trust
	// Vouched reports whether the inline blueprint of a nested installation comes from the blueprint above, whose signature was checked.
	Vouched bool
	// Pinned is the revision of a blueprint from OCI or Git to reread. If it is empty, the name in the installation is resolved.
	Pinned string
}

// NamesComponent reports whether an installation has a component. Without one, only its own spec matters.
func NamesComponent(inst *lsv1alpha1.Installation) bool {
	definition := inst.Spec.ComponentDescriptor
	return definition != nil && (definition.Reference != nil || definition.Inline != nil && !definition.Inline.IsNull())
}

// ReadsOutside reports whether an installation refers to components or a blueprint outside of itself.
func ReadsOutside(inst *lsv1alpha1.Installation) bool {
	return NamesComponent(inst) || inst.Spec.Blueprint.OCI != nil || inst.Spec.Blueprint.Git != nil
}

// Find returns the start of the input to the engine: the installation with its blueprint and its components, and access to their schemas
// and resources, until the context ends. States, scope and facts are left to the caller.
func (c *Catalog) Find(ctx context.Context, r Request) (blueprint.Input, error) {
	set, err := c.components(ctx, &r)
	if err != nil {
		return blueprint.Input{}, err
	}
	if err := c.verify(ctx, &r, set); err != nil {
		return blueprint.Input{}, err
	}
	b, revision, err := c.blueprint(ctx, &r, set)
	if err != nil {
		return blueprint.Input{}, err
	}
	spec := &r.Installation.Spec
	in := blueprint.Input{
		Subject: blueprint.Subject{
			Blueprint:   b,
			Revision:    revision,
			Definition:  spec.Blueprint,
			Component:   spec.ComponentDescriptor,
			Components:  set,
			Overwritten: r.overwritten(set),
			Verified:    r.Policy.Wants(r.Installation) != nil,
		},
		Installation: r.Installation,
	}
	if set != nil {
		reader := &reader{ctx: ctx, resources: r.Repository.resources(), set: set}
		in.Content, in.Schemas = reader.content, reader.schemas(set.Root())
	}
	return in, nil
}
