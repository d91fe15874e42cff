// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/testkit"
	"espalier.dev/test/faults/invariant"
)

// workload is what users do in a scene, act by act. Each act ends at rest, and checks itself what its user wanted: a comparison with the
// reference does not find what is wrong in both.
type workload struct {
	name string
	acts []act
}

type act func(*testing.T, *scene)

var workloads = slices.Concat(jobWorkloads, continuousWorkloads, containerWorkloads, syncWorkloads, deletionWorkloads, pauseWorkloads,
	forceWorkloads, endingWorkloads)

// jobWorkloads are what users do in the job flow.
var jobWorkloads = []workload{
	{"life", []act{plant, enlarge, fell}},
	{"repair", []act{sicken, mend}},
	{"interrupt", []act{cutShort, askAgain}},
	{"dependents", []act{connect, disconnect}},
	{"abandon", []act{install, abandon}},
	{"shrink", []act{spread, shrink}},
	{"prune", []act{plantHedge, replantHedge, clearHedge}},
	{"release", []act{installChart, upgradeChart, uninstallChart}},
	{"successor", []act{build, rebuild}},
	{"alter", []act{stack, paint}},
	{"forsake", []act{thirst, forsake}},
	{"lock", []act{lock, lockAgain}},
	{"order", []act{order, orderAgain, cancelOrder}},
	{"tended", []act{tend}},
}

func (w workload) isContinuous() bool { return w.isAmong(continuousWorkloads) }

func (w workload) isAmong(others []workload) bool {
	return slices.ContainsFunc(others, func(c workload) bool { return c.name == w.name })
}

// scene creates the scene in which a workload takes place.
func (w workload) scene(t testing.TB) *scene {
	t.Helper()
	if w.isAmong(endingWorkloads) {
		return newEndingScene(t)
	}
	return newScene(t, w.kinds()...)
}

// kinds are recorded for a workload in addition to what is recorded for all.
func (w workload) kinds() []client.Object {
	switch {
	case w.isAmong(containerWorkloads):
		return slices.Clone(containerKinds)
	case w.isAmong(syncWorkloads):
		return slices.Clone(syncKinds)
	}
	return nil
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

// root starts an installation that imports the target and the named data objects.
func (s *scene) root(name string, b blueprint, imports ...string) *testkit.InstallationBuilder {
	builder := testkit.Installation(s.namespace, name).Blueprint(b.text()).ImportTarget(targetName, targetName)
	for _, dataRef := range imports {
		builder.ImportData(dataRef, dataRef)
	}
	return builder
}

// tree is two levels deep. Its three nested installations wait for each other; the deploy items of the second one form a diamond; the last
// one has a nested installation, which deploys what was passed down all the way.
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

// The main workload is the life of a tree: it is created, changed and deleted.

func plant(t *testing.T, s *scene) {
	s.create(t, s.sized("small"), s.root("garden", tree(s.namespace), "size").ExportData("crop", "harvest").Reconcile().Build())
	s.succeeds(t, "garden")
	s.holds(t, "basket", "small-soil-crop")
	s.rest(t, "planted")
}

func enlarge(t *testing.T, s *scene) {
	s.patch(t, s.sized("small"), `{"data":"large"}`)
	s.ask(t, "garden", lsv1alpha1.OperationReconcile)
	s.succeeds(t, "garden")
	s.holds(t, "basket", "large-soil-crop")
	s.rest(t, "enlarged")
}

func fell(t *testing.T, s *scene) {
	s.remove(t, "garden")
	s.gone(t, "garden")
	s.lacks(t, "basket")
	s.rest(t, "gone")
}

func (s *scene) sized(size string) *lsv1alpha1.DataObject {
	return testkit.DataObject(s.namespace, "size", size).Build()
}

// A deploy item fails, its successor must not start, and then it is repaired.

func sicken(t *testing.T, s *scene) {
	b := blueprint{imports: []string{"health"}, items: []any{
		mockItem("sick", "{{ .imports.health }}", nil), mockItem("next", succeeds, nil, "sick"), mockItem("other", succeeds, nil),
	}}
	health := testkit.DataObject(s.namespace, "health", string(lsv1alpha1.PhaseFailed)).Build()
	s.create(t, health, s.root("plant", b, "health").Reconcile().Build())
	s.ends(t, "plant", lsv1alpha1.PhaseFailed)
	s.rest(t, "failed")
}

func mend(t *testing.T, s *scene) {
	s.patch(t, testkit.DataObject(s.namespace, "health", "").Build(), `{"data":%q}`, succeeds)
	s.ask(t, "plant", lsv1alpha1.OperationReconcile)
	s.succeeds(t, "plant")
	s.rest(t, "mended")
}

// A deploy item without a deployer is interrupted, in a tree; the next job is finished by hand.

func cutShort(t *testing.T, s *scene) {
	slow := blueprint{items: []any{mockItem("quick", succeeds, nil), endlessItem("endless")}}
	s.create(t, s.root("maze", blueprint{subs: []any{sub("path", slow, wiring{})}}).Reconcile().Build())
	s.until(t, "endless", "handed a job", func(i *lsv1alpha1.DeployItem) bool { return i.Status.JobID != "" })
	s.until(t, "quick", "finished", func(i *lsv1alpha1.DeployItem) bool { return i.Status.JobID != "" && i.Status.IsFinished() })
	s.ask(t, "maze", lsv1alpha1.OperationInterrupt)
	s.ends(t, "maze", lsv1alpha1.PhaseFailed)
	s.rest(t, "interrupted")
}

func askAgain(t *testing.T, s *scene) {
	s.ask(t, "maze", lsv1alpha1.OperationReconcile)
	s.finishItem(t, "endless")
	s.succeeds(t, "maze")
	s.rest(t, "finished by hand")
}

// An installation is deleted from which another one imports: it waits for the other.

func connect(t *testing.T, s *scene) {
	tap := blueprint{
		items:   []any{mockItem("open", succeeds, map[string]any{"water": "wet"})},
		exports: map[string]string{"water": ofItem("open", "water")},
	}
	pond := blueprint{imports: []string{"water"}, items: []any{manifestItem("fill", s.namespace, "{{ .imports.water }}", "pond")}}
	s.create(t, s.root("tap", tap).ExportData("water", "water").Reconcile().Build())
	s.succeeds(t, "tap")
	s.create(t, s.root("pond", pond, "water").Reconcile().Build())
	s.succeeds(t, "pond")
	s.rest(t, "filled")
}

func disconnect(t *testing.T, s *scene) {
	s.remove(t, "tap")
	testkit.Eventually(t, s.APIServer, s.installation("tap"), testkit.Is("waiting to be deleted", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhaseInitDelete
	}))
	s.remove(t, "pond")
	s.gone(t, "pond")
	s.gone(t, "tap")
	s.lacks(t, "pond")
	s.rest(t, "gone")
}

// A tree is deleted, and what it has installed stays.

func install(t *testing.T, s *scene) {
	leaf := blueprint{items: []any{manifestItem("put", s.namespace, "stays", "bench", "table"), mockItem("sit", succeeds, nil)}}
	s.create(t, s.root("park", blueprint{subs: []any{sub("lawn", leaf, wiring{})}}).Reconcile().Build())
	s.succeeds(t, "park")
	s.rest(t, "installed")
}

func abandon(t *testing.T, s *scene) {
	s.patch(t, s.installation("park"), `{"metadata":{"annotations":{%q:"true"}}}`, lsv1alpha1.DeleteWithoutUninstallAnnotation)
	s.remove(t, "park")
	s.gone(t, "park")
	s.rest(t, "abandoned")
	s.holds(t, "bench", "stays")
	s.holds(t, "table", "stays")
}

// A nested installation and a deploy item are removed from a blueprint.

func field(s *scene) (large, small blueprint) {
	leaf := func(name string) blueprint {
		return blueprint{items: []any{manifestItem("put", s.namespace, name, name)}}
	}
	large = blueprint{
		subs:  []any{sub("east", leaf("east"), wiring{}), sub("west", leaf("west"), wiring{})},
		items: []any{manifestItem("north", s.namespace, "north", "north"), mockItem("south", succeeds, nil, "north")},
	}
	return large, blueprint{subs: large.subs[:1], items: []any{mockItem("south", succeeds, nil)}}
}

func spread(t *testing.T, s *scene) {
	large, _ := field(s)
	s.create(t, s.root("field", large).Reconcile().Build())
	s.succeeds(t, "field")
	s.rest(t, "large")
}

func shrink(t *testing.T, s *scene) {
	_, small := field(s)
	s.replace(t, s.root("field", small).Build())
	s.ask(t, "field", lsv1alpha1.OperationReconcile)
	s.succeeds(t, "field")
	s.holds(t, "east", "east")
	s.lacks(t, "west")
	s.lacks(t, "north")
	s.rest(t, "small")
}

// A deploy item deploys other objects than before, and then nothing at all.

func hedge(s *scene, value string, configMaps ...string) blueprint {
	return blueprint{items: []any{manifestItem("plant", s.namespace, value, configMaps...)}}
}

func plantHedge(t *testing.T, s *scene) {
	s.create(t, s.root("hedge", hedge(s, "old", "beech", "yew")).Reconcile().Build())
	s.succeeds(t, "hedge")
	s.rest(t, "beech and yew")
}

func replantHedge(t *testing.T, s *scene) {
	s.replace(t, s.root("hedge", hedge(s, "new", "yew", "privet")).Build())
	s.ask(t, "hedge", lsv1alpha1.OperationReconcile)
	s.succeeds(t, "hedge")
	s.holds(t, "yew", "new")
	s.holds(t, "privet", "new")
	s.lacks(t, "beech")
	s.rest(t, "yew and privet")
}

func clearHedge(t *testing.T, s *scene) {
	s.remove(t, "hedge")
	s.gone(t, "hedge")
	s.lacks(t, "yew")
	s.lacks(t, "privet")
	s.rest(t, "gone")
}

// A chart is installed, upgraded to other objects and uninstalled.

func installChart(t *testing.T, s *scene) {
	s.create(t, s.root("pot", blueprint{items: []any{chartItem(t, "pot", s.namespace, "old", "bay", "fig")}}).Reconcile().Build())
	s.succeeds(t, "pot")
	s.holds(t, "bay", "old")
	s.holds(t, "fig", "old")
	s.rest(t, "bay and fig")
}

func upgradeChart(t *testing.T, s *scene) {
	s.replace(t, s.root("pot", blueprint{items: []any{chartItem(t, "pot", s.namespace, "new", "fig", "lime")}}).Build())
	s.ask(t, "pot", lsv1alpha1.OperationReconcile)
	s.succeeds(t, "pot")
	s.holds(t, "fig", "new")
	s.holds(t, "lime", "new")
	s.lacks(t, "bay")
	s.rest(t, "fig and lime")
}

func uninstallChart(t *testing.T, s *scene) {
	s.remove(t, "pot")
	s.gone(t, "pot")
	s.lacks(t, "fig")
	s.lacks(t, "lime")
	s.rest(t, "gone")
}

// A root's new export starts a job of the root that imports it.

func build(t *testing.T, s *scene) {
	trunk := blueprint{
		imports: []string{"size"},
		items:   []any{mockItem("grow", succeeds, map[string]any{"top": "{{ .imports.size }}"})},
		exports: map[string]string{"top": ofItem("grow", "top")},
	}
	nest := blueprint{imports: []string{"top"}, items: []any{manifestItem("build", s.namespace, "{{ .imports.top }}", "nest")}}
	s.create(t, s.sized("one"), s.root("trunk", trunk, "size").ExportData("top", "top").Reconcile().Build())
	s.succeeds(t, "trunk")
	s.create(t, s.root("nest", nest, "top").Reconcile().Build())
	s.succeeds(t, "nest")
	s.rest(t, "built")
}

func rebuild(t *testing.T, s *scene) {
	s.patch(t, s.sized("one"), `{"data":"two"}`)
	s.ask(t, "trunk", lsv1alpha1.OperationReconcile)
	s.succeeds(t, "trunk")
	s.holds(t, "nest", "two")
	s.succeeds(t, "nest")
	s.rest(t, "rebuilt")
}

// The spec changes while a job runs. The job fails, and the next one uses the change.

func stack(t *testing.T, s *scene) {
	s.create(t, s.root("wall", blueprint{items: []any{endlessItem("stack")}}).Reconcile().Build())
	s.until(t, "stack", "handed a job", func(i *lsv1alpha1.DeployItem) bool { return i.Status.JobID != "" })
	s.replace(t, s.root("wall", blueprint{items: []any{mockItem("paint", succeeds, nil), endlessItem("stack")}}).Build())
	s.finishItem(t, "stack")
	s.ends(t, "wall", lsv1alpha1.PhaseFailed)
	s.rest(t, "stacked")
}

func paint(t *testing.T, s *scene) {
	s.ask(t, "wall", lsv1alpha1.OperationReconcile)
	s.finishItem(t, "stack")
	s.succeeds(t, "wall")
	s.rest(t, "painted")
}

// A tree is deleted while it only waits: for an import that nobody creates, and, below it, for a sibling whose deploy item has no deployer.
// What has started is finished first.

func thirst(t *testing.T, s *scene) {
	s.create(t, s.root("desert", blueprint{
		imports: []string{"rain"},
		items:   []any{mockItem("bloom", succeeds, nil)},
	}, "rain").Reconcile().Build())
	testkit.Eventually(
		t,
		s.APIServer,
		s.installation("desert"),
		testkit.Is("waiting for rain", func(i *lsv1alpha1.Installation) bool { return i.Status.LastError != nil }),
	)
	well := blueprint{items: []any{endlessItem("dig")}, exports: map[string]string{"water": "wet"}}
	palm := blueprint{imports: []string{"water"}, items: []any{mockItem("grow", succeeds, nil)}}
	s.create(t, s.root("oasis", blueprint{subs: []any{
		sub(
			"well",
			well,
			wiring{exports: map[string]string{"water": "water"}},
		), sub("palm", palm, wiring{imports: map[string]string{"water": "water"}}),
	}}).Reconcile().Build())
	s.until(t, "dig", "handed a job", func(i *lsv1alpha1.DeployItem) bool { return i.Status.JobID != "" })
	s.remove(t, "desert")
	s.gone(t, "desert")
	s.remove(t, "oasis")
	s.finishItem(t, "dig")
	s.letGo(t, "dig")
	s.gone(t, "oasis")
	s.rest(t, "dry")
}

// A tree is deleted during work, which is then abandoned with everything that is installed.

func forsake(t *testing.T, s *scene) {
	leaf := blueprint{items: []any{manifestItem("put", s.namespace, "stays", "stone"), endlessItem("carve")}}
	s.create(t, s.root("temple", blueprint{subs: []any{sub("hall", leaf, wiring{})}}).Reconcile().Build())
	s.until(t, "carve", "handed a job", func(i *lsv1alpha1.DeployItem) bool { return i.Status.JobID != "" })
	s.until(t, "put", "finished", func(i *lsv1alpha1.DeployItem) bool { return i.Status.JobID != "" && i.Status.IsFinished() })
	s.remove(t, "temple")
	s.patch(t, s.installation("temple"), `{"metadata":{"annotations":{%q:"true"}}}`, lsv1alpha1.DeleteWithoutUninstallAnnotation)
	s.gone(t, "temple")
	s.rest(t, "forsaken")
	s.holds(t, "stone", "stays")
}

// A password is generated for the first job, and the second one, which is for another blueprint, deploys the same.

func safe(s *scene, configMaps ...string) blueprint {
	return blueprint{generates: true, items: []any{manifestItem("turn", s.namespace, "(( .password ))", configMaps...)}}
}

func lock(t *testing.T, s *scene) {
	s.create(t, s.root("safe", safe(s, "lock")).Reconcile().Build())
	s.succeeds(t, "safe")
	s.locks(t, s.kept(t), "lock")
	s.rest(t, "locked")
}

func lockAgain(t *testing.T, s *scene) {
	before := s.kept(t)
	s.replace(t, s.root("safe", safe(s, "lock", "bolt")).Build())
	s.ask(t, "safe", lsv1alpha1.OperationReconcile)
	s.succeeds(t, "safe")
	s.locks(t, before, "lock", "bolt")
	if after := s.kept(t); after != before {
		t.Error("the state has another password than before")
	}
	s.rest(t, "locked again")
}

// locks checks what was deployed by a job that has succeeded.
func (s *scene) locks(t testing.TB, password string, configMaps ...string) {
	t.Helper()
	for _, name := range configMaps {
		var deployed corev1.ConfigMap
		if err := s.Client().Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, &deployed); err != nil {
			t.Errorf("read the config map %s: %v", name, err)
		}
		if deployed.Data["value"] != password {
			t.Errorf("the config map %s has another password than the state", name)
		}
	}
}

// passwords is the Secret with the state of the safe.
var passwords = dataflow.StateSecret("safe", dataflow.StateDeploy, executionName)

// kept returns the password in the state.
func (s *scene) kept(t testing.TB) string {
	t.Helper()
	var state corev1.Secret
	if err := s.Client().Get(t.Context(), client.ObjectKey{Namespace: s.namespace, Name: passwords}, &state); err != nil {
		t.Fatalf("read the state: %v", err)
	}
	password := invariant.GeneratedForm.FindString(string(state.Data[dataflow.StateSecretKey]))
	if password == "" {
		t.Fatal("the state has no password")
	}
	return password
}

// replace changes the spec of an installation.
func (s *scene) replace(t testing.TB, changed *lsv1alpha1.Installation) {
	t.Helper()
	s.patch(t, s.installation(changed.Name), `{"spec":%s}`, mustJSON(map[string]any{"blueprint": changed.Spec.Blueprint}))
}
