// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployitem"
	"espalier.dev/internal/target"
	"espalier.dev/internal/testkit"
)

// deletionsEnd holds for every deploy item whose target is missing or unreachable while it is being deleted, or, in the continuous flow,
// which has no limit on that, whose deployer is missing: its status names the command that ends the deletion. And it holds for everything
// that is being deleted at the end of a history: it waits for such a deploy item.
func deletionsEnd(history testkit.History) []Violation {
	f := &findings{rule: "I23"}
	replay(history, func(s step) {
		if s.after != nil && (isStuck(s.after) || isUnattended(s.after)) && !namesWayOut(s.after) && !s.ending {
			f.add(s, "its target or its deployer is missing, and its status does not name the command that ends the deletion")
		}
	})
	replayEnd(history, func(s step) {
		if s.after.runs() && s.after.deleting() && !waitsForSomebody(s.world, s.after) {
			f.add(s, "everything is at rest, and it is still being deleted")
		}
	})
	return f.found
}

// IsStuck reports whether a revision is that of a deploy item that cannot be uninstalled because of its target.
func IsStuck(revision testkit.Revision) bool { return isStuck(newObject(revision)) }

// IsEnding reports whether, at the end of a history, its namespace is being deleted or gone.
func IsEnding(history testkit.History) (ending bool) {
	replayAll(history, func(s step) { ending = s.ending })
	return ending
}

// isStuck reports whether a deploy item cannot be uninstalled because of its target.
func isStuck(o *object) bool {
	if o.id.Kind != kindDeployItem || !o.deleting() || o.phase != string(lsv1alpha1.PhaseDeleting) || o.keepsInstalled() {
		return false
	}
	status := typed[lsv1alpha1.DeployItem](o).Status
	return status.LastError != nil && status.LastError.Reason == target.ReasonUnreachable ||
		slices.ContainsFunc(status.Conditions, func(c lsv1alpha1.Condition) bool { return c.Reason == lsv1alpha1.ReasonNoTargetFound })
}

// isUnattended reports whether a deploy item of the continuous flow reports that no deployer has picked up its deletion.
func isUnattended(o *object) bool {
	if o.id.Kind != kindDeployItem || !o.deleting() || o.keepsInstalled() {
		return false
	}
	item := typed[lsv1alpha1.DeployItem](o)
	waits := slices.ContainsFunc(item.Status.Conditions, func(c lsv1alpha1.Condition) bool {
		return c.Type == lsv1alpha1.ConditionReconciling && c.Reason == lsv1alpha1.ReasonWaitingForDeployer
	})
	return waits && deployitem.FlowOf(item) == lsv1alpha1.FlowContinuous
}

func namesWayOut(o *object) bool {
	status := typed[lsv1alpha1.DeployItem](o).Status
	names := func(message string) bool {
		return strings.Contains(message, lsv1alpha1.DeleteWithoutUninstallAnnotation)
	}
	return status.LastError != nil && names(status.LastError.Message) ||
		slices.ContainsFunc(status.Conditions, func(c lsv1alpha1.Condition) bool { return names(c.Message) })
}

// waitsForSomebody reports whether an object, or one below it, says how somebody can end its deletion.
func waitsForSomebody(w world, o *object) bool {
	return o.id.Kind == kindDeployItem && namesWayOut(o) ||
		slices.ContainsFunc(w.children(o.id), func(child *object) bool { return waitsForSomebody(w, child) })
}

// nothingIsLeft holds at the end of a history for every object that belongs to one of ours: that one exists, too. Clusters collect the
// others as garbage, some time later.
func nothingIsLeft(history testkit.History) []Violation {
	f := &findings{rule: "I24"}
	living := map[types.UID]bool{}
	last := world{}
	replayAll(history, func(s step) { last = s.world })
	for _, o := range last {
		living[o.raw.GetUID()] = true
	}
	for _, id := range slices.SortedFunc(maps.Keys(last), compareIDs) {
		for _, owner := range last[id].raw.GetOwnerReferences() {
			if strings.HasPrefix(owner.APIVersion, lsv1alpha1.GroupName+"/") && !living[owner.UID] {
				f.add(step{id: id}, "it exists, and %s %s, to which it belongs, does not", owner.Kind, owner.Name)
			}
		}
	}
	return f.found
}

// nothingIsDoubled holds for every object that is created: its parent has no other one of that name, and it was not deleted before while
// the same root was being deleted.
func nothingIsDoubled(history testkit.History) []Violation {
	f := &findings{rule: "I25"}
	goneWith := map[testkit.ObjectID]types.UID{}
	replay(history, func(s step) {
		switch {
		case s.after == nil && s.before.runs():
			if root := s.world.rootOf(s.before); root.deleting() {
				goneWith[s.id] = root.raw.GetUID()
			}
		case s.before == nil && s.after.runs():
			if root := s.world.rootOf(s.after); root.raw.GetUID() == goneWith[s.id] {
				f.add(s, "it was deleted with %s, and is created again", root.id)
			}
			checkNamesakes(f, s)
		}
	})
	return f.found
}

func checkNamesakes(f *findings, s step) {
	id, found := s.after.parent()
	if !found {
		return
	}
	for _, sibling := range s.world.children(id) {
		if sibling.id.Kind == s.id.Kind && sibling.id != s.id && sibling.name() == s.after.name() {
			f.add(s, "it is created, and %s has the same name in %s", sibling.id, id)
		}
	}
}

// rootOf returns the topmost existing object above one; if there is none, the object itself.
func (w world) rootOf(o *object) *object {
	for {
		id, nested := o.parent()
		if !nested || w[id] == nil {
			return o
		}
		o = w[id]
	}
}
