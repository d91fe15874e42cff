// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package masking

import (
	"net/url"
	"regexp"
	"strings"
)

// WithoutUser takes the user and the password out of a URL, which may lack a scheme, and reports whether there were any. Either may be a
// token.
func WithoutUser(text string) (bare string, left bool) {
	scheme, rest, found := strings.Cut(text, "://")
	if found && !strings.ContainsAny(scheme, ":@/") {
		scheme += "://"
	} else {
		scheme, rest = "", text
	}
	end := len(rest) // Nobody knows where the password in a broken URL ends.
	if _, err := url.Parse("https://" + rest); err == nil {
		if slash := strings.IndexAny(rest, "/?#"); slash >= 0 {
			end = slash
		}
	}
	at := strings.LastIndex(rest[:end], "@")
	return scheme + rest[at+1:], at >= 0
}

var userPattern = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/?#"'<>]+@`)

// withoutUsers masks the users and passwords of all URLs in a text.
func withoutUsers(text string) string { return userPattern.ReplaceAllString(text, "${1}"+Mask+"@") }
