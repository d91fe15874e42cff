// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package view

import "espalier.dev/internal/preview"

// NewDiff returns the document of what a job would change.
func NewDiff(found *preview.Diff) Diff {
	shown := Diff{Objects: []ObjectDiff{}, Notes: orEmpty(found.Notes)}
	for _, change := range found.Changes {
		object := ObjectDiff{
			Ref: Ref{change.Kind, change.Namespace, change.Name}, Title: change.Title, Within: change.Within, Change: change.What,
			Lines: make([]DiffLine, 0, len(change.Lines)),
		}
		for _, line := range change.Lines {
			object.Lines = append(object.Lines, DiffLine{Op: line.Op, Text: line.Text})
		}
		shown.Objects = append(shown.Objects, object)
	}
	return shown
}
