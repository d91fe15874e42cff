// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"

	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/component"
)

// blueprint returns the blueprint of an installation: given inline, or a resource of its component.
func (c *Catalog) blueprint(ctx context.Context, r *Request, set *component.Set) (*blueprint.Blueprint, error) {
	definition := r.Installation.Spec.Blueprint
	switch {
	case (definition.Inline == nil) == (definition.Reference == nil):
		return nil, Invalid(ReasonBlueprintInvalid, errors.New("spec.blueprint: set exactly one of ref and inline"))
	case definition.Inline != nil:
		b, err := c.engine.ParseInline(definition.Inline.Filesystem)
		return b, at("spec.blueprint.inline.filesystem", err)
	case set == nil:
		return nil, Invalid(ReasonBlueprintInvalid,
			errors.New("spec.blueprint.ref: the installation names no component in which the blueprint could be: set spec.componentDescriptor"))
	}
	name := definition.Reference.ResourceName
	resource, err := set.Root().Resource(component.Named(name))
	if err != nil {
		return nil, Invalid(ReasonBlueprintInvalid, at("spec.blueprint.ref.resourceName", err))
	}
	files, err := r.Repository.resources().Blueprint(ctx, set.Origin(set.Root()), resource)
	if err != nil {
		return nil, unread(ReasonBlueprintNotFound, at("spec.blueprint.ref.resourceName", err))
	}
	b, err := c.engine.Parse(files)
	return b, at("spec.blueprint.ref: blueprint "+name, err)
}
