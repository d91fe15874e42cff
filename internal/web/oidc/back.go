// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oidc

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

const (
	startPage = "/"
	// maxReturn bounds the address in the cookie.
	maxReturn = 1024
)

// OwnPage returns the equivalent address of one of our own pages, or the first page if there is none: a link to the login must not redirect
// elsewhere.
func OwnPage(address string) string {
	parsed, err := url.Parse(address)
	if err != nil || len(address) > maxReturn || !isPath(parsed) || strings.ContainsFunc(address+parsed.Path, isOdd) {
		return startPage
	}
	page := path.Clean(parsed.Path)
	first, _, _ := strings.Cut(page[1:], "/")
	if slices.Contains([]string{"api", "auth", "login", "open"}, first) {
		return startPage
	}
	return (&url.URL{Path: page, RawQuery: parsed.RawQuery, Fragment: parsed.Fragment}).String()
}

// isPath reports whether an address names no other host in any form.
func isPath(address *url.URL) bool {
	return address.Scheme == "" && address.Opaque == "" && address.Host == "" && address.User == nil && strings.HasPrefix(address.Path, "/")
}

// isOdd reports whether browsers drop a character from an address, or treat it as a slash.
func isOdd(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }
