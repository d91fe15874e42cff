// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// chartDigest is what Flux appends to the version of a chart that comes from an OCI registry.
var chartDigest = regexp.MustCompile(`\+[0-9a-f]{12}$`)

// Comparable returns the revision of an application without what says nothing about it: the digest that Flux appends to the
// version of a chart.
func Comparable(kind, revision string) string {
	if kind == "HelmRelease" {
		return chartDigest.ReplaceAllString(revision, "")
	}
	return revision
}

// Value returns what is written into a file or field for a revision. That is the revision itself, except for sources of
// Flux, whose revisions are NAME@ALGORITHM:DIGEST. Of these it is the name if that names one version (a tag), and otherwise,
// since a branch moves on, the commit of a Git revision or the whole digest of another one.
func Value(kind, revision string) string {
	revision = Comparable(kind, revision)
	name, digest, found := strings.Cut(revision, "@")
	algorithm, sum, ok := strings.Cut(digest, ":")
	if !found || !ok || !digestAlgorithms[algorithm] || sum == "" {
		return revision
	}
	name = strings.TrimPrefix(name, "refs/tags/")
	if _, err := version.ParseSemantic(name); err == nil {
		return name
	}
	if algorithm == "sha1" {
		return sum
	}
	if name != "" && name != "latest" && !strings.Contains(name, "/") {
		return name
	}
	return digest
}

var digestAlgorithms = map[string]bool{"sha1": true, "sha256": true, "sha384": true, "sha512": true}

// lower tells whether one revision is a lower version than another. It is not if one of them is no version.
func lower(revision, than string) bool {
	a, err := version.ParseSemantic(versionOf(revision))
	if err != nil {
		return false
	}
	b, err := version.ParseSemantic(versionOf(than))
	return err == nil && a.LessThan(b)
}

// versionOf is the part of a revision that may be a version.
func versionOf(revision string) string {
	name, _, _ := strings.Cut(revision, "@")
	return strings.TrimPrefix(name, "refs/tags/")
}
