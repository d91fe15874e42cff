// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"fmt"
	"slices"
	"time"

	"espalier.dev/internal/testkit"
)

// Write is a write of one of several processes.
type Write struct {
	// Process is its number.
	Process int
	At      time.Time
	Object  testkit.ObjectID
}

// OneWorksAtATime holds for processes that share the work: they work on one tree one after the other, and none comes back.
func OneWorksAtATime(history testkit.History, writes []Write) []Violation {
	return takeTurns(writes, rootsOf(history))
}

// OneWorksOnEach is OneWorksAtATime for objects outside trees.
func OneWorksOnEach(writes []Write) []Violation {
	themselves := map[testkit.ObjectID]testkit.ObjectID{}
	for _, w := range writes {
		themselves[w.Object] = w.Object
	}
	return takeTurns(writes, themselves)
}

func takeTurns(writes []Write, roots map[testkit.ObjectID]testkit.ObjectID) []Violation {
	f := &findings{rule: "I22"}
	slices.SortStableFunc(writes, func(a, b Write) int { return a.At.Compare(b.At) })
	workers := map[testkit.ObjectID][]int{}
	for _, w := range writes {
		root, known := roots[w.Object]
		if !known {
			continue // it never existed
		}
		before := workers[root]
		switch {
		case len(before) > 0 && before[len(before)-1] == w.Process:
		case slices.Contains(before, w.Process):
			f.found = append(f.found, Violation{
				Rule: f.rule, Object: w.Object,
				What: fmt.Sprintf("process %d works on the tree of %s after process %d has begun to", w.Process, root.Name, before[len(before)-1]),
			})
		default:
			workers[root] = append(before, w.Process)
		}
	}
	return f.found
}

// rootsOf returns the root of each object that has jobs.
func rootsOf(history testkit.History) map[testkit.ObjectID]testkit.ObjectID {
	above := map[testkit.ObjectID]testkit.ObjectID{}
	for _, revision := range history {
		if o := newObject(revision); o.runs() {
			parent, found := o.parent()
			if !found {
				parent = o.id
			}
			above[o.id] = parent
		}
	}
	roots := map[testkit.ObjectID]testkit.ObjectID{}
	for id := range above {
		root := id
		for range above { // no path up is longer
			if parent, known := above[root]; known {
				root = parent
			}
		}
		roots[id] = root
	}
	return roots
}
