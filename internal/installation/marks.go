// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeletionMarksAnnotation names the annotations that a command has set for the deletion that it requests next, and a deadline for that
// deletion, in the time of the API server. If the command ends in between, its marks stay, and a later deletion ignores them.
const DeletionMarksAnnotation = "espalier.dev/deletion-marks"

// DeletionMarks are annotations that control how an installation is deleted, and the time of the last deletion to which they apply.
type DeletionMarks struct {
	Until time.Time
	Names []string
}

// String returns the value of the annotation.
func (m DeletionMarks) String() string {
	return strings.Join(append([]string{m.Until.UTC().Format(time.RFC3339)}, m.Names...), " ")
}

// DeletionMarksOf returns the marks that a command has set on an installation; none if it has set none, or if they are invalid.
func DeletionMarksOf(inst metav1.Object) DeletionMarks {
	words := strings.Fields(inst.GetAnnotations()[DeletionMarksAnnotation])
	if len(words) == 0 {
		return DeletionMarks{}
	}
	until, err := time.Parse(time.RFC3339, words[0])
	if err != nil {
		return DeletionMarks{}
	}
	return DeletionMarks{Until: until, Names: words[1:]}
}

// IsMarked reports whether an annotation controls how an installation is deleted. One that a command has set applies to a single deletion.
func IsMarked(inst metav1.Object, mark string) bool {
	if inst.GetAnnotations()[mark] != "true" {
		return false
	}
	marks, deleted := DeletionMarksOf(inst), inst.GetDeletionTimestamp()
	return !slices.Contains(marks.Names, mark) || deleted != nil && !deleted.After(marks.Until)
}
