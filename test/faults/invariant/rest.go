// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"maps"
	"strings"

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

// restIsRespected holds for every write to an object of the continuous flow that is done with its present spec and was asked for nothing:
// something has happened since the last write to it, and it tells something that was not told before.
func restIsRespected(history testkit.History) []Violation {
	f := &findings{rule: "C4"}
	before := map[uint64]testkit.ObjectID{} // which object was written last before a revision
	for i := 1; i < len(history); i++ {
		before[history[i].Version()] = history[i-1].ID()
	}
	replay(history, func(s step) {
		was := s.before
		if s.after != nil && was != nil && s.after.isContinuous() && was.isContinuous() && !was.isBusy() && !s.after.deleting() {
			switch {
			case len(news(was, s.after)) == 0:
				f.add(s, "it is at rest in phase %s, and is written without news", was.phase)
			case before[s.version] == s.id && sameWill(was, s.after):
				f.add(s, "it is at rest in phase %s, and is written although nothing has happened: %s", was.phase, strings.Join(news(was, s.after), ", "))
			}
		}
	})
	return f.found
}

// sameWill tells whether a write leaves what users decide as it was.
func sameWill(a, b *object) bool {
	return a.generation == b.generation && maps.Equal(a.raw.GetAnnotations(), b.raw.GetAnnotations()) && maps.Equal(a.raw.GetLabels(), b.raw.GetLabels())
}

// news are the paths in which two states of an object differ, apart from times and the bookkeeping of the API server.
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
