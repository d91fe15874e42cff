// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
)

// Sources are the destinations of a schema's references.
type Sources struct {
	// Draft is the blueprint's jsonSchemaVersion; empty means the default.
	Draft string
	// LocalTypes are the blueprint's localTypes: JSON texts by name.
	LocalTypes map[string][]byte
	// Files is the blueprint's directory; nil if there is none.
	Files fs.FS
	// Component identifies the component version that contains the blueprint, for example "example.com/app:1.2.0".
	Component string
	// Resources finds resources of that component; nil if there is no component.
	Resources Finder
}

// Finder returns the resource that a cd:// URI names. Its errors keep their kind: an unreachable registry is retried.
type Finder func(uri string) (Resource, error)

// Resource is a schema in a component.
type Resource struct {
	Content []byte
	// Component identifies the component version that contains it, and Resources finds others from there.
	Component string
	Resources Finder
}

// origin is where a document was found: it determines what references in it mean.
type origin struct {
	*Sources
	component string
	resources Finder
	// inBlueprint is false for documents from a component: they see neither local types nor files.
	inBlueprint bool
}

func (s *Sources) origin() origin {
	return origin{Sources: s, component: s.Component, resources: s.Resources, inBlueprint: true}
}

// identity distinguishes documents to which equal references lead from different places.
func (o origin) identity(r Reference) string {
	if r.Scheme == SchemeComponent {
		return o.component + " " + r.Document()
	}
	return r.Document()
}

// found is the text of a schema and its location.
type found struct {
	text []byte
	at   origin
}

// read returns the destination of a reference at an origin. Errors of a Finder keep their kind; all others are faults of the
// schema.
func (o origin) read(r Reference, limit int) (found, error) {
	switch r.Scheme {
	case SchemeLocal:
		return o.readLocalType(r)
	case SchemeBlueprint:
		return o.readFile(r, limit)
	default:
		return o.readResource(r)
	}
}

func (o origin) readLocalType(r Reference) (found, error) {
	if !o.inBlueprint {
		return found{}, invalid("%s is not available in schemas of a component: a component has no local types", r.Document())
	}
	text, ok := o.LocalTypes[r.Path]
	if !ok {
		return found{}, invalid("%s does not exist: declare %q in the blueprint's localTypes", r.Document(), r.Path)
	}
	return found{text: text, at: o}, nil
}

func (o origin) readFile(r Reference, limit int) (found, error) {
	if !o.inBlueprint || o.Files == nil {
		return found{}, invalid("%s is not available here: no blueprint directory", r.Document())
	}
	file, err := o.Files.Open(r.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return found{}, invalid("%s does not exist: the blueprint has no file %q", r.Document(), r.Path)
	}
	if err != nil {
		return found{}, invalid("%s cannot be opened in the blueprint", r.Document())
	}
	text, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return found{}, invalid("%s cannot be read: is %q a file?", r.Document(), r.Path)
	}
	return found{text: text, at: o}, nil
}

func (o origin) readResource(r Reference) (found, error) {
	if o.resources == nil {
		return found{}, invalid("%s cannot be resolved: the installation has no component descriptor", r.Document())
	}
	resource, err := o.resources(r.Document())
	if err != nil {
		return found{}, fmt.Errorf("read the schema %s: %w", r.Document(), err)
	}
	at := origin{Sources: o.Sources, component: resource.Component, resources: resource.Resources}
	return found{text: resource.Content, at: at}, nil
}
