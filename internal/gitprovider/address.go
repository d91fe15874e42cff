// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitprovider

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"espalier.dev/internal/dial"
)

// Repository identifies a repository, regardless of the spelling of its URL. Values are comparable.
type Repository struct {
	// Host, in lower case, with the port unless it is the default.
	Host string
	// Path is the provider's name for the repository, for example "owner/name", in lower case: no provider has two repositories whose names
	// differ only in case.
	Path string
}

// NewRepository returns the same value for names that differ only in case.
func NewRepository(host, path string) Repository {
	return Repository{Host: strings.ToLower(host), Path: strings.ToLower(path)}
}

// String returns the host and the path.
func (r Repository) String() string {
	if r.Host == "" {
		return r.Path
	}
	return r.Host + "/" + r.Path
}

// Address is the parsed URL of a repository.
type Address struct {
	Scheme string
	// Host with the port, if the URL has one.
	Host string
	// CloneURL is the URL for Git, without a user name.
	CloneURL string
	// Segments are the parts of the path, unescaped, without a final ".git". None is empty, "." or "..".
	Segments []string
}

const maxURL = 2048

// ParseAddress parses the field url of a pull-request strategy. The scheme is https; http is accepted only for loopback addresses, and only
// if the rules allow dialling these, since the token is sent unencrypted.
func ParseAddress(text string, rules dial.Rules) (Address, error) {
	return parseAddress(text, func(host string) bool { return rules.AllowLoopback && isLoopback(host) })
}

func parseAddress(text string, mayBeClear func(host string) bool) (Address, error) {
	if len(text) > maxURL {
		return Address{}, Misconfiguredf("url is longer than %d characters", maxURL)
	}
	parsed, err := url.Parse(text)
	if err != nil {
		return Address{}, Misconfiguredf("url is not a valid URL: use https://HOST/PATH") // the cause would repeat a password
	}
	if complaint := complaintAbout(parsed, mayBeClear); complaint != "" {
		return Address{}, Misconfiguredf("%s", complaint)
	}
	segments, ok := segmentsOf(parsed)
	if !ok {
		return Address{}, Misconfiguredf(
			"url has a path with an empty part, a dot as a part, or a control character: use it as the Git server shows it",
		)
	}
	parsed.User = nil
	return Address{Scheme: parsed.Scheme, Host: strings.ToLower(parsed.Host), CloneURL: parsed.String(), Segments: segments}, nil
}

func complaintAbout(parsed *url.URL, mayBeClear func(host string) bool) string {
	_, password := parsed.User.Password()
	switch {
	case password:
		return "url contains a password: move it to the Secret of secretRef"
	case parsed.Scheme == "http" && !mayBeClear(parsed.Hostname()):
		return "url begins with http://, which would send the token in the clear: use https://"
	case parsed.Scheme != "https" && parsed.Scheme != "http":
		return "url does not begin with https://: pull requests need the HTTPS URL of the repository, not the one for SSH"
	case parsed.Hostname() == "":
		return "url has no host: use https://HOST/PATH"
	case parsed.RawQuery != "" || parsed.Fragment != "":
		return "url has a part after ? or #: remove it"
	case strings.Trim(parsed.Path, "/") == "":
		return "url has no path: use https://HOST/PATH"
	}
	return ""
}

func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

func segmentsOf(parsed *url.URL) ([]string, bool) {
	escaped := strings.Split(strings.Trim(parsed.EscapedPath(), "/"), "/")
	segments := make([]string, 0, len(escaped))
	for _, part := range escaped {
		segment, err := url.PathUnescape(part)
		if err != nil || strings.ContainsFunc(segment, isControl) {
			return nil, false
		}
		segments = append(segments, segment)
	}
	last := len(segments) - 1
	segments[last] = strings.TrimSuffix(segments[last], ".git")
	odd := func(s string) bool { return s == "" || s == "." || s == ".." || strings.Contains(s, "/") }
	return segments, !slices.ContainsFunc(segments, odd)
}
