// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// finalizersGoLast holds for the write that removes our finalizer from an object, and for the end of an object.
func finalizersGoLast(history testkit.History) []Violation {
	f := &findings{rule: "I8"}
	replay(history, func(s step) {
		if s.before == nil || !s.before.runs() || !leaves(s) {
			return
		}
		for _, child := range s.world.children(s.id) {
			f.add(s, "its finalizer goes while %s exists", child.id)
		}
		if s.id.Kind != kindDeployItem || s.before.keepsInstalled() || s.ending {
			return
		}
		for _, id := range inventoryOf(s.before) {
			if s.world[id] != nil {
				f.add(s, "its finalizer goes while %s is still deployed", id)
			}
		}
	})
	return f.found
}

func leaves(s step) bool {
	protected := func(o *object) bool { return slices.Contains(o.raw.GetFinalizers(), lsv1alpha1.Finalizer) }
	if s.after == nil {
		return true
	}
	return protected(s.before) && !protected(s.after)
}
