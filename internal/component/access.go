// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"strings"
)

// Access describes how to read a resource or source. It is data only, and fetches nothing.
type Access struct {
	// Type is the type as written, possibly an old name or with a version.
	Type string

	fields map[string]any
}

// AccessKind is the meaning of a type of access, regardless of which of its names was used.
type AccessKind string

const (
	// AccessOCIArtifact is an artifact in a registry, named by an image reference.
	AccessOCIArtifact AccessKind = "ociArtifact"
	// AccessOCIBlob is a single blob in a registry.
	AccessOCIBlob AccessKind = "ociBlob"
	// AccessLocalBlob is a blob that is stored with the component descriptor.
	AccessLocalBlob AccessKind = "localBlob"
	// AccessRelativeOCIReference is an artifact in the registry of the component.
	AccessRelativeOCIReference AccessKind = "relativeOciReference"
	// AccessOther is everything else.
	AccessOther AccessKind = "other"
)

var accessKinds = map[string]AccessKind{
	"ociArtifact":          AccessOCIArtifact,
	"ociRegistry":          AccessOCIArtifact,
	"ociImage":             AccessOCIArtifact,
	"OCIImage":             AccessOCIArtifact,
	"ociBlob":              AccessOCIBlob,
	"OCIImageLayer":        AccessOCIBlob,
	"localBlob":            AccessLocalBlob,
	"LocalBlob":            AccessLocalBlob,
	"localOciBlob":         AccessLocalBlob,
	"localFilesystemBlob":  AccessLocalBlob,
	"relativeOciReference": AccessRelativeOCIReference,
}

// ParseAccess parses an access specification from a template.
func ParseAccess(object map[string]any) (Access, error) {
	r := &reading{limits: DefaultLimits}
	parsed := access(r.object("", map[string]any{"access": object}), true)
	if err := r.err(); err != nil {
		return Access{}, err
	}
	return Access{Type: parsed.Type, fields: cloneObject(parsed.fields)}, nil
}

// Kind returns the meaning of the type.
func (a Access) Kind() AccessKind {
	name, _, _ := strings.Cut(a.Type, "/")
	if kind, known := accessKinds[name]; known {
		return kind
	}
	return AccessOther
}

// Fields returns a copy of all fields, the type included.
func (a Access) Fields() map[string]any {
	if a.fields == nil {
		return nil
	}
	return cloneObject(a.fields)
}

// text returns the first of the named fields that is a non-empty string.
func (a Access) text(names ...string) string {
	for _, name := range names {
		if text, ok := a.fields[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// ImageReference returns the image reference of an artifact in a registry. An artifact named relative to the component's registry needs the
// component's repository context. A local blob may also be available as an image.
func (a Access) ImageReference(home RepositoryContext) (string, error) {
	switch a.Kind() {
	case AccessOCIArtifact:
		return a.required("imageReference")
	case AccessRelativeOCIReference:
		return a.relativeReference(home)
	case AccessLocalBlob:
		if global, ok := a.fields["globalAccess"].(map[string]any); ok {
			inner, err := ParseAccess(global)
			if err != nil {
				return "", fmt.Errorf("globalAccess: %w", err)
			}
			return inner.ImageReference(home)
		}
	}
	return "", fmt.Errorf("access type %s names no image", a.Type)
}

func (a Access) required(name string) (string, error) {
	if text := a.text(name); text != "" {
		return text, nil
	}
	return "", fmt.Errorf("access type %s: %s is required and must be a text", a.Type, name)
}

// relativeReference prepends the host of the component's registry to the reference, which has the other parts.
func (a Access) relativeReference(home RepositoryContext) (string, error) {
	reference, err := a.required("reference")
	if err != nil {
		return "", err
	}
	_, address, found := strings.Cut(home.BaseURL(), "://")
	if !found {
		address = home.BaseURL()
	}
	host, _, _ := strings.Cut(address, "/")
	if host == "" {
		return "", fmt.Errorf("access type %s: the registry of the component is unknown, because it comes from %s", a.Type, home)
	}
	return host + "/" + strings.TrimPrefix(reference, "/"), nil
}

// Blob names a blob in a store of blobs.
type Blob struct {
	// Repository is the image repository of an OCI blob, without tag. It is empty for local blobs.
	Repository string
	// Reference is the digest of the blob, or another name by which its store finds it.
	Reference string
	// MediaType is the encoding of the blob; it may be empty.
	MediaType string
}

// Blob returns the blob that an OCI blob or a local blob refers to, false for other kinds.
func (a Access) Blob() (Blob, bool) {
	switch a.Kind() {
	case AccessOCIBlob:
		return Blob{Repository: a.text("ref", "imageReference"), Reference: a.text("digest"), MediaType: a.text("mediaType")}, true
	case AccessLocalBlob:
		return Blob{Reference: a.text("localReference", "digest", "fileName", "filename"), MediaType: a.text("mediaType")}, true
	default:
		return Blob{}, false
	}
}
