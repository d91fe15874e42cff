// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
)

func TestPIP02_AWatchLastsFromTheFirstReferenceToTheLast(t *testing.T) {
	before := goroutines()
	w, l := newWorld(t), newLeaf(t)
	cluster := w.enrol(t, l, "leaf")
	deploy(t, l.server, l.namespace, "app", "1.0.0")
	deploy(t, l.server, l.namespace, "other", "2.0.0")
	app, other := helmReleaseIn(cluster, l.namespace, "app"), helmReleaseIn(cluster, l.namespace, "other")
	if l.server.Watches(t, "helmreleases") != 0 {
		t.Fatal("there is a watch before anybody refers to anything")
	}

	w.fleet.Refer(pipeline("a"), []Application{app})
	w.awaitHealthy(t, app, "1.0.0")
	w.fleet.Refer(pipeline("b"), []Application{app, other})
	w.awaitHealthy(t, other, "2.0.0")
	l.server.EventuallyWatches(t, "helmreleases", 1)
	l.server.EventuallyWatches(t, "kustomizations", 0)
	l.relay.AwaitConnections(t, 1)

	w.fleet.Forget(pipeline("a"))
	deploy(t, l.server, l.namespace, "app", "1.1.0")
	w.awaitHealthy(t, app, "1.1.0")
	w.fleet.Forget(pipeline("b"))
	l.server.EventuallyWatches(t, "helmreleases", 0)
	l.relay.AwaitConnections(t, 0)
	awaitNoLeak(t, before)
	if accepted := l.relay.Accepted(); accepted != 1 {
		t.Errorf("%d connections were made, want one", accepted)
	}
	if state := w.fleet.Read(app); state.Problem.Reason != ReasonNotFollowed {
		t.Errorf("the state is %+v, though nobody refers to it", state)
	}
}

func TestPIP02_TwentyTimesBackAndForth(t *testing.T) {
	before := goroutines()
	w, l := newWorld(t), newLeaf(t)
	cluster := w.enrol(t, l, "leaf")
	deploy(t, l.server, l.namespace, "app", "1.0.0")
	app := helmReleaseIn(cluster, l.namespace, "app")
	for range 20 {
		// Drop the reference before the cluster is connected, and again afterwards.
		w.fleet.Refer(pipeline("a"), []Application{app})
		w.fleet.Forget(pipeline("a"))
		w.fleet.Refer(pipeline("a"), []Application{app})
		w.awaitHealthy(t, app, "1.0.0")
		w.fleet.Forget(pipeline("a"))
	}
	l.server.EventuallyWatches(t, "helmreleases", 0)
	l.relay.AwaitConnections(t, 0)
	awaitNoLeak(t, before)
	w.fleet.mutex.Lock()
	defer w.fleet.mutex.Unlock()
	if len(w.fleet.links)+len(w.fleet.uses)+len(w.fleet.index.users)+len(w.fleet.index.means) != 0 {
		t.Errorf("something is remembered: %v %v %v", w.fleet.links, w.fleet.uses, w.fleet.index)
	}
}

func TestPIP02_KindsOfOneClusterShareTheConnection(t *testing.T) {
	w := newWorld(t)
	l := w.leafAtHome(t)
	cluster := w.enrol(t, l, "leaf")
	app := helmReleaseIn(cluster, l.namespace, "app")
	other := Application{Cluster: cluster, GVK: kustomizationGVK, Namespace: l.namespace, Name: "app"}
	w.fleet.Refer(pipeline("a"), []Application{app, other})
	w.awaitProblem(t, app, ReasonNotFound)
	w.awaitProblem(t, other, ReasonNotFound)
	l.server.EventuallyWatches(t, "helmreleases", 1)
	l.server.EventuallyWatches(t, "kustomizations", 1)
	if accepted := l.relay.Accepted(); accepted != 1 {
		t.Errorf("%d connections were made, want one", accepted)
	}
	w.fleet.Refer(pipeline("a"), []Application{other})
	l.server.EventuallyWatches(t, "helmreleases", 0)
	l.server.EventuallyWatches(t, "kustomizations", 1)
}

// Two objects of the management cluster with the same kubeconfig share one connection.
func TestPIP02_OneCredentialHasOneConnection(t *testing.T) {
	w := newWorld(t)
	l := w.leafAtHome(t)
	text := l.kubeconfig(t, l.account(t, "follower", mayFollow()))
	testkit.Create(
		t,
		w.host,
		testkit.Target(w.namespace, "a").Kubeconfig(text).Build(),
		testkit.Target(w.namespace, "b").Kubeconfig(text).Build(),
	)
	deploy(t, l.server, l.namespace, "app", "1.0.0")
	var apps []Application
	for _, name := range []string{"a", "b"} {
		apps = append(apps, helmReleaseIn(ClusterKey{Kind: "Target", Namespace: w.namespace, Name: name}, l.namespace, "app"))
	}
	w.fleet.Refer(pipeline("a"), apps)
	w.awaitHealthy(t, apps[0], "1.0.0")
	w.awaitHealthy(t, apps[1], "1.0.0")
	if accepted := l.relay.Accepted(); accepted != 1 {
		t.Errorf("%d connections were made, want one", accepted)
	}
	w.fleet.Refer(pipeline("a"), apps[:1])
	l.server.EventuallyWatches(t, "helmreleases", 1)
	deploy(t, l.server, l.namespace, "app", "1.1.0")
	w.awaitHealthy(t, apps[0], "1.1.0")
	w.fleet.Refer(pipeline("a"), apps)
	w.awaitHealthy(t, apps[1], "1.1.0")
	if accepted := l.relay.Accepted(); accepted != 1 {
		t.Errorf("%d connections were made, want one: letting go of one reference dropped the connection of the other", accepted)
	}
	w.fleet.Forget(pipeline("a"))
	l.relay.AwaitConnections(t, 0)
}

func TestPIP03_AnEventWakesExactlyThePipelinesOfTheApplication(t *testing.T) {
	w := newWorld(t)
	l := w.leafAtHome(t)
	cluster := w.enrol(t, l, "leaf")
	for _, name := range []string{"app", "other", "last"} {
		deploy(t, l.server, l.namespace, name, "1.0.0")
	}
	app, other, last := helmReleaseIn(
		cluster,
		l.namespace,
		"app",
	), helmReleaseIn(
		cluster,
		l.namespace,
		"other",
	), helmReleaseIn(
		cluster,
		l.namespace,
		"last",
	)
	w.fleet.Refer(pipeline("a"), []Application{app})
	w.fleet.Refer(pipeline("b"), []Application{app, other})
	w.fleet.Refer(pipeline("c"), []Application{other})
	w.fleet.Refer(pipeline("d"), []Application{last})
	w.awaitHealthy(t, last, "1.0.0")
	// Events of one watch are ordered: when the last one has arrived, all earlier ones have been delivered. The first read of the applications
	// wakes one pipeline after another, while this test runs.
	deploy(t, l.server, l.namespace, "last", "1.0.1")
	w.awaitHealthy(t, last, "1.0.1")
	counts := func() [3]int {
		return [3]int{w.bell.count(pipeline("a")), w.bell.count(pipeline("b")), w.bell.count(pipeline("c"))}
	}
	before := counts()

	deploy(t, l.server, l.namespace, "app", "1.1.0")
	deploy(t, l.server, l.namespace, "last", "1.1.0")
	w.awaitHealthy(t, last, "1.1.0")
	if after := counts(); after != [3]int{before[0] + 1, before[1] + 1, before[2]} {
		t.Errorf("woken %v times before and %v after the change", before, after)
	}

	// An irrelevant change wakes no pipeline.
	before = counts()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"plant":"tree"}}}`))
	if err := l.server.Client().Patch(t.Context(), emptyHelmRelease(l.namespace, "app"), patch); err != nil {
		t.Fatal(err)
	}
	deploy(t, l.server, l.namespace, "last", "1.2.0")
	w.awaitHealthy(t, last, "1.2.0")
	if after := counts(); after != before {
		t.Errorf("a label has woken: %v times before, %v after", before, after)
	}
}

func TestPipelinesThatWereWokenBeforeTheListenerCameAreReportedToIt(t *testing.T) {
	var a alarm
	a.ring([]types.NamespacedName{pipeline("a"), pipeline("b"), pipeline("a")})
	told := map[types.NamespacedName]int{}
	a.onRing(func(p types.NamespacedName) { told[p]++ })
	a.ring([]types.NamespacedName{pipeline("c")})
	if len(told) != 3 || told[pipeline("a")] != 1 || told[pipeline("c")] != 1 {
		t.Errorf("told %v", told)
	}
}
