// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	containerv1alpha1 "espalier.dev/api/deployer/container/v1alpha1"
	"espalier.dev/internal/targetsync"
	"espalier.dev/internal/testkit"
)

// SameEnding compares what exists at the end of a run with what exists at the end of an undisturbed one. Server-side bookkeeping and times
// are omitted, and identities are compared by their relations: what was equal there is equal here.
func SameEnding(reference, history testkit.History) []Violation {
	want, got := endingOf(reference), endingOf(history)
	all := maps.Clone(want)
	maps.Copy(all, got)
	f := &findings{rule: "I14"}
	identities := newIdentities()
	for _, id := range slices.SortedFunc(maps.Keys(all), compareIDs) {
		s := step{id: id, version: got[id].version}
		switch {
		case got[id].leaves == nil:
			f.add(s, "it does not exist, and does after an undisturbed run")
		case want[id].leaves == nil:
			f.add(s, "it exists, and does not after an undisturbed run")
		default:
			compareLeaves(f, s, identities, [2]map[string]string{want[id].leaves, got[id].leaves})
		}
	}
	return append(f.found, sameReleases(reference, history)...)
}

func compareLeaves(f *findings, s step, identities *identities, leaves [2]map[string]string) {
	all := maps.Clone(leaves[0])
	maps.Copy(all, leaves[1])
	for _, path := range slices.Sorted(maps.Keys(all)) {
		want, wanted := leaves[0][path]
		got, found := leaves[1][path]
		switch {
		case !found:
			f.add(s, "%s is missing, want %s", path, shorten(want))
		case !wanted:
			f.add(s, "%s is %s, want nothing", path, shorten(got))
		case !identities.same(want, got):
			f.add(s, "%s is %s, want %s", path, shorten(got), shorten(want))
		}
	}
}

func shorten(text string) string {
	const longest = 200
	if len(text) > longest {
		return text[:longest] + "..."
	}
	return text
}

// Bounded compares how often each object was written, and how often one with its name was created. Faults may cost repetitions, but a
// bounded number. Each life is counted separately: an object that is removed and wanted again is written from the start.
func Bounded(reference, history testkit.History) []Violation {
	usual := map[testkit.ObjectID]incarnations{}
	names := stableNamesOf(reference)
	for id, own := range reference.Objects() {
		like := counted(names.of(id))
		known, more := usual[like], incarnationsOf(own)
		usual[like] = incarnations{number: known.number + more.number, longest: max(known.longest, more.longest)}
	}
	f := &findings{rule: "I15"}
	objects, names := history.Objects(), stableNamesOf(history)
	for _, id := range slices.SortedFunc(maps.Keys(objects), compareIDs) {
		if id.Kind == kindNamespace { // Each run has its own.
			continue
		}
		was, is := usual[counted(names.of(id))], incarnationsOf(objects[id])
		last := step{id: id, version: objects[id].Last().Version()}
		if limit := bound(was.longest); is.longest > limit {
			f.add(last, "it was written %d times, with %d in an undisturbed run at most %d are fine", is.longest, was.longest, limit)
		}
		if limit := bound(was.number); is.number > limit {
			f.add(last, "it was made %d times, with %d in an undisturbed run at most %d are fine", is.number, was.number, limit)
		}
	}
	return f.found
}

// bound returns how often something may happen that happens usual times in an undisturbed run.
func bound(usual int) int {
	const factor, allowance = 3, 3
	return factor*usual + allowance
}

// incarnations are the objects with one name, one after the other.
type incarnations struct {
	number  int
	longest int // by its writes
}

func incarnationsOf(own testkit.History) incarnations {
	writes := map[types.UID]int{}
	for _, revision := range own.Where(func(r testkit.Revision) bool { return r.Change != testkit.Existing }) {
		writes[revision.Object.GetUID()]++
	}
	all := incarnations{number: len(writes)}
	for _, times := range writes {
		all.longest = max(all.longest, times)
	}
	return all
}

// counted returns the ID under which the writes of an object are counted. The records of a release are interchangeable: an abandoned
// revision leaves one more.
func counted(id testkit.ObjectID) testkit.ObjectID {
	id = withoutNamespace(id)
	if strings.HasPrefix(id.Name, releaseRecord) {
		id.Name = id.Name[:strings.LastIndex(id.Name, ".")]
	}
	return id
}

func withoutNamespace(id testkit.ObjectID) testkit.ObjectID {
	id.Namespace = ""
	return id
}

// ending is the last state of an object, by the paths of its leaves.
type ending struct {
	version uint64
	leaves  map[string]string
}

// endingOf returns what exists at the end, in a form that does not depend on the namespace.
func endingOf(history testkit.History) map[testkit.ObjectID]ending {
	ends, names := map[testkit.ObjectID]ending{}, stableNamesOf(history)
	for id, own := range history.Objects() {
		last := own.Last()
		if last.Change == testkit.Deleted || isReleaseRecord(*last) || id.Kind == kindNamespace {
			continue
		}
		leaves := map[string]string{}
		flatten(readable(last.Object), "", leaves)
		maps.DeleteFunc(leaves, func(path, _ string) bool { return isBookkeeping(path) || isIncidental(last.Object, path) })
		for path, value := range leaves {
			if id.Namespace != "" {
				value = strings.ReplaceAll(value, id.Namespace, "<namespace>")
			}
			leaves[path] = timeForm.ReplaceAllString(names.in(value), "<time>")
			if strings.HasSuffix(path, ".message") { // for users: it may describe what happened in a run
				leaves[path] = "<message>"
			}
		}
		ends[withoutNamespace(names.of(id))] = ending{version: last.Version(), leaves: leaves}
	}
	return ends
}

var (
	timeForm = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)
	// identityForm matches UIDs and IDs of jobs, and versions of updates, which consist of UIDs.
	identityForm = regexp.MustCompile(`\b([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{40})\b`)
)

// isBookkeeping reports whether a leaf counts writes, is a time or the order of times, or records past errors or updates.
func isBookkeeping(path string) bool {
	for _, prefix := range []string{
		"metadata.managedFields", "metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.generation",
		"status.firstError", "status.lastErrors", "status.deployItemGenerations", "metadata.annotations.espalier.dev/interrupted-job",
		"metadata.annotations.espalier.dev/update",
		"status.providerStatus.release.revision", "status.lastRuns", "status.providerStatus.podStatus.run",
	} {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return strings.HasSuffix(strings.ToLower(path), "resourceversion") || strings.HasSuffix(path, "bservedGeneration") ||
		strings.Contains(path, ".transitionTimes.")
}

// isIncidental reports whether a leaf of a certain kind differs from run to run: most of a pod, the bytes of a compressed state or of a
// kubeconfig whose token was replaced, and the history of an installation, whose hashes depend on the namespace. Rule I26 checks it.
func isIncidental(o *unstructured.Unstructured, path string) bool {
	switch {
	case o.GetKind() == kindInstallation:
		return strings.HasPrefix(path, "status.history[")
	case o.GetKind() == kindPod:
		return path != "status.phase" && path != "status.reason"
	case o.GetKind() != kindSecret:
		return false
	case strings.HasPrefix(path, "metadata.annotations."+containerv1alpha1.GroupName):
		return true
	}
	changes := o.GetLabels()[containerTypeLabel] == containerState || o.GetAnnotations()[targetsync.RotatedAnnotation] != ""
	return changes && strings.HasPrefix(path, "data.")
}

func flatten(value any, path string, leaves map[string]string) {
	switch typed := value.(type) {
	case map[string]any:
		for key, inner := range typed {
			flatten(inner, strings.TrimPrefix(path+"."+key, "."), leaves)
		}
	case []any:
		for i, inner := range typed {
			flatten(inner, path+"["+strconv.Itoa(i)+"]", leaves)
		}
	default:
		text, err := json.Marshal(value)
		if err != nil {
			text = fmt.Append(nil, value)
		}
		leaves[path] = string(text)
	}
}

// identities pairs the identifiers of two runs, one to one.
type identities struct{ forward, backward map[string]string }

func newIdentities() *identities {
	return &identities{forward: map[string]string{}, backward: map[string]string{}}
}

// same reports whether two texts differ only in identifiers that are paired.
func (p *identities) same(want, got string) bool {
	wanted, found := identityForm.FindAllString(want, -1), identityForm.FindAllString(got, -1)
	if identityForm.ReplaceAllString(want, "<identity>") != identityForm.ReplaceAllString(got, "<identity>") {
		return false
	}
	for i := range wanted {
		if p.forward[wanted[i]] == "" && p.backward[found[i]] == "" {
			p.forward[wanted[i]], p.backward[found[i]] = found[i], wanted[i]
		}
		if p.forward[wanted[i]] != found[i] || p.backward[found[i]] != wanted[i] {
			return false
		}
	}
	return true
}
