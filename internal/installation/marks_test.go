// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installation_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
)

// What a command has set for one deletion applies to no later one. What a user has set always applies.
func TestMarksOfADeletion(t *testing.T) {
	const keep, ignore = lsv1alpha1.DeleteWithoutUninstallAnnotation, lsv1alpha1.DeleteIgnoreSuccessorsAnnotation
	both := installation.DeletionMarks{Until: noon, Names: []string{keep, ignore}}.String()
	for name, c := range map[string]struct {
		value, marks string
		deleted      time.Time
		want         bool
	}{
		"not marked":            {"", both, noon, false},
		"marked false":          {"false", both, noon, false},
		"by a user":             {"true", "", noon.Add(time.Hour), true},
		"by a user, undeleted":  {"true", "", time.Time{}, true},
		"by a command":          {"true", both, noon, true},
		"before the command":    {"true", both, noon.Add(-time.Hour), true},
		"left by a command":     {"true", both, noon.Add(time.Second), false},
		"left, undeleted":       {"true", both, time.Time{}, false},
		"beside that of a user": {"true", installation.DeletionMarks{Until: noon, Names: []string{ignore}}.String(), noon.Add(time.Hour), true},
		"unreadable":            {"true", "soon " + keep, noon.Add(time.Hour), true},
	} {
		inst := &lsv1alpha1.Installation{}
		inst.Annotations = map[string]string{keep: c.value, installation.DeletionMarksAnnotation: c.marks}
		if !c.deleted.IsZero() {
			inst.DeletionTimestamp = &metav1.Time{Time: c.deleted}
		}
		if got := installation.IsMarked(inst, keep); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		if o := installation.NewObserved(installation.Snapshot{Installation: inst, Now: noon}); o.WithoutUninstall != c.want {
			t.Errorf("%s: observed as %t", name, o.WithoutUninstall)
		}
	}
}
