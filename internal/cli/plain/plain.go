// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package plain takes out of texts what could steer a terminal. Texts from a cluster are written by others.
package plain

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sequence is what steers the colours and the cursor of a terminal.
var sequence = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]`)

// Steers reports whether a character must not reach a terminal.
func Steers(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == utf8.RuneError
}

// Words makes one line of a text, with single spaces.
func Words(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if Steers(r) {
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}

// Line is one line of a text whose spaces and tabs stay.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\t' && Steers(r) {
			return -1
		}
		return r
	}, sequence.ReplaceAllString(text, ""))
}

// Lines is a text of several lines, whose spaces and tabs stay.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = Line(lines[i])
	}
	return strings.Join(lines, "\n")
}
