// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"slices"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/installation"
)

// A place is kept until the status shows that the job has started, and is free at once if it does not start: those that found it taken get
// no other event.
func TestAPlaceThatIsNotUsedIsFreeAtOnce(t *testing.T) {
	for name, c := range map[string]struct {
		phase       lsv1alpha1.Phase
		id          string
		after       func(*quotas, *lsv1alpha1.Installation)
		kept, freed bool
	}{
		"it waits, or has failed for now": {lsv1alpha1.PhaseInit, "job", (*quotas).settled, false, true},
		"it has failed for good":          {lsv1alpha1.PhaseFailed, "job", (*quotas).settled, false, true},
		"it has begun":                    {lsv1alpha1.PhaseProgressing, "job", (*quotas).settled, true, false},
		"it is seen to have begun":        {lsv1alpha1.PhaseProgressing, "job", (*quotas).observed, false, false},
		"it is not seen to have begun":    {lsv1alpha1.PhaseInit, "job", (*quotas).observed, true, false},
		"the status is that of before":    {lsv1alpha1.PhaseSucceeded, "older", (*quotas).observed, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			inst := &lsv1alpha1.Installation{}
			inst.Namespace, inst.Name = "shop", "app"
			inst.Status.Phase, inst.Status.JobID, inst.Status.JobIDFinished = c.phase, c.id, "older"
			q := newQuotas(nil, Limits{ConcurrentJobs: 1})
			b := q.bookOf("shop")
			b.jobs["app"], b.objects["app"] = "job", []installation.Piece{{}}
			c.after(q, inst)
			if _, kept := b.jobs["app"]; kept != c.kept {
				t.Errorf("the place is kept: %t", kept)
			}
			if freed := slices.Equal(q.toLookAt(), []string{"shop"}) && len(q.freed) == 1; freed != c.freed {
				t.Errorf("somebody is told: %t", freed)
			}
		})
	}
}

// Two signals before a check lead to one check, and sending a signal does not block.
func TestSomebodyLooksAtAllNamespacesThatAreFree(t *testing.T) {
	q := newQuotas(nil, Limits{})
	for _, namespace := range []string{"b", "a", "b"} {
		q.free(namespace)
	}
	if found := q.toLookAt(); len(q.freed) != 1 || !slices.Equal(found, []string{"a", "b"}) || len(q.toLookAt()) > 0 {
		t.Errorf("%d events, namespaces %q", len(q.freed), found)
	}
}
