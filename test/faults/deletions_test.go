// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/target"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/faults"
	"espalier.dev/test/faults/invariant"
)

// deletionWorkloads are deletions without a target, in each flow. Each is one act: also what strikes at the beginning is followed by all
// deletions.
var deletionWorkloads = []workload{
	{"strand", []act{func(t *testing.T, s *scene) { strand(t, s, inJobs) }}},
	{"drift", []act{func(t *testing.T, s *scene) { strand(t, s, inContinuity) }}},
}

// endingWorkloads are those whose namespace is deleted. They need a server that empties deleted namespaces.
var endingWorkloads = []workload{
	{"evict", []act{evict}},
	{"raze", []act{raze}},
}

// way is how a root is installed in one of the flows.
type way struct {
	begin   func(*testkit.InstallationBuilder) *testkit.InstallationBuilder
	succeed func(t testing.TB, s *scene, name string)
}

var (
	inJobs = way{
		begin:   (*testkit.InstallationBuilder).Reconcile,
		succeed: func(t testing.TB, s *scene, name string) { t.Helper(); s.succeeds(t, name) },
	}
	inContinuity = way{
		begin:   (*testkit.InstallationBuilder).Continuous,
		succeed: func(t testing.TB, s *scene, name string) { t.Helper(); s.calm(t, name, lsv1alpha1.PhaseSucceeded) },
	}
)

// The Targets of these stories, beside the one that every scene has.
const (
	farName  = "far"  // of a cluster that becomes unreachable
	lostName = "lost" // deleted during the story
)

// on makes a deploy item use a Target of the namespace.
func on(target string, item any) any {
	item.(map[string]any)["target"] = map[string]any{"name": target}
	return item
}

// strand has the target cluster become unreachable, and Targets disappear. Users delete what is being deployed, and what was deployed. They
// give up what cannot be uninstalled while it is in Deleting.
func strand(t *testing.T, s *scene, w way) {
	s.moor(t, w)
	s.rest(t, "moored")
	s.target.close(s.namespace)
	s.wreck(t, w)
	s.lacks(t, "ship")
	s.rest(t, "wrecked")
	s.sink(t)
	s.rest(t, "given up")
}

// moor deploys to the Target of the scene, by way of contexts, too, and to another one.
func (s *scene) moor(t *testing.T, w way) {
	t.Helper()
	put := func(item, configMap string) any { return manifestItem(item, s.namespace, "afloat", configMap) }
	quay := blueprint{items: []any{put("tow", "raft"), on(farName, put("haul", "barge"))}}
	berth := blueprint{items: []any{put("dock", "yacht")}}
	s.create(t,
		testkit.Target(s.namespace, farName).Kubeconfig(s.target.farKubeconfig(t)).Build(),
		w.begin(s.root("harbour", blueprint{subs: []any{sub("quay", quay, wiring{})}, items: []any{put("row", "boat")}})).Build(),
		w.begin(s.root("marina", blueprint{subs: []any{sub("berth", berth, wiring{})}})).Build())
	w.succeed(t, s, "harbour")
	w.succeed(t, s, "marina")
	for _, deployed := range []string{"raft", "barge", "boat", "yacht"} {
		s.holds(t, deployed, "afloat")
	}
}

// sink deletes Targets, and then the roots that need them. The Target of a root is gone, but its copy in the context of the root is enough
// to uninstall what is nested; of the other root, that is gone, too. A deploy item is given up alone, the others with their root.
func (s *scene) sink(t *testing.T) {
	t.Helper()
	row, haul, dock := s.known(t, "row"), s.known(t, "haul"), s.known(t, "dock")
	s.drop(t, testkit.Target(s.namespace, targetName).Build())
	s.drop(t, testkit.Target(s.namespace, dock.Spec.Target.Name).Build())
	s.remove(t, "harbour")
	s.remove(t, "marina")
	testkit.EventuallyGone(t, s.APIServer, configMap(s.namespace, "raft"))
	for _, item := range []*lsv1alpha1.DeployItem{row, haul, dock} {
		s.stops(t, item)
	}
	s.giveUp(t, haul)
	testkit.EventuallyGone(t, s.APIServer, haul)
	for _, root := range []string{"harbour", "marina"} {
		s.giveUp(t, s.installation(root))
		s.gone(t, root)
	}
	s.holds(t, "barge", "afloat")
	s.takeAway(t, "boat")
	s.takeAway(t, "yacht")
}

// wreck deletes a root that cannot be deployed because its cluster is unreachable. That ends the work, so that the deletion can start.
func (s *scene) wreck(t *testing.T, w way) {
	t.Helper()
	b := blueprint{items: []any{on(farName, manifestItem("sail", s.namespace, "afloat", "ship"))}}
	s.create(t, w.begin(s.root("wreck", b)).Build())
	sail := s.until(t, "sail", "unable to deploy", func(i *lsv1alpha1.DeployItem) bool {
		return i.Status.Phase == lsv1alpha1.PhaseProgressing && i.Status.LastError != nil && i.Status.LastError.Reason == target.ReasonUnreachable
	})
	s.remove(t, "wreck")
	s.stops(t, sail)
	s.giveUp(t, s.installation("wreck"))
	s.gone(t, "wreck")
}

// known waits until a deploy item exists and returns it.
func (s *scene) known(t testing.TB, item string) *lsv1alpha1.DeployItem {
	t.Helper()
	return s.until(t, item, "there", func(*lsv1alpha1.DeployItem) bool { return true })
}

// stops waits until a deploy item cannot be uninstalled because of its target, or is gone: a deployer whose cache still has the Target that
// was deleted may have been able to. Rules check whether it was.
func (s *scene) stops(t testing.TB, item *lsv1alpha1.DeployItem) {
	t.Helper()
	s.awaits(t, "deploy item "+item.Name+" to stop", func(history testkit.History) bool {
		last := history.Where(func(r testkit.Revision) bool { return r.Object.GetUID() == item.UID }).Last()
		return last.Change == testkit.Deleted || invariant.IsStuck(*last)
	})
}

// awaits waits until the history meets a condition.
func (s *scene) awaits(t testing.TB, what string, holds func(testkit.History) bool) {
	t.Helper()
	for length := restLength; length < testkit.Patience; length *= 2 {
		if holds(s.recorder.History()) {
			return
		}
		s.recorder.Quiet(t, length)
	}
	t.Fatalf("waited for %s, and nothing happens any more", what)
}

// giveUp has an object deleted without uninstalling, unless it is gone.
func (s *scene) giveUp(t testing.TB, object client.Object) {
	t.Helper()
	patch := string(mustJSON(map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		lsv1alpha1.DeleteWithoutUninstallAnnotation: "true",
	}}}))
	if err := s.try(object, patch); client.IgnoreNotFound(err) != nil {
		t.Fatalf("give up %s: %v", object.GetName(), err)
	}
}

// drop deletes an object, unless it is gone.
func (s *scene) drop(t testing.TB, object client.Object) {
	t.Helper()
	if err := s.Client().Delete(t.Context(), object); client.IgnoreNotFound(err) != nil {
		t.Fatalf("delete %s: %v", object.GetName(), err)
	}
}

// takeAway deletes a config map that was left installed, if it was: a deployer whose cache lags may have uninstalled it. From then on it is
// the user's own.
func (s *scene) takeAway(t testing.TB, name string) {
	t.Helper()
	own := string(mustJSON(map[string]any{"metadata": map[string]any{"labels": map[string]any{invariant.DeployedLabel: nil}}}))
	if err := s.try(configMap(s.namespace, name), own); client.IgnoreNotFound(err) != nil {
		t.Fatalf("change config map %s: %v", name, err)
	}
	s.drop(t, configMap(s.namespace, name))
}

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// elsewhereSuffix makes the name of the namespace to which a story deploys whose own namespace is deleted. The gate routes requests there
// through the same transport.
const elsewhereSuffix = "-other"

func (s *scene) elsewhere() string { return s.namespace + elsewhereSuffix }

// newEndingScene creates a scene whose namespace can be deleted, with another one.
func newEndingScene(t testing.TB) *scene {
	t.Helper()
	server := testkit.ServerWithControllers(t)
	namespace := server.Namespace(t)
	testkit.Create(t, server, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace + elsewhereSuffix}})
	return furnished(t, server, namespace,
		testkit.Kinds(&corev1.Namespace{}).Named(namespace), testkit.Kinds(&corev1.ConfigMap{}).In(namespace+elsewhereSuffix))
}

// end deletes the namespace, once everything is there, unless that was done before.
func (s *scene) end(t testing.TB) error {
	select {
	case <-s.populated:
	case <-t.Context().Done():
		return errors.New("the story ended before it could delete the namespace")
	}
	err := s.Client().Delete(context.Background(), s.itself())
	if apierrors.IsConflict(err) { // It is being deleted.
		return nil
	}
	return client.IgnoreNotFound(err)
}

func (s *scene) itself() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}
}

// vanish deletes the namespace, waits until it is gone, and removes what is deployed elsewhere: what stays there depends on how far the
// deployers were.
func (s *scene) vanish(t *testing.T) {
	t.Helper()
	if err := s.end(t); err != nil {
		t.Fatalf("delete the namespace: %v", err)
	}
	testkit.EventuallyGone(t, s.APIServer, s.itself())
	s.recorder.Quiet(t, restLength)
	err := s.Client().DeleteAllOf(t.Context(), &corev1.ConfigMap{}, client.InNamespace(s.elsewhere()), client.HasLabels{invariant.DeployedLabel})
	if err != nil {
		t.Fatalf("remove what is deployed elsewhere: %v", err)
	}
	s.rest(t, "gone")
}

// evict deletes a namespace whose installations wait, work and are at rest, and cannot be deleted because a Target is gone, in both flows.
func evict(t *testing.T, s *scene) {
	furnish := func(name string, items ...any) any { return sub(name, blueprint{items: items}, wiring{}) }
	put := func(item, configMap string) any { return manifestItem(item, s.elsewhere(), "in use", configMap) }
	s.create(t,
		testkit.Target(s.namespace, lostName).Kubeconfig(s.target.kubeconfig(t)).Build(),
		s.root("house", blueprint{subs: []any{furnish("room", put("place", "bed"), endlessItem("read"))}}).Reconcile().Build(),
		s.root("guest", blueprint{imports: []string{"key"}}, "key").Reconcile().Build(),
		s.root("tenant", blueprint{items: []any{on(lostName, put("hang", "picture"))}}).Reconcile().Build(),
		s.flow("garden", blueprint{subs: []any{furnish("plot", put("plant", "rose"), endlessItem("water"))}}).Build(),
		s.flow("lodger", blueprint{items: []any{on(lostName, put("store", "trunk"))}}).Build())
	close(s.populated)
	s.succeeds(t, "tenant")
	hang, store := s.known(t, "hang"), s.known(t, "store")
	s.until(t, "place", "finished", func(i *lsv1alpha1.DeployItem) bool { return i.Status.JobID != "" && i.Status.IsFinished() })
	s.until(t, "read", "handed a job", func(i *lsv1alpha1.DeployItem) bool { return i.Status.JobID != "" })
	s.known(t, "water")
	for _, item := range []string{"plant", "store"} {
		s.until(t, item, "deployed", func(i *lsv1alpha1.DeployItem) bool { return i.Status.Phase == lsv1alpha1.PhaseSucceeded })
	}
	testkit.Eventually(t, s.APIServer, s.installation("guest"), testkit.Is("waiting for the key", func(i *lsv1alpha1.Installation) bool {
		return i.Status.LastError != nil
	}))
	s.drop(t, testkit.Target(s.namespace, lostName).Build())
	s.remove(t, "tenant")
	s.remove(t, "lodger")
	s.stops(t, hang)
	s.stops(t, store)
	s.vanish(t)
}

// raze deletes a namespace with a tree in each flow, at the latest when they are deployed.
func raze(t *testing.T, s *scene) {
	garden := blueprint{
		imports: []string{"size"},
		subs:    tree(s.elsewhere()).subs[:2],
		items:   []any{manifestItem("fence", s.elsewhere(), "closed", "fence")},
	}
	s.create(t, s.sized("small"),
		s.root("house", tree(s.elsewhere()), "size").ExportData("crop", "harvest").Reconcile().Build(), s.flow("garden", garden, "size").Build())
	close(s.populated)
	s.awaits(t, "both trees", func(history testkit.History) bool {
		return invariant.IsEnding(history) || invariant.HasSettled(history)
	})
	s.mark = len(s.processes.Log().Writes())
	s.vanish(t)
}

// A namespace that is deleted at any write goes, and what is in it.
func TestJOB46_CON44_ANamespaceIsDeletedAtAnyWrite(t *testing.T) {
	t.Parallel()
	const runs = 6
	number := slices.IndexFunc(workloads, func(w workload) bool { return w.name == "raze" })
	if !faults.IsDue(number, *share, time.Now()) {
		return
	}
	w := workloadNamed(t, "raze")
	mark := reference(t, w).mark
	var all []disturbance
	for write := 2; write <= mark; write++ {
		if *full || (write-2)%max(1, (mark-2)/runs) == 0 {
			all = append(all, disturbance{processFault: userEnds, at: write})
		}
	}
	sweep(t, w, all)
}
