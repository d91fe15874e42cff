// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"maps"
	"slices"
	"strings"

	"espalier.dev/internal/testkit"
)

// Labels of Helm's records: the name of the release, and the state of the revision.
const (
	releaseRecord = "sh.helm.release.v1."
	releaseOwner  = "owner"
	releaseName   = "name"
	releaseStatus = "status"

	releaseDeployed   = "deployed"
	releaseSuperseded = "superseded"
	releaseFailed     = "failed"
)

// isReleaseRecord reports whether a revision is one of a Secret in which Helm records a revision of a release. Their content includes the
// time and is compressed; so they are compared by their labels.
func isReleaseRecord(r testkit.Revision) bool {
	return strings.HasPrefix(r.Object.GetName(), releaseRecord) && r.Object.GetLabels()[releaseOwner] == "helm"
}

// oneRevisionIsDeployed holds for every write of a record: at most one revision of a release is deployed.
func oneRevisionIsDeployed(history testkit.History) []Violation {
	f := &findings{rule: "I17"}
	states := map[testkit.ObjectID]map[string]string{}
	for _, r := range history {
		if !isReleaseRecord(r) {
			continue
		}
		labels := r.Object.GetLabels()
		release := testkit.ObjectID{Kind: "Release", Namespace: r.Object.GetNamespace(), Name: labels[releaseName]}
		if states[release] == nil {
			states[release] = map[string]string{}
		}
		states[release][r.Object.GetName()] = labels[releaseStatus]
		if r.Change == testkit.Deleted {
			delete(states[release], r.Object.GetName())
		}
		if count(states[release], releaseDeployed) > 1 {
			f.add(step{id: release, version: r.Version()}, "more than one revision is deployed")
		}
	}
	return f.found
}

func count(states map[string]string, status string) int {
	number := 0
	for _, one := range states {
		if one == status {
			number++
		}
	}
	return number
}

// mostAbandoned is how many revisions of a release faults may leave behind in a run.
const mostAbandoned = 3

// sameReleases compares the releases at the end. A run with faults may have a few more revisions, which were abandoned: they have failed,
// or Helm marked them as superseded, if none was deployed when it created the next. One is deployed as in an undisturbed run, and nothing
// is in progress.
func sameReleases(reference, history testkit.History) []Violation {
	want, got := releasesOf(reference), releasesOf(history)
	all := maps.Clone(want)
	maps.Copy(all, got)
	f := &findings{rule: "I14"}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := step{id: testkit.ObjectID{Kind: "Release", Name: name}}
		if is, was := got[name][releaseDeployed], want[name][releaseDeployed]; is != was {
			f.add(s, "it has %d revisions that are deployed, and %d after an undisturbed run", is, was)
		}
		if is, was := total(got[name]), total(want[name]); is < was || is > was+mostAbandoned {
			f.add(s, "it has %d revisions, and %d after an undisturbed run", is, was)
		}
		for _, status := range slices.Sorted(maps.Keys(got[name])) {
			if !slices.Contains([]string{releaseDeployed, releaseSuperseded, releaseFailed}, status) {
				f.add(s, "it has a revision that is %s", status)
			}
		}
	}
	return f.found
}

func total(revisions map[string]int) int {
	sum := 0
	for _, number := range revisions {
		sum += number
	}
	return sum
}

// releasesOf counts the revisions of releases by their states.
func releasesOf(history testkit.History) map[string]map[string]int {
	releases := map[string]map[string]int{}
	for _, own := range history.Objects() {
		last := own.Last()
		if last.Change == testkit.Deleted || !isReleaseRecord(*last) {
			continue
		}
		labels := last.Object.GetLabels()
		if releases[labels[releaseName]] == nil {
			releases[labels[releaseName]] = map[string]int{}
		}
		releases[labels[releaseName]][labels[releaseStatus]]++
	}
	return releases
}
