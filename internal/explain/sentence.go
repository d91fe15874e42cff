// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"

	"espalier.dev/internal/objecttree"
)

// Sentence describes the cause of a chain in one line: the object, the reason and the message.
func Sentence(chain Chain) string {
	link := chain.Cause()
	text := link.Node.Title()
	if link.Reason != "" {
		text += " (" + link.Reason + ")"
	}
	return text + ": " + Message(link)
}

// Message returns what is known about an object, in words.
func Message(link Link) string { return cmp.Or(link.Message, inState(link.Node)) }

func inState(node *objecttree.Node) string {
	if node.State() == objecttree.Failed {
		return "it has failed without a message"
	}
	return "it is in phase " + node.Phase() + ", without a message"
}
