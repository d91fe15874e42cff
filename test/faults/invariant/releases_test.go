// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// record writes the state of a revision of the release pot.
func (s *story) record(revision int, status string) *story {
	return s.write(fmt.Sprintf("Secret %spot.v%d", releaseRecord, revision), func(u *unstructured.Unstructured) {
		u.SetLabels(map[string]string{releaseOwner: "helm", releaseName: "pot", releaseStatus: status})
	})
}

func TestOneRevisionIsDeployed(t *testing.T) {
	upgraded := func() *story { return tell().record(1, "deployed").record(2, "pending-upgrade") }
	check(t, "I17", map[string]example{
		"one after the other":   {upgraded().record(1, "superseded").record(2, "deployed"), ""},
		"two at once":           {upgraded().record(2, "deployed").record(1, "superseded"), "Release garden/pot, revision 3: more than one revision is deployed"},
		"another one is gone":   {upgraded().delete("Secret "+releaseRecord+"pot.v1").record(2, "deployed"), ""},
		"something of somebody": {tell().write("Secret other", label(releaseStatus, "deployed")).record(1, "deployed"), ""},
	})
}

func TestSameReleases(t *testing.T) {
	reference := tell().record(1, "superseded").record(2, "deployed").history
	for name, c := range map[string]example{
		"the same":                  {tell().record(1, "superseded").record(2, "deployed"), ""},
		"one has failed in between": {tell().record(1, "superseded").record(2, "failed").record(3, "deployed"), ""},
		"one was superseded":        {tell().record(1, "superseded").record(2, "superseded").record(3, "deployed"), ""},
		"none is deployed":          {tell().record(1, "superseded").record(2, "failed"), "it has 0 revisions that are deployed, and 1 after"},
		"one is under way":          {tell().record(1, "superseded").record(2, "deployed").record(3, "pending-upgrade"), "it has a revision that is pending-upgrade"},
		"one is missing":            {tell().record(1, "deployed"), "it has 1 revisions, and 2 after"},
		"too many": {
			tell().record(1, "failed").record(2, "failed").record(3, "failed").record(4, "failed").record(5, "failed").record(6, "deployed"),
			"it has 6 revisions, and 2 after",
		},
	} {
		t.Run(name, func(t *testing.T) { expect(t, SameEnding(reference, c.story.history), c.want) })
	}
}

// The writes of an abandoned revision are bounded like those of any other.
func TestRecordsOfAReleaseAreBoundedTogether(t *testing.T) {
	reference := tell().record(1, "pending-install").record(1, "deployed").history
	abandoned := tell().record(1, "failed").record(2, "pending-install").record(2, "failed").record(2, "uninstalling").record(2, "deployed")
	expect(t, Bounded(reference, abandoned.history), "")
	often := tell()
	for range 10 {
		often.record(2, "failed")
	}
	expect(t, Bounded(reference, often.history), "it was written 10 times, with 2 in an undisturbed run at most 9 are fine")
}
