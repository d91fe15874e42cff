// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"fmt"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/resolve"
	"espalier.dev/internal/component/signature"
)

// Repository provides components. The zero value has none.
type Repository struct {
	// Name distinguishes repositories that may return different content, for example because they are read with different credentials. A
	// closure read from one is never returned to a reader of another.
	Name string
	// Default is the repository of a component if neither its reference nor the Context names one; the zero value means none.
	Default component.RepositoryContext
	// Source provides the descriptors of components, Resources the content behind them. Nil means that there are none.
	Source    resolve.Source
	Resources Resources
	// Artifacts are blueprints without components. Nil means that there are none.
	Artifacts Artifacts
	// Signatures checks signatures of components. Nil means that none can be checked.
	Signatures Signatures
}

// Signatures checks signatures.
type Signatures interface {
	// Verify checks a signature of the root of a closure, and that all content is as signed.
	Verify(ctx context.Context, set *component.Set, name string, trust signature.Trust) error
}

// Artifacts reads blueprints that are not resources of components. It resolves a tag, branch or other name, unless the revision of an
// earlier resolution is given. It is called in every job, so it should cache expensive reads. Its errors are like those of
// Resources.
type Artifacts interface {
	OCI(ctx context.Context, at lsv1alpha1.OCIBlueprint, revision string) (Artifact, error)
	Git(ctx context.Context, at lsv1alpha1.GitBlueprint, revision string) (Artifact, error)
}

// Artifact is the directory of a blueprint, and its revision: a digest or a commit.
type Artifact struct {
	Files    blueprint.Files
	Revision string
}

// Resources reads the content of components' resources. It is called in every job, so it should cache expensive reads. The error
// for missing content is resolve.ErrNotFound; NotFoundf returns one. Errors that it classifies keep their kind. It must be safe for
// concurrent use.
type Resources interface {
	// Blueprint returns the directory of a blueprint that is a resource of a component.
	Blueprint(ctx context.Context, of component.Coordinates, resource *component.Resource) (blueprint.Files, error)
	// Content returns the content behind an access of a component.
	Content(ctx context.Context, of component.Coordinates, access component.Access) (component.Content, error)
}

func (r *Repository) source() resolve.Source {
	if r.Source == nil {
		return resolve.First{}
	}
	return r.Source
}

func (r *Repository) artifacts() Artifacts {
	if r.Artifacts == nil {
		return nowhere{}
	}
	return r.Artifacts
}

func (r *Repository) resources() Resources {
	if r.Resources == nil {
		return nowhere{}
	}
	return r.Resources
}

// nowhere has no resources.
type nowhere struct{}

func (nowhere) Blueprint(_ context.Context, of component.Coordinates, resource *component.Resource) (blueprint.Files, error) {
	return nil, NotFoundf(
		"the blueprint %s of component %s cannot be read: no repository to read from; define the blueprint inline",
		resource.Name,
		of.ID(),
	)
}

func (nowhere) Content(_ context.Context, of component.Coordinates, access component.Access) (component.Content, error) {
	return component.Content{}, NotFoundf(
		"content of component %s (access type %s) cannot be read: no repository to read from",
		of.ID(),
		access.Type,
	)
}

func (nowhere) OCI(_ context.Context, at lsv1alpha1.OCIBlueprint, _ string) (Artifact, error) {
	return Artifact{}, NotFoundf("%s cannot be read: no registry available here; define the blueprint inline", at.Reference)
}

func (nowhere) Git(_ context.Context, at lsv1alpha1.GitBlueprint, _ string) (Artifact, error) {
	return Artifact{}, NotFoundf("revision %s cannot be read: no Git server available here; define the blueprint inline", at.Revision)
}

// NotFoundf returns an error of Resources that do not have the content. It wraps resolve.ErrNotFound, and its text names what is missing.
func NotFoundf(format string, args ...any) error {
	return &notFound{text: fmt.Sprintf(format, args...)}
}

type notFound struct{ text string }

func (e *notFound) Error() string        { return e.text }
func (e *notFound) Is(target error) bool { return target == resolve.ErrNotFound }
