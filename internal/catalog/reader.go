// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"fmt"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/component"
	"espalier.dev/internal/schema"
)

// reader reads resources of the components of a set, for one installation.
type reader struct {
	ctx       context.Context
	resources Resources
	set       *component.Set
}

// content is a component.ContentProvider.
func (r *reader) content(of *component.Descriptor, access component.Access) (component.Content, error) {
	content, err := r.resources.Content(r.ctx, r.set.Origin(of), access)
	return content, unread(ReasonResourceNotFound, err)
}

// maxSchemaBytes is the maximum size of a schema that is compressed with gzip.
const maxSchemaBytes = 4 << 20

// schemas finds schemas in components, starting at one of them. Schemas may be compressed with gzip, regardless of their media type.
func (r *reader) schemas(from *component.Descriptor) schema.Finder {
	return func(uri string) (schema.Resource, error) {
		found, err := r.set.ResolveURI(from, uri)
		if err == nil && found.Resource == nil {
			err = fmt.Errorf("%s leads to a component, not to a resource", uri)
		}
		if err != nil {
			return schema.Resource{}, Invalid(ReasonResourceInvalid, err)
		}
		content, err := r.content(found.Component, found.Resource.Access)
		if err != nil {
			return schema.Resource{}, err
		}
		plain, err := archive.Gunzip(content.Data, maxSchemaBytes)
		if err != nil {
			return schema.Resource{}, Invalid(ReasonResourceInvalid, fmt.Errorf("%s: unpack the schema: %w", uri, err))
		}
		return schema.Resource{Content: plain, Component: found.Component.ID().String(), Resources: r.schemas(found.Component)}, nil
	}
}
