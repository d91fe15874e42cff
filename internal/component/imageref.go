// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package component

import (
	"errors"
	"regexp"
	"strings"
)

// ImageReference is a parsed reference to an artifact in an OCI registry. No defaults are added: a name without a host stays one.
type ImageReference struct {
	// Repository is host, port and path.
	Repository string
	// Tag and Digest are empty if the reference has none.
	Tag    string
	Digest string
}

// defaultTag is the default of registries and runtimes for a reference with neither tag nor digest.
const defaultTag = "latest"

// maxRepository is the limit of the registries.
const maxRepository = 255

var (
	hostPattern = regexp.MustCompile(
		`^([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])(:[0-9]+)?$`,
	)
	pathPattern   = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	tagPattern    = regexp.MustCompile(`^[\w][\w.-]{0,127}$`)
	digestPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*([-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}$`)
)

// ParseImageReference parses a reference. A leading scheme, such as oci://, is dropped. Errors do not quote the text, because it may be a
// URL with credentials by mistake.
func ParseImageReference(text string) (ImageReference, error) {
	if _, address, found := strings.Cut(text, "://"); found {
		text = address
	}
	name, digest, hasDigest := strings.Cut(text, "@")
	if hasDigest && !digestPattern.MatchString(digest) {
		return ImageReference{}, errors.New("image reference: after @ must come a digest, such as sha256 with a colon and 64 hexadecimal digits")
	}
	ref := ImageReference{Repository: name, Digest: digest}
	if colon := strings.LastIndex(name, ":"); colon > strings.LastIndex(name, "/") {
		ref.Repository, ref.Tag = name[:colon], name[colon+1:]
		if !tagPattern.MatchString(ref.Tag) {
			return ImageReference{}, errors.New(
				"image reference: after the last colon must come a tag: at most 128 letters, digits, dots, dashes and underscores",
			)
		}
	}
	if !validRepository(ref.Repository) {
		return ImageReference{}, errors.New(
			"image reference: it must begin with a repository such as registry.example.com:5000/team/image, in lower case but for the host",
		)
	}
	return ref, nil
}

// validRepository treats the first part as a host if it has the form of one.
func validRepository(repository string) bool {
	if len(repository) > maxRepository {
		return false
	}
	first, rest, found := strings.Cut(repository, "/")
	if found && (strings.ContainsAny(first, ".:") || first == "localhost" || first != strings.ToLower(first)) {
		return hostPattern.MatchString(first) && pathPattern.MatchString(rest)
	}
	return pathPattern.MatchString(repository)
}

// Version returns the part that selects the artifact in its repository: the digest if there is one, otherwise the tag, otherwise the
// default tag.
func (r ImageReference) Version() string {
	switch {
	case r.Digest != "":
		return r.Digest
	case r.Tag != "":
		return r.Tag
	default:
		return defaultTag
	}
}

// String returns the reference as text.
func (r ImageReference) String() string {
	text := r.Repository
	if r.Tag != "" {
		text += ":" + r.Tag
	}
	if r.Digest != "" {
		text += "@" + r.Digest
	}
	return text
}
