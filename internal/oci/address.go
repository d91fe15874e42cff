// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"net"
	"regexp"
	"strings"
)

// Address is a registry, or a path in it.
type Address struct {
	// PlainHTTP reports whether the registry is accessed without TLS, because its URL starts with http://.
	PlainHTTP bool
	// Host is the name, with the port if it is given.
	Host string
	// Path follows the host, without leading and trailing slashes.
	Path string
}

var (
	hostPattern = regexp.MustCompile(`^([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[a-fA-F0-9:]+\])(:[0-9]{1,5})?$`)
	pathPattern = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
)

// ParseAddress parses [SCHEME://]HOST[:PORT][/PATH]. The schemes are https, the default, http and oci. Errors do not quote the text,
// because it may accidentally contain credentials.
func ParseAddress(text string) (Address, error) {
	var address Address
	if scheme, rest, found := strings.Cut(text, "://"); found {
		switch strings.ToLower(scheme) {
		case "http":
			address.PlainHTTP = true
		case "https", "oci":
		default:
			return Address{}, misconfigured("the address of a registry must start with https://, http:// or oci://, or have no scheme")
		}
		text = rest
	}
	host, path, _ := strings.Cut(text, "/")
	if !hostPattern.MatchString(host) {
		return Address{}, misconfigured(
			"the address of a registry needs a host such as registry.example.com:5000, and no user or password before it")
	}
	address.Host, address.Path = host, strings.Trim(path, "/")
	return address, nil
}

// Name returns the host without its port.
func (a Address) Name() string {
	if name, _, err := net.SplitHostPort(a.Host); err == nil {
		return name
	}
	return strings.Trim(a.Host, "[]")
}

// Port returns the given port, or the default of the scheme.
func (a Address) Port() string {
	if _, port, err := net.SplitHostPort(a.Host); err == nil {
		return port
	}
	if a.PlainHTTP {
		return "80"
	}
	return "443"
}

// Scheme returns http or https.
func (a Address) Scheme() string {
	if a.PlainHTTP {
		return "http"
	}
	return "https"
}

// IsRepository reports whether a path can name a repository.
func IsRepository(path string) bool { return len(path) <= 255 && pathPattern.MatchString(path) }
