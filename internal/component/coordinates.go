// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// RepositoryContext locates a repository of components: an object with a type and the fields that the type needs. Two are equal, also
// with Go's ==, if they are the same JSON. The zero value names no repository.
type RepositoryContext struct {
	// canonical is JSON without whitespace and with sorted keys.
	canonical string
}

// NewRepositoryContext returns the repository context with the given JSON object.
func NewRepositoryContext(object map[string]any) (RepositoryContext, error) {
	kind, ok := object["type"].(string)
	if !ok || kind == "" {
		return RepositoryContext{}, errors.New("a repository context needs a type, for example ociRegistry")
	}
	text, err := json.Marshal(object)
	if err != nil {
		return RepositoryContext{}, err
	}
	return RepositoryContext{canonical: string(text)}, nil
}

// ParseRepositoryContext parses a repository context of the API; nil and null are the zero value.
func ParseRepositoryContext(raw *lsv1alpha1.AnyJSON) (RepositoryContext, error) {
	if raw == nil || raw.IsNull() {
		return RepositoryContext{}, nil
	}
	value, err := readDocument(raw.Raw, DefaultLimits)
	if err != nil {
		return RepositoryContext{}, fmt.Errorf("repository context: %w", err)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return RepositoryContext{}, fmt.Errorf("repository context: must be an object, is %s", kindOf(value))
	}
	return NewRepositoryContext(object)
}

// IsZero reports whether no repository is named.
func (c RepositoryContext) IsZero() bool { return c.canonical == "" }

// Type returns the type, empty for the zero value.
func (c RepositoryContext) Type() string { return c.field("type") }

// BaseURL returns the URL of a registry, empty if the type has no such field.
func (c RepositoryContext) BaseURL() string { return c.field("baseUrl") }

func (c RepositoryContext) field(name string) string {
	text, _ := c.Object()[name].(string)
	return text
}

// Object returns a copy of the JSON object, nil for the zero value.
func (c RepositoryContext) Object() map[string]any {
	if c.IsZero() {
		return nil
	}
	value, err := readJSON([]byte(c.canonical), unlimited)
	object, ok := value.(map[string]any)
	if err != nil || !ok {
		return nil
	}
	return object
}

// unlimited is for values that were already checked against limits.
var unlimited = Limits{Bytes: maxInt, Depth: maxInt, Values: maxInt, Elements: maxInt}

const maxInt = int(^uint(0) >> 1)

// API returns the API representation, nil for the zero value.
func (c RepositoryContext) API() *lsv1alpha1.AnyJSON {
	if c.IsZero() {
		return nil
	}
	return &lsv1alpha1.AnyJSON{Raw: json.RawMessage(c.canonical)}
}

// String returns the repository's URL, or else its type, for messages. It never shows credentials.
func (c RepositoryContext) String() string {
	switch {
	case c.IsZero():
		return "no repository"
	case c.BaseURL() != "":
		return withoutCredentials(c.BaseURL())
	default:
		return "a repository of type " + c.Type()
	}
}

// withoutCredentials removes the parts of a URL that may contain credentials: the user information and everything after the path.
func withoutCredentials(address string) string {
	address, _, _ = strings.Cut(address, "?")
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		scheme, rest = "", address
	} else {
		scheme += "://"
	}
	host, path, hasPath := strings.Cut(rest, "/")
	if at := strings.LastIndex(host, "@"); at >= 0 {
		host = host[at+1:]
	}
	if hasPath {
		path = "/" + path
	}
	return scheme + host + path
}

// Coordinates locate a version of a component.
type Coordinates struct {
	RepositoryContext RepositoryContext
	Name              string
	Version           string
}

// CoordinatesOf returns the coordinates of an API reference. A reference without a repository context is looked up in fallback.
func CoordinatesOf(ref lsv1alpha1.ComponentDescriptorReference, fallback RepositoryContext) (Coordinates, error) {
	context, err := ParseRepositoryContext(ref.RepositoryContext)
	if err != nil {
		return Coordinates{}, err
	}
	if context.IsZero() {
		context = fallback
	}
	return Coordinates{RepositoryContext: context, Name: ref.ComponentName, Version: ref.Version}, nil
}

// InlineCoordinates returns the coordinates of a component that is given inline. A descriptor without a repository context belongs to
// fallback.
func InlineCoordinates(d *Descriptor, fallback RepositoryContext) Coordinates {
	context := d.EffectiveRepositoryContext()
	if context.IsZero() {
		context = fallback
	}
	return Coordinates{RepositoryContext: context, Name: d.Name, Version: d.Version}
}

// ID returns the ID of the component version, independent of its location.
func (c Coordinates) ID() ID { return ID{Name: c.Name, Version: c.Version} }

// Reference returns the API representation.
func (c Coordinates) Reference() lsv1alpha1.ComponentDescriptorReference {
	return lsv1alpha1.ComponentDescriptorReference{
		RepositoryContext: c.RepositoryContext.API(), ComponentName: c.Name, Version: c.Version,
	}
}

// String returns the component and its repository, for messages.
func (c Coordinates) String() string {
	if c.RepositoryContext.IsZero() {
		return c.ID().String()
	}
	return c.ID().String() + " in " + c.RepositoryContext.String()
}

// Difference returns the differences between coordinates and those that replace them, for messages; empty if there are none.
func (c Coordinates) Difference(overwritten Coordinates) string {
	var parts []string
	if c.Name != overwritten.Name {
		parts = append(parts, fmt.Sprintf("componentName: %s -> %s", c.Name, overwritten.Name))
	}
	if c.Version != overwritten.Version {
		parts = append(parts, fmt.Sprintf("version: %s -> %s", c.Version, overwritten.Version))
	}
	if c.RepositoryContext != overwritten.RepositoryContext {
		parts = append(parts, fmt.Sprintf("repositoryContext: %s -> %s", c.RepositoryContext, overwritten.RepositoryContext))
	}
	return strings.Join(parts, ", ")
}
