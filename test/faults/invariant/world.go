// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package invariant

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// The kinds that rules know.
const (
	kindInstallation = "Installation"
	kindExecution    = "Execution"
	kindDeployItem   = "DeployItem"
	kindNamespace    = "Namespace"
)

// object is one state of an object, in the terms of the rules.
type object struct {
	id  testkit.ObjectID
	raw *unstructured.Unstructured

	job, finished, phase string
	generation, observed int64
}

func newObject(revision testkit.Revision) *object {
	o := &object{id: revision.ID(), raw: revision.Object, generation: revision.Object.GetGeneration()}
	status, _, _ := unstructured.NestedMap(revision.Object.Object, "status")
	o.job, _ = status["jobID"].(string)
	o.finished, _ = status["jobIDFinished"].(string)
	o.phase, _ = status["phase"].(string)
	o.observed, _, _ = unstructured.NestedInt64(status, "observedGeneration")
	return o
}

func (o *object) isFinished() bool { return o.job == o.finished }

func (o *object) isFinal() bool { return lsv1alpha1.Phase(o.phase).IsFinal() }

func (o *object) isSuccess() bool { return o.phase == string(lsv1alpha1.PhaseSucceeded) }

// hasDone reports whether the object has finished this job successfully.
func (o *object) hasDone(job string) bool { return o.job == job && o.isFinished() && o.isSuccess() }

func (o *object) deleting() bool { return o.raw.GetDeletionTimestamp() != nil }

func (o *object) annotation(name string) string { return o.raw.GetAnnotations()[name] }

func (o *object) keepsInstalled() bool {
	return o.annotation(lsv1alpha1.DeleteWithoutUninstallAnnotation) == "true"
}

func (o *object) runs() bool {
	return o.id.Kind == kindInstallation || o.id.Kind == kindExecution || o.id.Kind == kindDeployItem
}

// isContinuous reports whether the spec selects the continuous flow.
func (o *object) isContinuous() bool {
	flow, _, _ := unstructured.NestedString(o.raw.Object, "spec", "flow")
	return o.runs() && flow == string(lsv1alpha1.FlowContinuous)
}

// isUpToDate reports whether the status is about the current spec.
func (o *object) isUpToDate() bool { return o.observed == o.generation }

// isBusy reports whether something is left to do for an object of the continuous flow.
func (o *object) isBusy() bool {
	return !lsv1alpha1.Phase(o.phase).IsCompleted() || !o.isUpToDate() || operationOf(o) != ""
}

// name returns the parent's name for the object.
func (o *object) name() string {
	switch o.id.Kind {
	case kindInstallation:
		return o.annotation(lsv1alpha1.SubinstallationNameAnnotation)
	case kindDeployItem:
		return o.raw.GetLabels()[lsv1alpha1.ExecutionManagedNameLabel]
	default:
		return o.id.Name
	}
}

// parent returns the object that passes jobs down to this one; not set for a root.
func (o *object) parent() (parent testkit.ObjectID, found bool) {
	parent.Namespace = o.id.Namespace
	switch o.id.Kind {
	case kindInstallation:
		parent.Kind, parent.Name = kindInstallation, o.raw.GetLabels()[lsv1alpha1.EncompassedByLabel]
	case kindDeployItem:
		parent.Kind, parent.Name = kindExecution, o.raw.GetLabels()[lsv1alpha1.ExecutionManagedByLabel]
	case kindExecution:
		for _, owner := range o.raw.GetOwnerReferences() {
			if owner.Kind == kindInstallation {
				parent.Kind, parent.Name = kindInstallation, owner.Name
			}
		}
	}
	return parent, parent.Name != ""
}

// typed decodes the object into a type of the API. Unreadable parts stay empty: the API server has validated it.
func typed[T any](o *object) *T {
	into := new(T)
	_ = runtime.DefaultUnstructuredConverter.FromUnstructured(o.raw.Object, into)
	return into
}

// world is what exists at one point of a history.
type world map[testkit.ObjectID]*object

// children returns the existing objects below one, in the order of their names.
func (w world) children(parent testkit.ObjectID) []*object {
	return w.where(func(o *object) bool {
		id, found := o.parent()
		return found && id == parent
	})
}

func (w world) where(holds func(*object) bool) []*object {
	var found []*object
	for _, id := range slices.SortedFunc(maps.Keys(w), compareIDs) {
		if holds(w[id]) {
			found = append(found, w[id])
		}
	}
	return found
}

func compareIDs(a, b testkit.ObjectID) int { return strings.Compare(a.String(), b.String()) }

// step is one revision of a history, with the world at that time.
type step struct {
	world   world
	id      testkit.ObjectID
	version uint64
	before  *object // nil if the object was created
	after   *object // nil if it was deleted
	// ending is set from the revision on in which the namespace of the story is being deleted: everything in it is then asked to go, in no
	// particular order, and what is deployed elsewhere may stay.
	ending bool
}

// changed reports whether a step of an existing object changed what the function reads.
func (s step) changed(read func(*object) string) bool {
	return s.after != nil && (s.before == nil || read(s.before) != read(s.after))
}

func jobOf(o *object) string      { return o.job }
func finishedOf(o *object) string { return o.finished }
func phaseOf(o *object) string    { return o.phase }

// replay visits each revision of the kinds that have jobs and of deployed objects.
func replay(history testkit.History, visit func(step)) {
	replayAll(history, func(s step) {
		if now := cmp.Or(s.after, s.before); now.runs() || isDeployed(now) {
			visit(s)
		}
	})
}

// replayAll visits the revisions of all objects.
func replayAll(history testkit.History, visit func(step)) {
	w, ending := world{}, false
	for _, revision := range history {
		now := newObject(revision)
		ending = ending || now.id.Kind == kindNamespace && now.deleting()
		s := step{world: w, id: now.id, version: revision.Version(), before: w[now.id], after: now, ending: ending}
		if revision.Change == testkit.Deleted {
			delete(w, now.id)
			s.before, s.after = now, nil
		} else {
			w[now.id] = now
		}
		visit(s)
	}
}
