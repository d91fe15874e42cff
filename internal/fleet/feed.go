// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// feedKey identifies a feed: a kind in a cluster, in one namespace or, if that is empty, in all of them.
type feedKey struct {
	cluster   ClusterKey
	gvk       schema.GroupVersionKind
	namespace string
}

// feed contains the state of one kind in one cluster. The lock of the fleet protects it, so none of its methods may be slow.
//
// Only the current session of its link may write to it. Sessions are compared by identity, so late results of an ended session are ignored,
// even if the same cluster was dropped and referred to again in the meantime.
type feed struct {
	key feedKey
	// wanted are the referenced applications, with the last known state of those that cannot be read.
	wanted map[types.NamespacedName]sighting
	// records are all objects of the kind, so that a new reference immediately has a state.
	records map[types.NamespacedName]record
	// absent are namespaces of wanted applications that do not exist.
	absent map[string]bool

	session *session
	stop    func() // ends the follower of the session
	// look asks the follower to read namespaces.
	look chan struct{}

	// problem is why the records are not current; its reason is empty if they are.
	problem Problem
	// lost is when they stopped being current; zero if they are current, or never were.
	lost time.Time
}

// record is the stored state of an object.
type record struct {
	health  Health
	problem Problem
}

// sighting is the last known state of an application that was readable before.
type sighting struct {
	revision, attempted string
	lost                time.Time // when it could last be read
}

func newFeed(key feedKey, problem Problem) *feed {
	return &feed{
		key: key, problem: problem, look: make(chan struct{}, 1),
		wanted: map[types.NamespacedName]sighting{}, records: map[types.NamespacedName]record{}, absent: map[string]bool{},
	}
}

func (f *feed) synced() bool { return f.problem.Reason == "" }

func (f *feed) application(key types.NamespacedName) Application {
	return Application{Cluster: f.key.cluster, GVK: f.key.gvk, Namespace: key.Namespace, Name: key.Name}
}

// read returns the state of a wanted application.
func (f *feed) read(key types.NamespacedName) State {
	known, exists := f.records[key]
	if f.synced() && exists && known.problem.Reason == "" {
		return State{Health: known.health}
	}
	last := f.wanted[key]
	if exists && known.problem.Reason == "" {
		last = sighting{revision: known.health.Revision, attempted: known.health.AttemptedRevision, lost: f.lost}
	}
	return State{
		Problem:         f.problemOf(key),
		UnreadableSince: last.lost,
		Health:          Health{Revision: last.revision, AttemptedRevision: last.attempted},
	}
}

func (f *feed) problemOf(key types.NamespacedName) Problem {
	known, exists := f.records[key]
	switch {
	case !f.synced():
		return f.problem
	case exists:
		return known.problem
	case f.absent[key.Namespace]:
		return namespaceMissing(f.application(key))
	}
	return applicationMissing(f.application(key))
}

// want adds a referenced application. The follower determines whether it exists.
func (f *feed) want(key types.NamespacedName) {
	f.wanted[key] = sighting{}
	if _, exists := f.records[key]; !exists {
		f.checkSoon()
	}
}

func (f *feed) checkSoon() {
	select {
	case f.look <- struct{}{}:
	default:
	}
}

// put records an object and reports whether the change is relevant.
func (f *feed) put(key types.NamespacedName, next record, now time.Time) bool {
	before, existed := f.records[key]
	if existed && before == next {
		return false
	}
	f.records[key] = next
	if existed && next.problem.Reason != "" {
		f.remember(key, before, now)
	}
	return true
}

// remove records that an object was deleted.
func (f *feed) remove(key types.NamespacedName, now time.Time) bool {
	before, existed := f.records[key]
	delete(f.records, key)
	if !existed {
		return false
	}
	f.remember(key, before, now)
	if _, wanted := f.wanted[key]; wanted {
		f.checkSoon()
	}
	return true
}

// remember keeps the last known state of a wanted application that can no longer be read.
func (f *feed) remember(key types.NamespacedName, last record, now time.Time) {
	if _, wanted := f.wanted[key]; wanted && last.problem.Reason == "" {
		f.wanted[key] = sighting{revision: last.health.Revision, attempted: last.health.AttemptedRevision, lost: now}
	}
}

// replace replaces the records by a list of all objects, after which they are current. It returns the wanted applications whose state has
// changed.
func (f *feed) replace(all map[types.NamespacedName]record, absent map[string]bool, now time.Time) []types.NamespacedName {
	before := map[types.NamespacedName]State{}
	for key := range f.wanted {
		before[key] = f.read(key)
		if next, exists := all[key]; !exists || next.problem.Reason != "" {
			f.rememberUnseen(key, now)
		}
	}
	f.records, f.absent = all, absent
	f.problem, f.lost = Problem{}, time.Time{}
	var changed []types.NamespacedName
	for key := range f.wanted {
		if f.read(key) != before[key] {
			changed = append(changed, key)
		}
	}
	return changed
}

// rememberUnseen keeps the last known state of an application that was lost while the records were not current: that state is as old as the
// records.
func (f *feed) rememberUnseen(key types.NamespacedName, now time.Time) {
	if last, existed := f.records[key]; existed {
		if !f.lost.IsZero() {
			now = f.lost
		}
		f.remember(key, last, now)
	}
}

// fail records that the records are not current, and reports whether the problem is new.
func (f *feed) fail(problem Problem, now time.Time) bool {
	if f.problem == problem {
		return false
	}
	if f.synced() {
		f.lost = now
	}
	f.problem = problem
	return true
}

// forgetAll drops all state when the cluster turns out to be a different one.
func (f *feed) forgetAll() {
	clear(f.records)
	clear(f.absent)
	for key := range f.wanted {
		f.wanted[key] = sighting{}
	}
	f.lost = time.Time{}
}

// last returns the last known state of a wanted application when this feed is replaced.
func (f *feed) last(key types.NamespacedName, now time.Time) sighting {
	if f.synced() {
		f.lost = now
	}
	f.rememberUnseen(key, now)
	return f.wanted[key]
}

// missing returns the namespaces of wanted applications that are not among the given objects.
func (f *feed) missing(objects map[types.NamespacedName]record) map[string]bool {
	namespaces := map[string]bool{}
	for key := range f.wanted {
		if _, exists := objects[key]; !exists {
			namespaces[key.Namespace] = true
		}
	}
	return namespaces
}

func (f *feed) wantedKeys() []types.NamespacedName { return slices.Collect(maps.Keys(f.wanted)) }
