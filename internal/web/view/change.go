// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"reflect"
)

// ChangeSince returns the difference between two overviews: which rows are new or different, and which are gone. It returns false if
// nothing but Now has changed.
func ChangeSince(before, after Overview) (OverviewChange, bool) {
	change := OverviewChange{
		Now: after.Now, Verdict: after.Verdict, Needs: orEmpty(after.Needs), Soon: orEmpty(after.Soon), Hidden: orEmpty(after.Hidden),
	}
	change.Pipelines, change.GonePipelines = changedRows(before.Pipelines, after.Pipelines, func(r PipelineRow) Ref { return r.Ref })
	change.Installations, change.GoneInstallations = changedRows(
		before.Installations, after.Installations, func(r InstallationRow) Ref { return r.Ref },
	)
	rows := len(change.Pipelines) + len(change.GonePipelines) + len(change.Installations) + len(change.GoneInstallations)
	same := rows == 0 && before.Verdict == after.Verdict && equal(before.Needs, after.Needs) && equal(before.Soon, after.Soon) &&
		equal(before.Hidden, after.Hidden)
	return change, !same
}

func changedRows[R any](before, after []R, ref func(R) Ref) (changed []R, gone []Ref) {
	changed, gone = []R{}, []Ref{}
	known := make(map[Ref]R, len(before))
	for _, row := range before {
		known[ref(row)] = row
	}
	still := make(map[Ref]bool, len(after))
	for _, row := range after {
		still[ref(row)] = true
		if old, was := known[ref(row)]; !was || !reflect.DeepEqual(old, row) {
			changed = append(changed, row)
		}
	}
	for _, row := range before {
		if !still[ref(row)] {
			gone = append(gone, ref(row))
		}
	}
	return changed, gone
}

// equal treats a nil list like an empty one.
func equal[R any](a, b []R) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) }
