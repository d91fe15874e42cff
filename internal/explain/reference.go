// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"

	"espalier.dev/internal/version"
)

// errorsPage explains what errors mean and what to do about them, each under its own heading.
const errorsPage = "docs/reference/errors.md"

// Reference returns the place in the documentation that explains what is wrong: by the reason, or else by an error code. It is empty if
// there is none, for example because nothing is wrong, or because a third-party deployer uses its own reason.
func Reference(link Link) string {
	words := []string{link.Reason}
	if failed := link.Node.Status.LastError; failed != nil && link.Node.HasError() {
		for _, code := range failed.Codes {
			words = append(words, string(code))
		}
	}
	return ReferenceTo(words...)
}

// ReferenceTo returns the place in the documentation that explains the first known one of some codes and reasons; empty if none is known.
func ReferenceTo(words ...string) string {
	for _, word := range words {
		if slices.Contains(documented, word) {
			return version.Page(errorsPage + "#" + strings.ToLower(word))
		}
	}
	return ""
}
