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
	// maxReturn bounds what goes into a cookie.
	maxReturn = 1024
)

// OwnPage returns an address of our own pages that means what the given one does, or the first page if that is none: nobody is to be led
// elsewhere by a link to the login.
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

// isPath reports whether an address has no other host, in none of the ways to name one.
func isPath(address *url.URL) bool {
	return address.Scheme == "" && address.Opaque == "" && address.Host == "" && address.User == nil && strings.HasPrefix(address.Path, "/")
}

// isOdd is for what browsers leave out of an address, or take for a slash.
func isOdd(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }
