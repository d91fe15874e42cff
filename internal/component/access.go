// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"strings"
)

// Access says how to get at a resource or source. It is data only: nothing here fetches anything.
type Access struct {
	// Type is the type as it was written, possibly an old name or with a version.
	Type string

	fields map[string]any
}

// AccessKind is what a type of access means, whichever of its names was used.
type AccessKind string

const (
	// AccessOCIArtifact is an artifact in a registry, named by an image reference.
	AccessOCIArtifact AccessKind = "ociArtifact"
	// AccessOCIBlob is a single blob in a registry.
	AccessOCIBlob AccessKind = "ociBlob"
	// AccessLocalBlob is a blob that is stored along with the component descriptor.
	AccessLocalBlob AccessKind = "localBlob"
	// AccessRelativeOCIReference is an artifact in the registry in which the component itself is.
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

// ParseAccess understands an access specification that a template hands over.
func ParseAccess(object map[string]any) (Access, error) {
	r := &reading{limits: DefaultLimits}
	parsed := access(r.object("", map[string]any{"access": object}), true)
	if err := r.err(); err != nil {
		return Access{}, err
	}
	return Access{Type: parsed.Type, fields: cloneObject(parsed.fields)}, nil
}

// Kind returns what the type means.
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

// text returns the first of some fields that is a text and not empty.
func (a Access) text(names ...string) string {
	for _, name := range names {
		if text, ok := a.fields[name].(string); ok && text != "" {
			return text
		}
	}
	return ""
}

// ImageReference returns the image reference of an artifact in a registry. Artifacts that are named relative to the
// component's registry need its repository context. A local blob may say that it is available as an image as well.
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

// relativeReference puts the host of the component's registry in front: the reference has everything but the host.
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
		return "", fmt.Errorf("access type %s: the registry of the component is not known, for it comes from %s", a.Type, home)
	}
	return host + "/" + strings.TrimPrefix(reference, "/"), nil
}

// Blob names a blob in a store of blobs.
type Blob struct {
	// Repository is the image repository of an OCI blob, without tag. It is empty for local blobs.
	Repository string
	// Reference is the digest of the blob, or whatever else its store knows it by.
	Reference string
	// MediaType says how the blob is encoded; it may be empty.
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
