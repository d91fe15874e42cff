// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"slices"
	"testing"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
	"espalier.dev/internal/testkit"
)

// What a command has set for one deletion, and left behind when it was killed, does not apply to a later one: that one uninstalls.
func TestJOB60_WhatAKilledCommandLeavesIsIgnored(t *testing.T) {
	for name, c := range map[string]struct {
		flow  lsv1alpha1.Flow
		until time.Duration
	}{
		"left, with jobs":    {lsv1alpha1.FlowJob, -time.Minute},
		"left, without jobs": {lsv1alpha1.FlowContinuous, -time.Minute},
		"in time, with jobs": {lsv1alpha1.FlowJob, time.Hour},
		"in time, without":   {lsv1alpha1.FlowContinuous, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			recorder := w.recorded()
			const keep = lsv1alpha1.DeleteWithoutUninstallAnnotation
			marks := installation.DeletionMarks{Until: time.Now().Add(c.until), Names: []string{keep}}
			root := w.installation("root", header+nest(sub{name: "a", blueprint: header + deploy(item("one"))})).Reconcile().
				Annotate(keep, "true").Annotate(installation.DeletionMarksAnnotation, marks.String())
			if c.flow == lsv1alpha1.FlowContinuous {
				root = root.Continuous()
			}
			w.create(root.Build())
			w.eventually("root", "succeeded", func(i *lsv1alpha1.Installation) bool { return i.Status.Phase == lsv1alpha1.PhaseSucceeded })
			w.delete("root")
			w.vanished("root")
			kept := recorder.History().Where(func(r testkit.Revision) bool {
				kinds := []string{"Execution", "DeployItem"}
				return slices.Contains(kinds, r.Object.GetKind()) && r.Object.GetAnnotations()[keep] == "true"
			})
			if (len(kept) > 0) != (c.until > 0) {
				t.Errorf("objects below were told %d times to stay", len(kept))
			}
		})
	}
}
