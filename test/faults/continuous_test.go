// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/run"
	"espalier.dev/internal/testkit"
	"espalier.dev/test/faults/invariant"
)

// continuousWorkloads are what users do in the continuous flow.
var continuousWorkloads = []workload{
	{"growth", []act{sprout, thrive, reshape, wither}},
	{"blight", []act{fallIll, fallIllAgain, convalesce}},
	{"graft", []act{graft, graftByForce}},
	{"frost", []act{freezeAndThaw}},
	{"stream", []act{wellUp, runDry}},
	{"uproot", []act{takeRoot, uproot}},
	{"weeds", []act{tidy, overgrow}},
	{"minded", []act{mind}},
	{"seasons", []act{bloom, turnToJobs, turnBack, turnAtOnce}},
	{"blocked", []act{stall, unblock, stallAgain}},
}

// flow starts a root installation of the continuous flow.
func (s *scene) flow(name string, b blueprint, imports ...string) *testkit.InstallationBuilder {
	return s.root(name, b, imports...).Continuous()
}

// calm waits until a root has reached a phase and everything in the scene is done with its current spec, and records the state. A root may
// be in that phase before it has noticed what the user has done; the caller must wait for that.
func (s *scene) calm(t testing.TB, name string, phase lsv1alpha1.Phase) {
	t.Helper()
	completed := testkit.Is("completed as "+string(phase), func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == phase && i.Status.ObservedGeneration == i.Generation && i.Annotations[lsv1alpha1.OperationAnnotation] == ""
	})
	testkit.Eventually(t, s.APIServer, s.installation(name), completed)
	s.atRest(t)
	testkit.Eventually(t, s.APIServer, s.installation(name), completed)
}

// atRest waits until nothing is left to do. The longer that takes, the longer the required quiet period.
func (s *scene) atRest(t testing.TB) {
	t.Helper()
	for length := restLength; length < testkit.Patience; length *= 2 {
		s.recorder.Quiet(t, length)
		if invariant.AtRest(s.recorder.History()) {
			return
		}
	}
	t.Fatal("nothing happens any more, and not everything is done")
}

// exported waits until a data object has a value.
func (s *scene) exported(t testing.TB, name, value string) {
	t.Helper()
	testkit.Eventually(t, s.APIServer, testkit.DataObject(s.namespace, name, "").Build(), func(d *lsv1alpha1.DataObject) error {
		if want := fmt.Sprintf("%q", value); string(d.Data.Raw) != want {
			return fmt.Errorf("its value is %s, want %s", d.Data.Raw, want)
		}
		return nil
	})
}

// The main workload of the continuous flow: a tree of three levels is created, adopts a new import, gets another spec, and is deleted.

func sprout(t *testing.T, s *scene) {
	s.create(t, s.sized("small"), s.flow("garden", tree(s.namespace), "size").ExportData("crop", "harvest").Build())
	s.calm(t, "garden", lsv1alpha1.PhaseSucceeded)
	s.holds(t, "basket", "small-soil-crop")
	s.exported(t, "harvest", "small-soil-crop")
	s.rest(t, "sprouted")
}

func thrive(t *testing.T, s *scene) {
	s.patch(t, s.sized("small"), `{"data":"large"}`)
	s.holds(t, "basket", "large-soil-crop")
	s.exported(t, "harvest", "large-soil-crop")
	s.calm(t, "garden", lsv1alpha1.PhaseSucceeded)
	s.rest(t, "thriving")
}

func reshape(t *testing.T, s *scene) {
	other := tree(s.namespace)
	other.items = []any{manifestItem("sign", s.namespace, "welcome", "sign")}
	s.replace(t, s.flow("garden", other, "size").Build())
	s.holds(t, "sign", "welcome")
	s.calm(t, "garden", lsv1alpha1.PhaseSucceeded)
	s.rest(t, "reshaped")
}

func wither(t *testing.T, s *scene) {
	s.remove(t, "garden")
	s.gone(t, "garden")
	s.lacks(t, "basket")
	s.lacks(t, "sign")
	s.rest(t, "gone")
}

// A deploy item fails, in a tree, and its successor does not start; a retry does not help; then it is repaired.

func fallIll(t *testing.T, s *scene) {
	leaf := blueprint{imports: []string{"health"}, items: []any{
		mockItem("sick", "{{ .imports.health }}", nil), manifestItem("next", s.namespace, "fine", "next"), mockItem("other", succeeds, nil),
	}}
	leaf.items[1].(map[string]any)["dependsOn"] = []string{"sick"}
	twig := sub("twig", leaf, wiring{imports: map[string]string{"health": "health"}})
	health := testkit.DataObject(s.namespace, "health", string(lsv1alpha1.PhaseFailed)).Build()
	s.create(t, health, s.flow("plant", blueprint{imports: []string{"health"}, subs: []any{twig}}, "health").Build())
	s.calm(t, "plant", lsv1alpha1.PhaseFailed)
	s.lacks(t, "next")
	s.rest(t, "ill")
}

func fallIllAgain(t *testing.T, s *scene) {
	s.ask(t, "plant", lsv1alpha1.OperationReconcile)
	s.calm(t, "plant", lsv1alpha1.PhaseFailed)
	s.lacks(t, "next")
	s.rest(t, "ill again")
}

func convalesce(t *testing.T, s *scene) {
	s.patch(t, testkit.DataObject(s.namespace, "health", "").Build(), `{"data":%q}`, succeeds)
	s.calm(t, "plant", lsv1alpha1.PhaseSucceeded)
	s.holds(t, "next", "fine")
	s.rest(t, "recovered")
}

// The spec changes while something below is busy: first the change waits, then it is forced.

func stem(s *scene, version string) blueprint {
	leaf := blueprint{items: []any{endlessVersion("stem", version), manifestItem("bud", s.namespace, version, "bud")}}
	return blueprint{subs: []any{sub("scion", leaf, wiring{})}}
}

func graft(t *testing.T, s *scene) {
	s.create(t, s.flow("rose", stem(s, "one")).Build())
	s.holds(t, "bud", "one")
	s.until(t, "stem", "there", func(*lsv1alpha1.DeployItem) bool { return true })
	s.replace(t, s.flow("rose", stem(s, "two")).Build())
	defer s.deploy(t, "stem")()
	s.holds(t, "bud", "two")
	s.calm(t, "rose", lsv1alpha1.PhaseSucceeded)
	s.rest(t, "grafted")
}

func graftByForce(t *testing.T, s *scene) {
	s.replace(t, s.flow("rose", stem(s, "three")).Build())
	s.holds(t, "bud", "three")
	s.replace(t, s.flow("rose", stem(s, "four")).Build())
	s.ask(t, "rose", lsv1alpha1.OperationForceReconcile)
	s.holds(t, "bud", "four")
	defer s.deploy(t, "stem")()
	s.calm(t, "rose", lsv1alpha1.PhaseSucceeded)
	s.rest(t, "grafted by force")
}

// A tree of three levels is aborted, and then continues. The progress of an update by then depends on its faults; that is not a point of
// rest to compare.

func freezeAndThaw(t *testing.T, s *scene) {
	low := blueprint{items: []any{endlessVersion("slow", "one"), mockItem("quick", succeeds, nil)}}
	middle := blueprint{subs: []any{sub("low", low, wiring{})}, items: []any{mockItem("aside", succeeds, nil)}}
	s.create(t, s.flow("pond", blueprint{subs: []any{sub("middle", middle, wiring{})}}).Build())
	s.until(t, "slow", "there", func(*lsv1alpha1.DeployItem) bool { return true })
	s.until(t, "quick", "deployed", func(i *lsv1alpha1.DeployItem) bool { return i.Status.Phase == lsv1alpha1.PhaseSucceeded })
	s.ask(t, "pond", lsv1alpha1.OperationAbort)
	s.calm(t, "pond", lsv1alpha1.PhaseAborted)
	s.ask(t, "pond", lsv1alpha1.OperationReconcile)
	defer s.deploy(t, "slow")()
	s.calm(t, "pond", lsv1alpha1.PhaseSucceeded)
	s.rest(t, "thawed")
}

// A root imports what another exports. The latter is deleted: it waits for the former.

func wellUp(t *testing.T, s *scene) {
	spring := blueprint{
		items:   []any{mockItem("open", succeeds, map[string]any{"water": "wet"})},
		exports: map[string]string{"water": ofItem("open", "water")},
	}
	brook := blueprint{imports: []string{"water"}, items: []any{manifestItem("fill", s.namespace, "{{ .imports.water }}", "brook")}}
	s.create(t, s.flow("brook", brook, "water").Build(), s.flow("spring", spring).ExportData("water", "water").Build())
	s.calm(t, "brook", lsv1alpha1.PhaseSucceeded)
	s.holds(t, "brook", "wet")
	s.rest(t, "flowing")
}

func runDry(t *testing.T, s *scene) {
	s.remove(t, "spring")
	testkit.Eventually(t, s.APIServer, s.installation("spring"), testkit.Is("waiting to be deleted", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhaseDeleting
	}))
	s.recorder.Quiet(t, restLength)
	s.holds(t, "brook", "wet")
	s.remove(t, "brook")
	s.gone(t, "brook")
	s.gone(t, "spring")
	s.lacks(t, "brook")
	s.rest(t, "dry")
}

// A busy tree is deleted: it waits, until it is forced. Installations that import from it are then ignored.

func takeRoot(t *testing.T, s *scene) {
	low := blueprint{
		items: []any{
			mockItem("dig", succeeds, map[string]any{"depth": "deep"}),
			manifestItem("set", s.namespace, "set", "post"),
			endlessVersion("wait", "one"),
		},
		exports: map[string]string{"depth": ofItem("dig", "depth")},
	}
	middle := blueprint{
		subs:    []any{sub("low", low, wiring{exports: map[string]string{"depth": "depth"}})},
		exports: map[string]string{"depth": ofSub("depth")},
	}
	root := blueprint{
		subs:    []any{sub("middle", middle, wiring{exports: map[string]string{"depth": "depth"}})},
		exports: map[string]string{"depth": ofSub("depth")},
	}
	s.create(
		t,
		s.flow("stump", root).ExportData("depth", "depth").Build(),
		s.flow("fence", blueprint{imports: []string{"depth"}}, "depth").Build(),
	)
	defer s.deploy(t, "wait")()
	s.calm(t, "fence", lsv1alpha1.PhaseSucceeded)
	s.rest(t, "rooted")
}

func uproot(t *testing.T, s *scene) {
	s.edit(t, "wait", `{"spec":{"timeout":"1h"}}`)
	s.until(t, "wait", "put right", func(i *lsv1alpha1.DeployItem) bool { return i.Spec.Timeout == nil && i.Generation > 2 })
	s.remove(t, "stump")
	testkit.Eventually(t, s.APIServer, s.installation("stump"), testkit.Is("waiting to be deleted", func(i *lsv1alpha1.Installation) bool {
		return i.Status.Phase == lsv1alpha1.PhaseDeleting
	}))
	s.holds(t, "post", "set")
	s.ask(t, "stump", lsv1alpha1.OperationForceReconcile)
	s.release(t, "wait")
	s.gone(t, "stump")
	s.lacks(t, "post")
	s.remove(t, "fence")
	s.gone(t, "fence")
	s.rest(t, "uprooted")
}

// Outside changes: a deploy item is edited, another one deleted, and a third one together with its target object.

func tidy(t *testing.T, s *scene) {
	leaf := blueprint{items: []any{manifestItem("rows", s.namespace, "straight", "rows"), mockItem("edges", succeeds, nil)}}
	s.create(t, s.flow("patch", blueprint{subs: []any{sub("bed", leaf, wiring{})}}).Build())
	s.calm(t, "patch", lsv1alpha1.PhaseSucceeded)
	s.holds(t, "rows", "straight")
	s.rest(t, "tidy")
}

func overgrow(t *testing.T, s *scene) {
	edited := s.edit(t, "edges", `{"spec":{"updateOnChangeOnly":true}}`)
	s.until(t, "edges", "put right", func(i *lsv1alpha1.DeployItem) bool {
		return i.Generation > edited.Generation && !i.Spec.UpdateOnChangeOnly
	})
	s.calm(t, "patch", lsv1alpha1.PhaseSucceeded)
	rows := s.until(t, "rows", "there", func(*lsv1alpha1.DeployItem) bool { return true })
	if err := s.Client().Delete(t.Context(), rows.DeepCopy()); err != nil {
		t.Fatalf("delete deploy item rows: %v", err)
	}
	testkit.Eventually(t, s.APIServer, rows, testkit.Is("made anew", func(i *lsv1alpha1.DeployItem) bool { return i.UID != rows.UID }))
	s.calm(t, "patch", lsv1alpha1.PhaseSucceeded)
	s.holds(t, "rows", "straight")
	s.rest(t, "tidy again")
}

// A tree changes its flow: to jobs, back without one, and there and back at once. One of its deploy items has failed. Nothing is deployed
// because of it.

func seasonal(s *scene) blueprint {
	leaf := blueprint{
		items: []any{manifestItem("leaves", s.namespace, "green", "leaves"), mockItem("blighted", string(lsv1alpha1.PhaseFailed), nil)},
	}
	branch := blueprint{subs: []any{sub("twig", leaf, wiring{})}, items: []any{mockItem("bark", succeeds, nil)}}
	return blueprint{subs: []any{sub("branch", branch, wiring{})}, items: []any{mockItem("trunk", succeeds, nil)}}
}

func bloom(t *testing.T, s *scene) {
	s.create(t, s.flow("oak", seasonal(s)).Build())
	s.calm(t, "oak", lsv1alpha1.PhaseFailed)
	s.holds(t, "leaves", "green")
	s.rest(t, "in bloom")
}

func turnToJobs(t *testing.T, s *scene) { s.turn(t, "oak", "bare", lsv1alpha1.FlowJob) }

func turnBack(t *testing.T, s *scene) { s.turn(t, "oak", "in bloom again", lsv1alpha1.FlowContinuous) }

func turnAtOnce(t *testing.T, s *scene) {
	s.turn(t, "oak", "after a short winter", lsv1alpha1.FlowJob, lsv1alpha1.FlowContinuous)
}

// turn sets one flow after the other on a root, and waits until everything has followed. No deployer works meanwhile.
func (s *scene) turn(t *testing.T, root, name string, flows ...lsv1alpha1.Flow) {
	t.Helper()
	before := s.deployments()
	for _, flow := range flows {
		s.patch(t, s.installation(root), `{"spec":{"flow":%q}}`, flow)
	}
	done := false
	for length := restLength; length < testkit.Patience && !done; length *= 2 {
		s.recorder.Quiet(t, length)
		done = s.followed(flows[len(flows)-1])
	}
	if !done {
		t.Fatal("nothing happens any more, and not everything has followed")
	}
	if after := s.deployments(); after != before {
		t.Errorf("deployers have worked %d times because of another flow", after-before)
	}
	s.rest(t, name)
}

// followed reports whether everything has a flow, is completed and up to date, and has no open request.
func (s *scene) followed(flow lsv1alpha1.Flow) bool {
	for id, own := range s.recorder.History().Objects() {
		last := own.Last()
		if id.Kind != "Installation" && id.Kind != "Execution" && id.Kind != "DeployItem" || last.Change == testkit.Deleted {
			continue
		}
		completed := lsv1alpha1.Phase(last.Field("status.phase")).IsCompleted() &&
			last.Field("status.observedGeneration") == last.Field("metadata.generation")
		if lsv1alpha1.Flow(last.Field("spec.flow")).OrDefault() != flow || !completed ||
			last.Object.GetAnnotations()[lsv1alpha1.OperationAnnotation] != "" {
			return false
		}
	}
	return true
}

// deployments counts how often deployers have started to work.
func (s *scene) deployments() int {
	begun, phases := 0, map[string]string{}
	for _, r := range s.recorder.History() {
		if r.Object.GetKind() != "DeployItem" {
			continue
		}
		if phase := r.Field("status.phase"); phases[r.Object.GetName()] != phase {
			if phases[r.Object.GetName()] = phase; phase == string(lsv1alpha1.PhaseProgressing) {
				begun++
			}
		}
	}
	return begun
}

// A deploy item fails, and what waits beside it never continues: the corrected spec is adopted, and another such tree is deleted.

func clogged(s *scene, health string) blueprint {
	well := blueprint{
		items:   []any{mockItem("dig", health, map[string]any{"water": "wet"})},
		exports: map[string]string{"water": ofItem("dig", "water")},
	}
	pipe := blueprint{imports: []string{"water"}, items: []any{manifestItem("lay", s.namespace, "{{ .imports.water }}", "pipe")}}
	middle := blueprint{subs: []any{
		sub(
			"well",
			well,
			wiring{exports: map[string]string{"water": "water"}},
		), sub("pipe", pipe, wiring{imports: map[string]string{"water": "water"}}),
	}}
	return blueprint{subs: []any{sub("middle", middle, wiring{})}}
}

func (s *scene) standstill(t testing.TB, name string) {
	t.Helper()
	testkit.Eventually(t, s.APIServer, s.installation(name), testkit.Is("standing still", func(i *lsv1alpha1.Installation) bool {
		return slices.ContainsFunc(i.Status.Conditions, func(c lsv1alpha1.Condition) bool {
			return c.Type == lsv1alpha1.ConditionReady && c.Reason == run.ReasonStandstill
		})
	}))
}

func stall(t *testing.T, s *scene) {
	s.create(t, s.flow("garden", clogged(s, string(lsv1alpha1.PhaseFailed))).Build())
	s.standstill(t, "garden")
	s.lacks(t, "pipe")
	s.rest(t, "blocked")
}

func unblock(t *testing.T, s *scene) {
	s.replace(t, s.flow("garden", clogged(s, succeeds)).Build())
	s.holds(t, "pipe", "wet")
	s.calm(t, "garden", lsv1alpha1.PhaseSucceeded)
	s.rest(t, "flowing")
}

func stallAgain(t *testing.T, s *scene) {
	s.create(t, s.flow("field", clogged(s, string(lsv1alpha1.PhaseFailed))).Build())
	s.standstill(t, "field")
	s.remove(t, "field")
	s.gone(t, "field")
	s.rest(t, "removed")
}

// endlessVersion returns a deploy item without a deployer, in a version.
func endlessVersion(name, version string) any {
	return item(name, orphanType, map[string]any{
		"apiVersion": "faults.espalier.dev/v1",
		"kind":       "ProviderConfiguration",
		"version":    version,
	}, nil)
}

// edit changes a deploy item without its execution.
func (s *scene) edit(t testing.TB, item, patch string) *lsv1alpha1.DeployItem {
	t.Helper()
	object := s.until(t, item, "there", func(*lsv1alpha1.DeployItem) bool { return true })
	s.patch(t, object, "%s", patch)
	return object
}

// deploy plays a deployer of the continuous flow for a deploy item, whenever there is something to do, until stop is called.
func (s *scene) deploy(t testing.TB, item string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	watcher, err := s.Client().Watch(ctx, &lsv1alpha1.DeployItemList{}, client.InNamespace(s.namespace),
		client.MatchingLabels{lsv1alpha1.ExecutionManagedNameLabel: item})
	if err != nil {
		t.Fatalf("watch deploy item %s: %v", item, err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watcher.ResultChan() {
			if found, ok := event.Object.(*lsv1alpha1.DeployItem); ok && found.DeletionTimestamp.IsZero() {
				s.complete(t, found)
			}
		}
	}()
	return func() { cancel(); watcher.Stop(); <-done }
}

// complete drops a request, and reports that a deploy item is deployed. A concurrent change is noticed with the next event.
func (s *scene) complete(t testing.TB, item *lsv1alpha1.DeployItem) {
	if item.Annotations[lsv1alpha1.OperationAnnotation] != "" {
		patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q,"annotations":{%q:null}}}`, item.ResourceVersion, lsv1alpha1.OperationAnnotation)
		if err := s.try(item, patch); apierrors.IsConflict(err) {
			return
		} else if err != nil {
			t.Errorf("drop the request of deploy item %s: %v", item.Name, err)
		}
	} else if item.Status.Phase == lsv1alpha1.PhaseSucceeded && item.Status.ObservedGeneration == item.Generation {
		return
	}
	patch := fmt.Sprintf(`{"status":{"phase":%q,"observedGeneration":%d}}`, lsv1alpha1.PhaseSucceeded, item.Generation)
	if err := s.Client().Status().Patch(context.Background(), item, mergePatch(patch)); client.IgnoreNotFound(err) != nil {
		t.Errorf("complete deploy item %s: %v", item.Name, err)
	}
}

// release removes the finalizer of a deploy item that is being deleted and has no deployer.
func (s *scene) release(t testing.TB, item string) {
	t.Helper()
	object := s.until(t, item, "being deleted", func(i *lsv1alpha1.DeployItem) bool { return !i.DeletionTimestamp.IsZero() })
	s.patch(t, object, `{"metadata":{"finalizers":null}}`)
}
