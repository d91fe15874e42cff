// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package run

import "strings"

const (
	// maxSuspendReason limits how many characters of a reason are shown.
	maxSuspendReason = 200
	// saidBy starts a reason that names its author first.
	saidBy = "by "
)

// SuspendReason returns the value of the annotation that records who has suspended an object, if known, and why, if given.
func SuspendReason(who, reason string) string {
	switch {
	case who == "":
		return reason
	case reason == "":
		return saidBy + who
	default:
		return saidBy + who + ": " + reason
	}
}

// Suspended describes a suspension: by whom and why, as far as the value of the annotation shows. Users may write anything into it.
func Suspended(reason string) string {
	switch reason = OneLine(reason, maxSuspendReason); {
	case reason == "":
		return "suspended"
	case strings.HasPrefix(reason, saidBy):
		return "suspended " + reason
	default:
		return "suspended: " + reason
	}
}

// OneLine returns a text on one line, of limited length.
func OneLine(text string, limit int) string {
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "))
	if len(runes) > limit {
		return string(runes[:limit]) + "..."
	}
	return string(runes)
}
