// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// chartDigest is what Flux appends to the version of a chart that comes from an OCI registry.
var chartDigest = regexp.MustCompile(`\+[0-9a-f]{12}$`)

// Comparable returns the revision of an application without irrelevant parts: the digest that Flux appends to the version of a chart.
func Comparable(kind, revision string) string {
	if kind == "HelmRelease" {
		return chartDigest.ReplaceAllString(revision, "")
	}
	return revision
}

// Value returns what to write into a file or field for a revision. That is the revision itself, except for sources of Flux: for these, it
// is the name if it identifies one version (a tag), otherwise, since branches move, the commit of a Git revision or the whole digest of
// another one.
func Value(kind, revision string) string {
	revision = Comparable(kind, revision)
	s, ok := readSource(revision)
	if !ok {
		return revision
	}
	if version := s.version(); version != "" {
		return version
	}
	if s.algorithm == "sha1" {
		return s.sum
	}
	return s.algorithm + ":" + s.sum
}

// source is the revision of a source of Flux. Its form is NAME@ALGORITHM:DIGEST if the source follows a name, and ALGORITHM:DIGEST
// if it names only a Git commit or an OCI digest, or if it is a bucket.
type source struct{ name, algorithm, sum string }

func readSource(revision string) (source, bool) {
	name, digest := "", revision
	if i := strings.LastIndex(revision, "@"); i >= 0 {
		name, digest = revision[:i], revision[i+1:]
	}
	algorithm, sum, found := strings.Cut(digest, ":")
	return source{
		name:      strings.TrimPrefix(name, "refs/tags/"),
		algorithm: algorithm,
		sum:       sum,
	}, found && digestAlgorithms[algorithm] && sum != ""
}

// version returns the name of the source if that identifies one version; empty if the name can move to another version. Git branches and
// tags cannot be distinguished here, unless the name is a semantic version.
func (s source) version() string {
	if _, err := version.ParseSemantic(s.name); err == nil {
		return s.name
	}
	if s.algorithm == "sha1" || s.name == "latest" || strings.Contains(s.name, "/") {
		return ""
	}
	return s.name
}

// sameRevision reports whether two reported revisions are equivalent. They are if they have the same digest, regardless of how each source
// found it: main@sha1:X is promoted as X, and is then reported as sha1:X. But different versions are different even if their contents are
// the same, so that a release follows its candidate.
func sameRevision(a, b string) bool {
	if a == b {
		return true
	}
	left, ok := readSource(a)
	if !ok {
		return false
	}
	right, ok := readSource(b)
	if !ok || left.algorithm != right.algorithm || left.sum != right.sum {
		return false
	}
	return left.version() == "" || right.version() == "" || left.version() == right.version()
}

// spell gives equivalent revisions the same spelling, so that they can be compared. The spelling of the first environment takes
// precedence, because it sets the revision; then recorded revisions take precedence over reported ones.
func spell(o Observed, views []view) {
	var known []string
	learn := func(revision string) string {
		if revision == "" {
			return ""
		}
		if i := slices.IndexFunc(known, func(k string) bool { return sameRevision(k, revision) }); i >= 0 {
			return known[i]
		}
		known = append(known, revision)
		return revision
	}
	for i, v := range views {
		recorded := o.Status.Environments[v.name()]
		if i > 0 && recorded.Promotion != nil {
			learn(recorded.Promotion.Revision)
		}
		if i > 0 && recorded.Settled != nil {
			learn(recorded.Settled.Revision)
		}
		for t := range v.seen.Targets {
			target := &v.seen.Targets[t]
			target.Revision, target.AttemptedRevision = learn(target.Revision), learn(target.AttemptedRevision)
		}
		if i == 0 && o.Status.Run != nil {
			learn(o.Status.Run.Revision)
		}
	}
}

var digestAlgorithms = map[string]bool{"sha1": true, "sha256": true, "sha384": true, "sha512": true}

// lower reports whether one revision is a lower version than another. It is false if one of them is not a version.
func lower(revision, than string) bool {
	a, err := version.ParseSemantic(versionOf(revision))
	if err != nil {
		return false
	}
	b, err := version.ParseSemantic(versionOf(than))
	return err == nil && a.LessThan(b)
}

// versionOf returns the part of a revision that may be a version.
func versionOf(revision string) string {
	name, _, _ := strings.Cut(revision, "@")
	return strings.TrimPrefix(name, "refs/tags/")
}
