// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"strings"
)

// Address is the address for which a credential is looked up.
type Address struct {
	// Type is the type of the consumer, for example OCIRegistry.
	Type string
	// Scheme is http or https.
	Scheme string
	// Host is a name without port.
	Host string
	// Port is the port that is dialled, even if it is the default.
	Port string
	// Path follows the host, without a leading slash.
	Path string
}

// consumer is what a credential is for. Empty fields match everything.
type consumer struct {
	kind   string
	scheme string
	host   string
	port   string
	path   string
}

// rank returns how well a consumer matches: -1 if it does not, otherwise a number that grows with its specificity. A host counts more than
// a port, a port more than a scheme, and each more than any path.
func (c consumer) rank(wanted Address) int {
	if c.kind != "" && c.kind != wanted.Type {
		return -1
	}
	rank := 0
	for _, field := range []struct {
		own, wanted string
		worth       int
	}{
		{canonicalHost(c.host), canonicalHost(wanted.Host), 4 << 20},
		{c.port, wanted.Port, 2 << 20},
		{c.scheme, wanted.Scheme, 1 << 20},
	} {
		if field.own == "" {
			continue
		}
		if field.own != field.wanted {
			return -1
		}
		rank += field.worth
	}
	if !withinPath(wanted.Path, c.path) {
		return -1
	}
	return rank + min(len(segments(c.path)), 1<<19)
}

// withinPath reports whether a path starts with a prefix, by whole segments.
func withinPath(path, prefix string) bool {
	own, wanted := segments(prefix), segments(path)
	if len(own) > len(wanted) {
		return false
	}
	for i := range own {
		if own[i] != wanted[i] {
			return false
		}
	}
	return true
}

func segments(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// canonicalHost maps the aliases of a registry to one name.
func canonicalHost(host string) string {
	host = strings.ToLower(strings.Trim(host, "[]"))
	switch host {
	case "index.docker.io", "registry-1.docker.io":
		return "docker.io"
	}
	return host
}
