// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/traffic"
)

func TestPIP06_ADeadClusterAffectsNoOther(t *testing.T) {
	w, dead, alive := newWorld(t), newLeaf(t), newLeaf(t)
	lost := helmReleaseIn(w.enrol(t, dead, "dead"), "default", "app")
	fine := helmReleaseIn(w.enrol(t, alive, "alive"), "default", "app")
	deploy(t, dead.server, "default", "app", "1.0.0")
	deploy(t, alive.server, "default", "app", "1.0.0")
	w.fleet.Refer(pipeline("lost"), []Application{lost})
	w.fleet.Refer(pipeline("fine"), []Application{fine})
	w.awaitHealthy(t, lost, "1.0.0")
	w.awaitHealthy(t, fine, "1.0.0")

	w.clock.SetTime(w.clock.Now().Add(time.Hour))
	died := w.clock.Now()
	dead.relay.Close()
	state := w.awaitProblem(t, lost, ReasonUnreachable)
	want := State{Problem: state.Problem, UnreadableSince: died, Health: Health{Revision: "1.0.0"}}
	if diff := cmp.Diff(want, state); diff != "" {
		t.Errorf("the state has not the last revision and since when:\n%s", diff)
	}
	if !strings.Contains(state.Problem.Message, dead.relay.Address()) || !strings.Contains(state.Problem.Message, "connection refused") {
		t.Errorf("the message is %q", state.Problem.Message)
	}
	w.clock.SetTime(died.Add(time.Hour))
	woken := w.bell.count(pipeline("lost"))
	deploy(t, alive.server, "default", "app", "1.1.0")
	w.awaitHealthy(t, fine, "1.1.0")
	deploy(t, dead.server, "default", "app", "1.1.0")
	if again := w.fleet.Read(lost); again != state || w.bell.count(pipeline("lost")) != woken {
		t.Errorf("the state of the dead cluster changes by itself from %+v to %+v", state, again)
	}

	dead.relay.Open(t)
	if state := w.awaitHealthy(t, lost, "1.1.0"); !state.UnreadableSince.IsZero() {
		t.Errorf("the state is %+v", state)
	}
	dead.server.EventuallyWatches(t, "helmreleases", 1)
}

// A cluster that accepts connections and never responds blocks nothing.
func TestPIP06_ASilentClusterBlocksNobody(t *testing.T) {
	before := goroutines()
	w := newWorld(t, func(t *timing) { t.answer = 200 * time.Millisecond })
	l := w.leafAtHome(t)
	deploy(t, l.server, l.namespace, "app", "1.0.0")
	app := helmReleaseIn(w.enrol(t, l, "leaf"), l.namespace, "app")
	silent := leafOf(t, w.host)
	silent.relay.Silence()
	mute := helmReleaseIn(w.enrol(t, silent, "silent"), l.namespace, "app")
	w.fleet.Refer(pipeline("mute"), []Application{mute})
	if state := w.fleet.Read(mute); state.Known() {
		t.Errorf("the state is %+v", state)
	}
	w.fleet.Refer(pipeline("fine"), []Application{app})
	w.awaitHealthy(t, app, "1.0.0")
	w.awaitProblem(t, mute, ReasonUnreachable)
	w.fleet.Forget(pipeline("mute"))
	silent.relay.AwaitConnections(t, 0)
	w.fleet.Close()
	awaitNoLeak(t, before)
}

func TestPIP06_EverythingThatCanBeMissingHealsByItself(t *testing.T) {
	w, l := newWorld(t), newBareLeaf(t)
	token := l.account(t, "follower")
	cluster := w.clusterKey("leaf")
	testkit.Create(t, w.host, secretWith(w.namespace, "leaf", "kubeconfig", l.kubeconfig(t, token)))
	w.gitopsCluster(t, "leaf", leafSpec())
	app := helmReleaseIn(cluster, "later", "app")
	w.fleet.Refer(pipeline("a"), []Application{app})
	step := func(reason Reason, words string) State {
		t.Helper()
		state := w.awaitProblem(t, app, reason)
		if !strings.Contains(state.Problem.Message, words) || !strings.Contains(state.Problem.Message, "GitopsCluster "+w.namespace+"/leaf") {
			t.Errorf("the message is %q, want %q in it and the cluster", state.Problem.Message, words)
		}
		return state
	}
	step(ReasonKindNotServed, "does not serve the kind HelmRelease of helm.toolkit.fluxcd.io/v2")
	l.server.InstallCRD(t, testkit.FluxKinds(t)...)
	step(ReasonForbidden, "cannot list resource \"helmreleases\"")
	rules := mayFollow()
	rules.Verbs = []string{"list"}
	l.grant(t, "follower", rules)
	w.await(t, app, "told that it may not watch", func(s State) bool { return strings.Contains(s.Problem.Message, "cannot watch resource") })
	woken, lists := w.bell.count(pipeline("a")), w.traffic.Number("/helmreleases?limit")
	w.traffic.Await(t, "further attempts", func(tr *traffic.Traffic) bool { return tr.Number("/helmreleases?limit") > lists+3 })
	if after := w.bell.count(pipeline("a")); after != woken {
		t.Errorf("the pipeline is woken %d times by what can be listed and not watched", after-woken)
	}
	remove(t, l.server, clusterRoleBinding(l, "follower"))
	remove(t, l.server, clusterRole(l, "follower"))
	l.grant(t, "follower", mayFollow(), mayReadNamespaces())
	step(ReasonNamespaceNotFound, "namespace later does not exist")
	testkit.Create(t, l.server, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "later"}})
	step(ReasonNotFound, "not found")
	deploy(t, l.server, "later", "app", "1.0.0")
	w.awaitHealthy(t, app, "1.0.0")
	remove(t, l.server, emptyHelmRelease("later", "app"))
	if state := step(ReasonNotFound, "not found"); state.Revision != "1.0.0" || !state.UnreadableSince.Equal(w.clock.Now()) {
		t.Errorf("the state is %+v, want what was last seen", state)
	}
	for _, kind := range testkit.FluxKinds(t) {
		remove(t, l.server, kind)
	}
	state := step(ReasonKindNotServed, "does not serve")
	if state.Revision != "1.0.0" {
		t.Errorf("the state is %+v, want what was last seen", state)
	}
}

// A credential for some namespaces is enough for applications there.
func TestPIP06_ACredentialForSomeNamespaces(t *testing.T) {
	w := newWorld(t)
	l := w.leafAtHome(t)
	other := l.server.Namespace(t)
	deploy(t, l.server, l.namespace, "app", "1.0.0")
	deploy(t, l.server, other, "app", "2.0.0")
	testkit.Create(t, w.host, secretWith(w.namespace, "leaf", "kubeconfig", l.kubeconfig(t, l.account(t, "follower"))))
	w.gitopsCluster(t, "leaf", leafSpec())
	l.grantIn(t, l.namespace, "follower", mayFollow())
	allowed, forbidden := helmReleaseIn(w.clusterKey("leaf"), l.namespace, "app"), helmReleaseIn(w.clusterKey("leaf"), other, "app")
	w.fleet.Refer(pipeline("a"), []Application{allowed, forbidden})
	w.awaitHealthy(t, allowed, "1.0.0")
	if state := w.awaitProblem(t, forbidden, ReasonForbidden); !strings.Contains(state.Problem.Message, "in all namespaces or in "+other) {
		t.Errorf("the state is %+v", state)
	}
	l.grantIn(t, other, "follower", mayFollow())
	w.awaitHealthy(t, forbidden, "2.0.0")
	deploy(t, l.server, l.namespace, "app", "1.1.0")
	w.awaitHealthy(t, allowed, "1.1.0")
	l.server.EventuallyWatches(t, "helmreleases", 2)
	w.fleet.Refer(pipeline("a"), []Application{allowed})
	l.server.EventuallyWatches(t, "helmreleases", 1)
	w.fleet.Forget(pipeline("a"))
	l.server.EventuallyWatches(t, "helmreleases", 0)
	l.relay.AwaitConnections(t, 0)
}

// When rights for a running watch are revoked, this is noticed at its renewal.
func TestPIP06_RightsThatBecomeFewer(t *testing.T) {
	w := newWorld(t)
	l := w.leafAtHome(t)
	deploy(t, l.server, l.namespace, "app", "1.0.0")
	app := helmReleaseIn(w.enrol(t, l, "leaf"), l.namespace, "app")
	w.fleet.Refer(pipeline("a"), []Application{app})
	w.awaitHealthy(t, app, "1.0.0")
	forbid := func(path string) {
		w.traffic.AnswerWith(func(request *http.Request) *http.Response {
			if !strings.Contains(request.URL.Path, path) {
				return nil
			}
			return traffic.Refusal(request, http.StatusForbidden, metav1.StatusReasonForbidden)
		})
		l.relay.Cut()
	}
	forbid("/v2/helmreleases")
	w.traffic.Await(
		t,
		"watches by namespace",
		func(tr *traffic.Traffic) bool { return tr.Number("/namespaces/"+l.namespace+"/helmreleases?") >= 2 },
	)
	w.awaitHealthy(t, app, "1.0.0")
	deploy(t, l.server, l.namespace, "app", "1.1.0")
	w.awaitHealthy(t, app, "1.1.0")
	forbid("/helmreleases")
	if state := w.awaitProblem(t, app, ReasonForbidden); state.Revision != "1.1.0" || state.UnreadableSince.IsZero() {
		t.Errorf("the state is %+v, want what was last seen", state)
	}
	w.traffic.AnswerWith(nil)
	w.awaitHealthy(t, app, "1.1.0")
}

func TestPIP06_AnExpiredVersionIsListedAgain(t *testing.T) {
	w := newWorld(t)
	l := w.leafAtHome(t)
	deploy(t, l.server, l.namespace, "app", "1.0.0")
	app := helmReleaseIn(w.enrol(t, l, "leaf"), l.namespace, "app")
	w.fleet.Refer(pipeline("a"), []Application{app})
	w.awaitHealthy(t, app, "1.0.0")
	lists := w.traffic.Number("/helmreleases?limit")
	w.expire(1)
	l.relay.Cut()
	w.traffic.Await(t, "another list", func(tr *traffic.Traffic) bool { return tr.Number("/helmreleases?limit") > lists })
	deploy(t, l.server, l.namespace, "app", "1.1.0")
	w.awaitHealthy(t, app, "1.1.0")
	if count := w.bell.count(pipeline("a")); count != 2 {
		t.Errorf("the pipeline was woken %d times, want once for each revision", count)
	}
}

// A broken connection that can be restored at once is not reported.
func TestPIP06_ABrokenConnectionIsContinued(t *testing.T) {
	w := newWorld(t)
	l := w.leafAtHome(t)
	deploy(t, l.server, l.namespace, "app", "1.0.0")
	app := helmReleaseIn(w.enrol(t, l, "leaf"), l.namespace, "app")
	w.fleet.Refer(pipeline("a"), []Application{app})
	w.awaitHealthy(t, app, "1.0.0")
	lists := w.traffic.Number("/helmreleases?limit")
	l.relay.Cut()
	l.relay.AwaitAccepted(t, 2)
	deploy(t, l.server, l.namespace, "app", "1.1.0")
	w.awaitHealthy(t, app, "1.1.0")
	if after := w.traffic.Number("/helmreleases?limit"); after != lists {
		t.Errorf("everything was listed anew %d times", after-lists)
	}
}

func TestLargeListsComeInPages(t *testing.T) {
	w := newWorld(t)
	l := w.leafAtHome(t)
	w.fleet.page = 2
	cluster := w.enrol(t, l, "leaf")
	var apps []Application
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		deploy(t, l.server, l.namespace, name, "1.0.0")
		apps = append(apps, helmReleaseIn(cluster, l.namespace, name))
	}
	w.fleet.Refer(pipeline("a"), apps)
	for _, app := range apps {
		w.awaitHealthy(t, app, "1.0.0")
	}
	if n := w.traffic.Number("continue="); n < 2 {
		t.Errorf("%d further pages were asked for", n)
	}
}

func TestMetrics(t *testing.T) {
	w := newWorld(t)
	l := w.leafAtHome(t)
	deploy(t, l.server, l.namespace, "app", "1.0.0")
	app := helmReleaseIn(w.enrol(t, l, "leaf"), l.namespace, "app")
	missing := helmReleaseIn(w.clusterKey("missing"), l.namespace, "app")
	w.fleet.Refer(pipeline("a"), []Application{app, missing})
	w.awaitHealthy(t, app, "1.0.0")
	w.clock.SetTime(w.clock.Now().Add(time.Minute))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(w.fleet)
	values := map[string]float64{}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			values[family.GetName()+" "+strings.TrimPrefix(metric.GetLabel()[0].GetValue(), "GitopsCluster/"+w.namespace+"/")] = metric.GetGauge().
				GetValue()
		}
	}
	for name, want := range map[string]float64{
		"espalier_fleet_watches leaf": 1, "espalier_fleet_watches_broken leaf": 0, "espalier_fleet_sync_age_seconds leaf": 0,
		"espalier_fleet_watches missing": 1, "espalier_fleet_watches_broken missing": 1, "espalier_fleet_sync_age_seconds missing": 60,
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	if values["espalier_fleet_objects leaf"] < 1 {
		t.Errorf("no object is counted: %v", values)
	}
}

func TestTheSourceFillsTheQueueOfAController(t *testing.T) {
	w := newWorld(t)
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	if err := w.fleet.Source().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	w.fleet.Refer(pipeline("a"), []Application{helmReleaseIn(w.clusterKey("missing"), "apps", "app")})
	if request, _ := queue.Get(); request.NamespacedName != pipeline("a") {
		t.Errorf("the queue has %v", request)
	}
}

func TestAClosedFleetFollowsNothing(t *testing.T) {
	w := newWorld(t)
	app := helmReleaseIn(ClusterKey{}, w.namespace, "app")
	w.fleet.Close()
	w.fleet.Refer(pipeline("a"), []Application{app})
	if state := w.fleet.Read(app); state.Problem.Reason != ReasonNotFollowed {
		t.Errorf("the state is %+v", state)
	}
	w.fleet.Close()
}
