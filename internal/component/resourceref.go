// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// ResourceReference refers to a resource relative to a component: the references to follow, and the resource in the last component.
type ResourceReference struct {
	// Path are the selectors of the references to follow, in order.
	Path []Identity
	// Resource is the selector of the resource. It is empty if the reference is to a component.
	Resource Identity
}

// URI is a reference of the form cd://componentReferences/NAME/.../resources/NAME#FRAGMENT.
type URI struct {
	// References are the names of the references to follow, in order.
	References []string
	// Resource is the name of the resource, empty if the URI refers to a component.
	Resource string
	// Fragment points into the content of the resource.
	Fragment string
}

// Words in URIs.
const (
	uriScheme     = "cd://"
	uriReferences = "componentReferences"
	uriResources  = "resources"
)

// maxURI is the maximum length of a URI in bytes.
const maxURI = 2083

// IsURI reports whether a text has the scheme of such URIs.
func IsURI(text string) bool { return strings.HasPrefix(text, uriScheme) }

// ParseURI parses a URI of a component or a resource.
func ParseURI(text string) (URI, error) {
	if len(text) > maxURI {
		return URI{}, fmt.Errorf("a reference may have %d bytes, %.40q... has %d", maxURI, text, len(text))
	}
	uri, err := parseURI(text)
	if err != nil {
		return URI{}, fmt.Errorf("reference %q: %w", text, err)
	}
	return uri, nil
}

func parseURI(text string) (URI, error) {
	rest, found := strings.CutPrefix(text, uriScheme)
	if !found {
		return URI{}, errors.New("it must begin with " + uriScheme)
	}
	rest, fragment, _ := strings.Cut(rest, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return URI{}, fmt.Errorf("after #: %w", err)
	}
	uri := URI{Fragment: fragment}
	if strings.Contains(rest, "?") {
		return URI{}, errors.New("it must not contain a question mark")
	}
	words := strings.Split(strings.TrimSuffix(rest, "/"), "/")
	if len(words)%2 != 0 {
		return URI{}, fmt.Errorf("after %s come pairs of %s or %s and a name", uriScheme, uriReferences, uriResources)
	}
	for i := 0; i < len(words); i += 2 {
		if uri.Resource != "" {
			return URI{}, fmt.Errorf("nothing can follow the resource %q", uri.Resource)
		}
		if err := uri.add(words[i], words[i+1]); err != nil {
			return URI{}, err
		}
	}
	return uri, nil
}

func (u *URI) add(word, escaped string) error {
	name, err := url.PathUnescape(escaped)
	if err != nil {
		return err
	}
	if name == "" {
		return fmt.Errorf("a name is missing after %s", word)
	}
	switch word {
	case uriReferences:
		u.References = append(u.References, name)
	case uriResources:
		u.Resource = name
	default:
		return fmt.Errorf("%q is unknown, must be %s or %s", word, uriReferences, uriResources)
	}
	return nil
}

// String returns the URI as text.
func (u URI) String() string {
	var words []string
	for _, name := range u.References {
		words = append(words, uriReferences, url.PathEscape(name))
	}
	if u.Resource != "" {
		words = append(words, uriResources, url.PathEscape(u.Resource))
	}
	text := uriScheme + strings.Join(words, "/")
	if u.Fragment != "" {
		text += "#" + (&url.URL{Fragment: u.Fragment}).EscapedFragment()
	}
	return text
}

// Reference returns the URI without the fragment, as a ResourceReference.
func (u URI) Reference() ResourceReference {
	var ref ResourceReference
	for _, name := range u.References {
		ref.Path = append(ref.Path, Named(name))
	}
	if u.Resource != "" {
		ref.Resource = Named(u.Resource)
	}
	return ref
}

// ResolveURI follows a URI to a resource, from one of the components of the set.
func (s *Set) ResolveURI(from *Descriptor, text string) (Resolution, error) {
	uri, err := ParseURI(text)
	if err != nil {
		return Resolution{}, err
	}
	if uri.Resource == "" {
		return Resolution{}, fmt.Errorf(
			"reference %q: it leads to a component, but must lead to a resource: add /%s/ and a name",
			text,
			uriResources,
		)
	}
	resolution, err := s.Resolve(from, uri.Reference())
	if err != nil {
		return Resolution{}, fmt.Errorf("reference %q: %w", text, err)
	}
	return resolution, nil
}

// referenceLimits bound a reference in the form of a document.
var referenceLimits = Limits{Bytes: 64 << 10, Depth: 8, Values: 1000, Elements: 100}

// ParseResourceReference parses a reference to a resource: a URI, or a document with the fields resource and referencePath, in JSON or
// YAML.
func ParseResourceReference(text string) (ResourceReference, error) {
	if IsURI(text) {
		uri, err := ParseURI(text)
		if err == nil && uri.Resource == "" {
			err = fmt.Errorf("reference %q: it leads to a component, but must lead to a resource", text)
		}
		return uri.Reference(), err
	}
	tree, err := readDocument([]byte(text), referenceLimits)
	if err != nil {
		return ResourceReference{}, fmt.Errorf("reference to a resource: %w", err)
	}
	return ResourceReferenceFrom(tree)
}

// ResourceReferenceFrom parses a reference to a resource from a JSON object with the fields resource and referencePath.
func ResourceReferenceFrom(tree any) (ResourceReference, error) {
	fields, ok := tree.(map[string]any)
	if !ok {
		return ResourceReference{}, fmt.Errorf(
			"reference to a resource: must be a URI that begins with %s or an object with the field resource, is %s",
			uriScheme,
			kindOf(tree),
		)
	}
	r := &reading{limits: referenceLimits}
	top := r.object("", fields)
	ref := ResourceReference{Resource: selector(top.child("resource"))}
	for _, entry := range top.children("referencePath") {
		ref.Path = append(ref.Path, selector(entry))
	}
	if err := r.err(); err != nil {
		return ResourceReference{}, fmt.Errorf("reference to a resource: %w", err)
	}
	return ref, nil
}

// selector reads the attributes of an identity. Those of the extra identity may be beside the name or in a separate field.
func selector(o object) Identity {
	name := o.required(identityName)
	identity := Identity{}
	for key, value := range o.texts("extraIdentity") {
		identity[key] = value
	}
	for _, key := range slices.Sorted(maps.Keys(o.fields)) {
		identity[key] = o.text(key)
	}
	identity[identityName] = name
	return identity
}
