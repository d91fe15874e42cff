// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"espalier.dev/internal/testkit"
)

// AtRest tells whether nothing is left to do, at the end of a history, about anything of the continuous flow.
func AtRest(history testkit.History) bool {
	rest := true
	replayEnd(history, func(s step) {
		rest = rest && !(s.after.isContinuous() && (s.after.isBusy() || s.after.deleting()))
	})
	return rest
}
