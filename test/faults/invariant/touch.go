// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"slices"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// busyIsLeftAlone holds for every change of the spec of something below an installation of the continuous flow, unless the installation has
// the request to force it: the object is at rest, and so is everything else below. Objects that the same update has made busy do not count:
// they became busy by a change of their spec after the installation's last status. Nor do objects that only wait for something below the
// same installation that has failed and never continues by itself.
func busyIsLeftAlone(history testkit.History) []Violation {
	f := &findings{rule: "C2"}
	since := map[testkit.ObjectID]origin{}
	spoke := map[testkit.ObjectID]uint64{} // the last revision of the status of an installation
	replay(history, func(s step) {
		if id, found := parentOf(s); found && s.respecified() && !forced(s.world[id]) {
			checkTouch(f, s, s.world.children(id), func(o *object) bool {
				began := since[o.id]
				return began.bySpec && began.version > spoke[id]
			})
		}
		follow(s, since)
		if s.after != nil && s.before != nil && s.before.generation == s.after.generation {
			spoke[s.id] = s.version
		}
	})
	return f.found
}

// origin is when an object became busy, and whether the cause was a change of its spec.
type origin struct {
	version uint64
	bySpec  bool
}

func follow(s step, since map[testkit.ObjectID]origin) {
	switch {
	case s.after == nil || !s.after.isContinuous() || !s.after.isBusy():
		delete(since, s.id)
	case since[s.id].version == 0:
		since[s.id] = origin{version: s.version, bySpec: s.before == nil || s.before.generation != s.after.generation}
	}
}

// respecified reports whether a step changes the spec of an object below an installation that is not being deleted.
func (s step) respecified() bool {
	return s.after != nil && s.before != nil && s.after.isContinuous() && s.before.isContinuous() && s.id.Kind != kindDeployItem &&
		!s.after.deleting() && s.before.generation != s.after.generation
}

func checkTouch(f *findings, s step, family []*object, excused func(*object) bool) {
	others := slices.DeleteFunc(slices.Clone(family), func(o *object) bool { return o.id == s.id })
	hopeless := endedBadly(s.before) || slices.ContainsFunc(others, endedBadly) || slices.ContainsFunc(others, excused)
	if s.before.isBusy() && !onlyWaits(s.before, hopeless) {
		f.add(s, "its spec is changed while it is %s", stateOf(s.before))
	}
	for _, sibling := range others {
		if sibling.isContinuous() && sibling.isBusy() && !onlyWaits(sibling, hopeless) && !sibling.deleting() && !excused(sibling) {
			f.add(s, "its spec is changed while %s is %s", sibling.id, stateOf(sibling))
		}
	}
}

// onlyWaits reports whether an object only waits, possibly in vain.
func onlyWaits(o *object, hopeless bool) bool {
	return standsStill(o) || hopeless && o.phase == string(lsv1alpha1.PhasePendingDependencies)
}

// endedBadly reports whether others may wait for an object in vain.
func endedBadly(o *object) bool {
	return o.phase == string(lsv1alpha1.PhaseFailed) || o.phase == string(lsv1alpha1.PhaseAborted) || standsStill(o)
}

// standsStill reports whether an installation reports that nothing below it continues by itself.
func standsStill(o *object) bool {
	return slices.ContainsFunc(typed[lsv1alpha1.Installation](o).Status.Conditions, func(c lsv1alpha1.Condition) bool {
		return c.Type == lsv1alpha1.ConditionReady && c.Reason == "Standstill"
	})
}

func parentOf(s step) (testkit.ObjectID, bool) {
	if s.after == nil {
		return testkit.ObjectID{}, false
	}
	return s.after.parent()
}

func forced(o *object) bool {
	return o != nil && operationOf(o) == string(lsv1alpha1.OperationForceReconcile)
}

// importersKeep holds for every write by which an installation of the continuous flow is uninstalled, unless it is forced or a mark permits
// it: something below it is deleted because it is, or its finalizer is removed, while a sibling that existed before imports from it.
func importersKeep(history testkit.History) []Violation {
	f := &findings{rule: "C3"}
	begun, wasForced := map[testkit.ObjectID]bool{}, map[testkit.ObjectID]bool{}
	replay(history, func(s step) {
		wasForced[s.id] = wasForced[s.id] || forced(s.after) || ignoresImporters(s.after)
		owner := uninstalled(s)
		if owner == nil || !owner.isContinuous() || !owner.deleting() || begun[owner.id] || wasForced[owner.id] || s.ending {
			return
		}
		begun[owner.id] = true
		for _, sibling := range importersOf(s.world, owner) {
			f.add(s, "%s is uninstalled while %s imports from it", owner.id, sibling.id)
		}
	})
	return f.found
}

// ignoresImporters reports whether the deletion of an object does not wait for those that import from it.
func ignoresImporters(o *object) bool {
	return o != nil && o.annotation(lsv1alpha1.DeleteIgnoreSuccessorsAnnotation) == "true"
}

// uninstalled returns the installation that a step uninstalls, if any: its finalizer is removed, or something below it is deleted.
func uninstalled(s step) *object {
	if s.id.Kind == kindInstallation && s.before != nil && leaves(s) {
		return s.before
	}
	if id, nested := parentOf(s); nested && dies(s) {
		return s.world[id]
	}
	return nil
}

// importersOf returns the siblings that import what an installation exports.
func importersOf(w world, exporter *object) []*object {
	exports := exportsOf(exporter)
	level, _ := exporter.parent()
	return w.where(func(o *object) bool {
		parent, _ := o.parent()
		return o.id.Kind == kindInstallation && o.id != exporter.id && parent == level &&
			slices.ContainsFunc(importsOf(o), func(name string) bool { return slices.Contains(exports, name) })
	})
}
