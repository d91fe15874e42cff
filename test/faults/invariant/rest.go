// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"maps"
	"strings"

	"espalier.dev/internal/testkit"
)

// AtRest reports whether, at the end of a history, nothing is left to do for any object of the continuous flow.
func AtRest(history testkit.History) bool {
	rest := true
	replayEnd(history, func(s step) {
		rest = rest && !(s.after.isContinuous() && (s.after.isBusy() || s.after.deleting()))
	})
	return rest
}

// HasSettled reports whether, at the end of a history, nothing is left to do in either flow: every root has finished its job.
func HasSettled(history testkit.History) bool {
	settled := AtRest(history)
	replayEnd(history, func(s step) {
		_, nested := s.after.parent()
		settled = settled && (nested || s.id.Kind != kindInstallation || s.after.isContinuous() || s.after.job != "" && s.after.isFinished())
	})
	return settled
}

// restIsRespected holds for every write to an object of the continuous flow that is done with its current spec and has no open request: it
// reports something new, and something has happened recently. The cause of a write may precede the previous write, because caches lag
// behind; so the third consecutive write without a cause is a violation. An answered request ends a series.
func restIsRespected(history testkit.History) []Violation {
	f := &findings{rule: "C4"}
	var last testkit.ObjectID
	row := 0 // how many writes have followed another one of the same object, without a change by a user
	replayAll(history, func(s step) {
		if row++; s.id != last || s.before == nil || s.after == nil || !sameWill(s.before, s.after) {
			row = 0
		}
		last = s.id
		if !wasAtRest(s) {
			return
		}
		switch was := s.before; {
		case len(news(was, s.after)) == 0:
			f.add(s, "it is at rest in phase %s, and is written without news", was.phase)
		case row >= 2:
			f.add(s, "it is at rest in phase %s, and is written although nothing has happened", was.phase)
		}
	})
	return f.found
}

// wasAtRest reports whether a step is about an object of the continuous flow that is not being deleted and had nothing to do.
func wasAtRest(s step) bool {
	return s.after != nil && s.before != nil && s.after.isContinuous() && s.before.isContinuous() && !s.before.isBusy() && !s.after.deleting()
}

// sameWill reports whether a write leaves the users' decisions unchanged.
func sameWill(a, b *object) bool {
	return a.generation == b.generation && maps.Equal(a.raw.GetAnnotations(), b.raw.GetAnnotations()) &&
		maps.Equal(a.raw.GetLabels(), b.raw.GetLabels())
}

// news returns the paths in which two states of an object differ, except for times and the bookkeeping of the API server.
func news(a, b *object) []string {
	before, after := map[string]string{}, map[string]string{}
	flatten(a.raw.Object, "", before)
	flatten(b.raw.Object, "", after)
	var paths []string
	for path := range after {
		if before[path] != after[path] && !isNoise(path, after[path]) {
			paths = append(paths, path)
		}
	}
	for path := range before {
		if _, found := after[path]; !found && !isNoise(path, before[path]) {
			paths = append(paths, path)
		}
	}
	return paths
}

func isNoise(path, value string) bool {
	return strings.HasPrefix(path, "metadata.managedFields") || path == "metadata.resourceVersion" || timeForm.MatchString(value)
}
