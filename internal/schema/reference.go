// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package schema

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"
)

// MaxReferenceLength is the maximum length of a reference in bytes.
const MaxReferenceLength = 2083

// Scheme is the first part of a reference.
type Scheme string

// Schemes of references that this package resolves.
const (
	SchemeLocal     Scheme = "local"
	SchemeBlueprint Scheme = "blueprint"
	SchemeComponent Scheme = "cd"
)

// Reference is a reference to another schema.
type Reference struct {
	Scheme Scheme
	// Path is a name of a local type, a path in the blueprint without leading slash, or a path through components. It is
	// clean: no empty segments, no dots.
	Path string
	// Fragment points into the schema, as written after the #; empty means all of it.
	Fragment string
}

// ParseReference parses the value of a $ref. It returns false if this package does not resolve the scheme.
func ParseReference(text string) (Reference, bool, error) {
	scheme, rest, ok := strings.Cut(text, "://")
	known := Scheme(strings.ToLower(scheme))
	if !ok || (known != SchemeLocal && known != SchemeBlueprint && known != SchemeComponent) {
		return Reference{}, false, nil
	}
	if len(text) > MaxReferenceLength {
		return Reference{}, true, fmt.Errorf("the reference has %d characters; at most %d are allowed", len(text), MaxReferenceLength)
	}
	escaped, fragment, _ := strings.Cut(rest, "#")
	location, err := url.PathUnescape(escaped)
	if err != nil {
		return Reference{}, true, fmt.Errorf("the reference %q is not a valid URI: write %%25 for a percent sign", text)
	}
	result := Reference{Scheme: known, Path: strings.TrimPrefix(path.Clean("/"+location), "/"), Fragment: normalFragment(fragment)}
	return result, true, result.check(text)
}

func (r Reference) check(text string) error {
	switch {
	case r.Path == "":
		return fmt.Errorf("the reference %q is empty", text)
	case strings.ContainsAny(r.Path, "\x00?"):
		return fmt.Errorf("the reference %q contains a character that is not allowed", text)
	case r.Scheme == SchemeLocal && strings.Contains(r.Path, "/"):
		return errors.New("a local:// reference is the name of a local type; it has no path: use # and a JSON pointer to point into the type")
	}
	return nil
}

// normalFragment accepts pointers without the leading slash and with a trailing one, which users of the API write.
func normalFragment(fragment string) string {
	fragment = strings.TrimRight(fragment, "/")
	if strings.Contains(fragment, "/") && !strings.HasPrefix(fragment, "/") {
		return "/" + fragment
	}
	return fragment
}

// String returns the reference in its written form.
func (r Reference) String() string {
	text := r.Document()
	if r.Fragment != "" {
		text += "#" + r.Fragment
	}
	return text
}

// Document returns the reference without the fragment.
func (r Reference) Document() string {
	location := url.URL{Path: "/" + r.Path}
	return string(r.Scheme) + "://" + strings.TrimPrefix(location.EscapedPath(), "/")
}
