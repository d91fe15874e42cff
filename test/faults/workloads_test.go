// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"slices"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// workload is what users do in a scene. It ends with a rest.
type workload struct {
	name   string
	script func(*testing.T, *scene)
}

var workloads = []workload{
	{"life", life}, {"repair", repair}, {"interrupt", interrupt}, {"dependents", dependents}, {"abandon", abandon},
	{"shrink", shrink}, {"prune", prune}, {"successor", successor}, {"alter", alter}, {"tended", tended},
}

func workloadNamed(t *testing.T, name string) workload {
	t.Helper()
	i := slices.IndexFunc(workloads, func(w workload) bool { return w.name == name })
	if i < 0 {
		var names []string
		for _, w := range workloads {
			names = append(names, w.name)
		}
		t.Fatalf("there is no workload %q, only %s", name, strings.Join(names, ", "))
	}
	return workloads[i]
}

// root begins an installation that imports the target and the data objects of the given names.
func (s *scene) root(name string, b blueprint, imports ...string) *testkit.InstallationBuilder {
	builder := testkit.Installation(s.namespace, name).Blueprint(b.text()).ImportTarget(targetName, targetName)
	for _, dataRef := range imports {
		builder.ImportData(dataRef, dataRef)
	}
	return builder
}

// tree is two levels deep. Its three nested installations wait for each other; the second one's items form a diamond; the last one
// has a nested installation of its own, which deploys what has come down all the way.
func tree(namespace string) blueprint {
	soil := blueprint{
		imports: []string{"size"},
		items:   []any{mockItem("dig", succeeds, map[string]any{"ph": "{{ .imports.size }}-soil"})},
		exports: map[string]string{"ph": ofItem("dig", "ph")},
	}
	bed := blueprint{
		imports: []string{"ph"},
		items: []any{
			mockItem("rake", succeeds, nil),
			mockItem("sow", succeeds, nil, "rake"), mockItem("water", succeeds, nil, "rake"),
			mockItem("pick", succeeds, map[string]any{"crop": "{{ .imports.ph }}-crop"}, "sow", "water"),
		},
		exports: map[string]string{"crop": ofItem("pick", "crop")},
	}
	basket := blueprint{imports: []string{"crop"}, items: []any{manifestItem("fill", namespace, "{{ .imports.crop }}", "basket")}}
	shed := blueprint{imports: []string{"crop"}, subs: []any{sub("basket", basket, wiring{imports: map[string]string{"crop": "crop"}})}}
	return blueprint{
		imports: []string{"size"},
		subs: []any{
			sub("soil", soil, wiring{imports: map[string]string{"size": "size"}, exports: map[string]string{"ph": "ph"}}),
			sub("bed", bed, wiring{imports: map[string]string{"ph": "ph"}, exports: map[string]string{"crop": "crop"}}),
			sub("shed", shed, wiring{imports: map[string]string{"crop": "crop"}}),
		},
		exports: map[string]string{"crop": ofSub("crop")},
	}
}

// life is the main workload: a tree comes, changes and goes.
func life(t *testing.T, s *scene) {
	size := testkit.DataObject(s.namespace, "size", "small").Build()
	s.create(t, size, s.root("garden", tree(s.namespace), "size").ExportData("crop", "harvest").Reconcile().Build())
	s.succeeds(t, "garden")
	s.rest(t, "planted")
	s.patch(t, size, `{"data":"large"}`)
	s.ask(t, "garden", lsv1alpha1.OperationReconcile)
	s.succeeds(t, "garden")
	s.rest(t, "enlarged")
	s.remove(t, "garden")
	s.gone(t, "garden")
	s.rest(t, "gone")
}

// repair lets an item fail whose successor must not start, and then mends it.
func repair(t *testing.T, s *scene) {
	health := testkit.DataObject(s.namespace, "health", string(lsv1alpha1.PhaseFailed)).Build()
	b := blueprint{imports: []string{"health"}, items: []any{
		mockItem("sick", "{{ .imports.health }}", nil), mockItem("next", succeeds, nil, "sick"), mockItem("other", succeeds, nil),
	}}
	s.create(t, health, s.root("plant", b, "health").Reconcile().Build())
	s.ends(t, "plant", lsv1alpha1.PhaseFailed)
	s.rest(t, "failed")
	s.patch(t, health, `{"data":%q}`, succeeds)
	s.ask(t, "plant", lsv1alpha1.OperationReconcile)
	s.succeeds(t, "plant")
	s.rest(t, "mended")
}

// interrupt ends an item that nobody works on, in a tree, and then deletes everything.
func interrupt(t *testing.T, s *scene) {
	slow := blueprint{items: []any{mockItem("quick", succeeds, nil), endlessItem("endless")}}
	s.create(t, s.root("maze", blueprint{subs: []any{sub("path", slow, wiring{})}}).Reconcile().Build())
	s.until(t, "endless", "handed a job", func(i *lsv1alpha1.DeployItem) bool { return i.Status.JobID != "" })
	s.until(t, "quick", "finished", func(i *lsv1alpha1.DeployItem) bool { return i.Status.JobID != "" && i.Status.IsFinished() })
	s.ask(t, "maze", lsv1alpha1.OperationInterrupt)
	s.ends(t, "maze", lsv1alpha1.PhaseFailed)
	s.rest(t, "interrupted")
	s.ask(t, "maze", lsv1alpha1.OperationReconcile)
	s.until(t, "endless", "handed another job", func(i *lsv1alpha1.DeployItem) bool { return !i.Status.IsFinished() })
	s.finishItem(t, "endless")
	s.succeeds(t, "maze")
	s.rest(t, "finished by hand")
}

// dependents deletes an installation that another one imports from: it waits for the other.
func dependents(t *testing.T, s *scene) {
	tap := blueprint{items: []any{mockItem("open", succeeds, map[string]any{"water": "wet"})}, exports: map[string]string{"water": ofItem("open", "water")}}
	pond := blueprint{imports: []string{"water"}, items: []any{manifestItem("fill", s.namespace, "{{ .imports.water }}", "pond")}}
	s.create(t, s.root("tap", tap).ExportData("water", "water").Reconcile().Build())
	s.succeeds(t, "tap")
	s.create(t, s.root("pond", pond, "water").Reconcile().Build())
	s.succeeds(t, "pond")
	s.rest(t, "filled")
	s.remove(t, "tap")
	testkit.Eventually(t, s.APIServer, s.installation("tap"), testkit.Is("waiting to be deleted", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhaseInitDelete
	}))
	s.remove(t, "pond")
	s.gone(t, "pond")
	s.gone(t, "tap")
	s.rest(t, "gone")
}

// abandon deletes a tree and keeps what it has installed.
func abandon(t *testing.T, s *scene) {
	leaf := blueprint{items: []any{manifestItem("put", s.namespace, "stays", "bench", "table"), mockItem("sit", succeeds, nil)}}
	s.create(t, s.root("park", blueprint{subs: []any{sub("lawn", leaf, wiring{})}}).Reconcile().Build())
	s.succeeds(t, "park")
	s.rest(t, "installed")
	s.patch(t, s.installation("park"), `{"metadata":{"annotations":{%q:"true"}}}`, lsv1alpha1.DeleteWithoutUninstallAnnotation)
	s.remove(t, "park")
	s.gone(t, "park")
	s.rest(t, "abandoned")
}

// shrink takes a nested installation and an item out of a blueprint.
func shrink(t *testing.T, s *scene) {
	leaf := func(name string) blueprint {
		return blueprint{items: []any{manifestItem("put", s.namespace, name, name)}}
	}
	large := blueprint{
		subs:  []any{sub("east", leaf("east"), wiring{}), sub("west", leaf("west"), wiring{})},
		items: []any{manifestItem("north", s.namespace, "north", "north"), mockItem("south", succeeds, nil, "north")},
	}
	small := blueprint{subs: large.subs[:1], items: []any{mockItem("south", succeeds, nil)}}
	s.create(t, s.root("field", large).Reconcile().Build())
	s.succeeds(t, "field")
	s.rest(t, "large")
	s.replace(t, s.root("field", small).Build())
	s.ask(t, "field", lsv1alpha1.OperationReconcile)
	s.succeeds(t, "field")
	s.rest(t, "small")
}

// prune lets an item deploy other objects than before, and then nothing at all.
func prune(t *testing.T, s *scene) {
	hedge := func(value string, configMaps ...string) blueprint {
		return blueprint{items: []any{manifestItem("plant", s.namespace, value, configMaps...)}}
	}
	s.create(t, s.root("hedge", hedge("old", "beech", "yew")).Reconcile().Build())
	s.succeeds(t, "hedge")
	s.rest(t, "beech and yew")
	s.replace(t, s.root("hedge", hedge("new", "yew", "privet")).Build())
	s.ask(t, "hedge", lsv1alpha1.OperationReconcile)
	s.succeeds(t, "hedge")
	s.rest(t, "yew and privet")
	s.remove(t, "hedge")
	s.gone(t, "hedge")
	s.rest(t, "gone")
}

// successor lets a root's new export start a job of the root that imports it.
func successor(t *testing.T, s *scene) {
	height := testkit.DataObject(s.namespace, "height", "one").Build()
	trunk := blueprint{
		imports: []string{"height"},
		items:   []any{mockItem("grow", succeeds, map[string]any{"top": "{{ .imports.height }}"})},
		exports: map[string]string{"top": ofItem("grow", "top")},
	}
	s.create(t, height, s.root("trunk", trunk, "height").ExportData("top", "top").Reconcile().Build())
	s.succeeds(t, "trunk")
	s.create(t, s.root("nest", blueprint{imports: []string{"top"}, items: []any{manifestItem("build", s.namespace, "{{ .imports.top }}", "nest")}}, "top").Reconcile().Build())
	s.succeeds(t, "nest")
	s.rest(t, "built")
	s.patch(t, height, `{"data":"two"}`)
	s.ask(t, "trunk", lsv1alpha1.OperationReconcile)
	s.succeeds(t, "trunk")
	s.succeeds(t, "nest")
	s.holds(t, "nest", "two")
	s.rest(t, "rebuilt")
}

// alter changes the specification while a job runs. The job ends as failed, and the next one takes the change into account.
func alter(t *testing.T, s *scene) {
	s.create(t, s.root("wall", blueprint{items: []any{endlessItem("stack")}}).Reconcile().Build())
	s.until(t, "stack", "handed a job", func(i *lsv1alpha1.DeployItem) bool { return i.Status.JobID != "" })
	s.replace(t, s.root("wall", blueprint{items: []any{mockItem("paint", succeeds, nil), endlessItem("stack")}}).Build())
	s.finishItem(t, "stack")
	s.ends(t, "wall", lsv1alpha1.PhaseFailed)
	s.rest(t, "stacked")
	s.ask(t, "wall", lsv1alpha1.OperationReconcile)
	s.until(t, "stack", "handed another job", func(i *lsv1alpha1.DeployItem) bool { return !i.Status.IsFinished() })
	s.finishItem(t, "stack")
	s.succeeds(t, "wall")
	s.rest(t, "painted")
}

// replace changes the specification of an installation.
func (s *scene) replace(t testing.TB, changed *lsv1alpha1.Installation) {
	t.Helper()
	s.patch(t, s.installation(changed.Name), `{"spec":%s}`, mustJSON(map[string]any{"blueprint": changed.Spec.Blueprint}))
}
