// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"

	"espalier.dev/internal/objecttree"
)

// Sentence tells the cause of a chain in one line: the object, the reason in a word and in words.
func Sentence(chain Chain) string {
	link := chain.Cause()
	text := link.Node.Title()
	if link.Reason != "" {
		text += " (" + link.Reason + ")"
	}
	return text + ": " + Message(link)
}

// Message is what there is to know about an object, in words.
func Message(link Link) string { return cmp.Or(link.Message, inState(link.Node)) }

func inState(node *objecttree.Node) string {
	if node.State() == objecttree.Failed {
		return "it has failed and says no more"
	}
	return "it is in phase " + node.Phase() + " and says no more"
}
