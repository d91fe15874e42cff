// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// value is a setting of a deploy item that makes it depend on a text.
func value(text string) string {
	return "providerStatus: {apiVersion: example.org/v1, kind: Value, value: \"" + text + "\"}"
}

// threeLevels is a tree with a deploy item on each level; settings are those of the lowest one.
func threeLevels(settings ...string) string {
	leaf := header + deploy(item("low", settings...))
	middle := header + nest(sub{name: "leaf", blueprint: leaf}) + deploy(item("mid"))
	return header + nest(sub{name: "middle", blueprint: middle}) + deploy(item("top"))
}

// completed waits until an installation is in a phase for its current spec, with no pending request.
func (w *world) completed(name string, phase lsv1alpha1.Phase) *lsv1alpha1.Installation {
	w.Helper()
	return w.eventually(name, "completed as "+string(phase), func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == phase && i.Status.ObservedGeneration == i.Generation && i.Annotations[lsv1alpha1.OperationAnnotation] == ""
	})
}

// recorded records everything that happens in the namespace.
func (w *world) recorded() *testkit.Recorder {
	w.Helper()
	return testkit.Record(w.T, w.server, w.namespace, testkit.Groups(lsv1alpha1.GroupName))
}

// deployments counts how often deployers started to work on deploy items, and how often that work finished.
func deployments(history testkit.History) (begun, ended int) {
	phases := map[string]lsv1alpha1.Phase{}
	for _, r := range history {
		if r.Object.GetKind() != "DeployItem" {
			continue
		}
		before, phase := phases[r.Object.GetName()], lsv1alpha1.Phase(r.Field("status.phase"))
		if phase == lsv1alpha1.PhaseProgressing && before != phase {
			begun++
		}
		if phase.IsCompleted() && before != phase {
			ended++
		}
		phases[r.Object.GetName()] = phase
	}
	return begun, ended
}

// checkContinuous checks that no state of any object carries a job, and that no object is Succeeded for its current spec while an object
// that it owns is not.
func (w *world) checkContinuous(history testkit.History) {
	w.Helper()
	latest := map[testkit.ObjectID]testkit.Revision{}
	checked := 0
	for _, r := range history {
		if job := r.Field("status.jobID"); job != "" {
			w.Errorf("%s %s has the job %s", r.Object.GetKind(), r.Object.GetName(), job)
		}
		before, known := latest[r.ID()]
		if latest[r.ID()] = r; r.Change == testkit.Deleted {
			delete(latest, r.ID())
		}
		if !hasSucceeded(r) || known && hasSucceeded(before) {
			continue
		}
		for id, other := range latest {
			owned := slices.ContainsFunc(
				other.Object.GetOwnerReferences(),
				func(o metav1.OwnerReference) bool { return o.UID == r.Object.GetUID() },
			)
			if owned && slices.Contains([]string{"Installation", "Execution", "DeployItem"}, id.Kind) {
				if checked++; !hasSucceeded(other) {
					w.Errorf("%s has succeeded while %s is in phase %s", r.ID(), id, other.Field("status.phase"))
				}
			}
		}
	}
	if checked == 0 {
		w.Error("nothing has succeeded")
	}
}

// hasSucceeded reports whether an object has succeeded with its current spec.
func hasSucceeded(r testkit.Revision) bool {
	return r.Field("status.phase") == string(lsv1alpha1.PhaseSucceeded) &&
		r.Field("status.observedGeneration") == r.Field("metadata.generation")
}

// items returns the deploy items by their names in the blueprints.
func (w *world) items() map[string]*lsv1alpha1.DeployItem {
	w.Helper()
	var list lsv1alpha1.DeployItemList
	if err := w.cluster.List(w.Context(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	items := map[string]*lsv1alpha1.DeployItem{}
	for i := range list.Items {
		items[list.Items[i].Labels[lsv1alpha1.ExecutionManagedNameLabel]] = &list.Items[i]
	}
	return items
}

// itemEventually waits until something holds for a deploy item.
func (w *world) itemEventually(item *lsv1alpha1.DeployItem, what string, holds func(*lsv1alpha1.DeployItem) bool) {
	w.Helper()
	testkit.Eventually(w.T, w.server, item, testkit.Is(what, holds))
}

// rewrite gives an installation a different blueprint.
func (w *world) rewrite(name, blueprint string) {
	w.Helper()
	w.change(name, func(s *lsv1alpha1.InstallationSpec) {
		s.Blueprint = w.installation(name, blueprint).Build().Spec.Blueprint
	})
}
