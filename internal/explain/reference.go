// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"
)

// errorsPage explains what errors mean and what to do about them, each under a heading of its own.
const errorsPage = "docs/reference/errors.md"

// Reference is the place in the documentation that explains what is wrong: by the reason, or else by a code of the error. It is empty if
// there is none, for example because nothing is wrong or because a deployer of somebody else has a reason of its own.
func Reference(link Link) string {
	words := []string{link.Reason}
	if failed := link.Node.Status.LastError; failed != nil && link.Node.InTrouble() {
		for _, code := range failed.Codes {
			words = append(words, string(code))
		}
	}
	for _, word := range words {
		if slices.Contains(documented, word) {
			return errorsPage + "#" + strings.ToLower(word)
		}
	}
	return ""
}
