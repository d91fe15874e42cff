// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/component"
)

// blueprint returns the blueprint of an installation: inline, a resource of its component, or a separate artifact in a registry or a Git
// repository. For an artifact, it also returns the revision that was read.
func (c *Catalog) blueprint(ctx context.Context, r *Request, set *component.Set) (*blueprint.Blueprint, string, error) {
	definition := r.Installation.Spec.Blueprint
	switch kindOf(definition) {
	case blueprintInline:
		b, err := c.engine.ParseInline(definition.Inline.Filesystem)
		return b, "", at("spec.blueprint.inline.filesystem", err)
	case blueprintOCI:
		return c.artifact("spec.blueprint.oci", func() (Artifact, error) {
			return r.Repository.artifacts().OCI(ctx, *definition.OCI, r.Pinned)
		})
	case blueprintGit:
		return c.artifact("spec.blueprint.git", func() (Artifact, error) {
			return r.Repository.artifacts().Git(ctx, *definition.Git, r.Pinned)
		})
	case blueprintReference:
		b, err := c.referenced(ctx, r, set)
		return b, "", err
	default:
		return nil, "", Invalid(ReasonBlueprintInvalid, errors.New("spec.blueprint: set exactly one of ref, inline, oci and git"))
	}
}

// blueprintKind is a source of blueprints.
type blueprintKind string

const (
	blueprintReference blueprintKind = "ref"
	blueprintInline    blueprintKind = "inline"
	blueprintOCI       blueprintKind = "oci"
	blueprintGit       blueprintKind = "git"
)

// kindOf returns the source of a blueprint, empty if the definition names none, or several.
func kindOf(definition lsv1alpha1.BlueprintDefinition) blueprintKind {
	var set []blueprintKind
	for kind, isSet := range map[blueprintKind]bool{
		blueprintReference: definition.Reference != nil,
		blueprintInline:    definition.Inline != nil,
		blueprintOCI:       definition.OCI != nil,
		blueprintGit:       definition.Git != nil,
	} {
		if isSet {
			set = append(set, kind)
		}
	}
	if len(set) != 1 {
		return ""
	}
	return set[0]
}

// artifact reads a blueprint that is not part of a component.
func (c *Catalog) artifact(field string, read func() (Artifact, error)) (*blueprint.Blueprint, string, error) {
	found, err := read()
	if err != nil {
		return nil, "", unread(ReasonBlueprintNotFound, at(field, err))
	}
	b, err := c.engine.Parse(found.Files)
	return b, found.Revision, at(field+": the blueprint at "+found.Revision, err)
}

// referenced reads a blueprint that is a resource of the component.
func (c *Catalog) referenced(ctx context.Context, r *Request, set *component.Set) (*blueprint.Blueprint, error) {
	if set == nil {
		return nil, Invalid(ReasonBlueprintInvalid,
			errors.New("spec.blueprint.ref: the installation has no component for the blueprint: set spec.componentDescriptor"))
	}
	name := r.Installation.Spec.Blueprint.Reference.ResourceName
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
