// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gitops "espalier.dev/api/gitops/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/traffic"
)

func TestPIP05_ClustersOfReferences(t *testing.T) {
	app := pipelines.AppReference{APIVersion: "helm.toolkit.fluxcd.io/v2", Kind: "HelmRelease", Name: "app"}
	object := &pipelines.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: "here", Name: "p"}, Spec: pipelines.PipelineSpec{AppRef: app}}
	for name, c := range map[string]struct {
		reference *pipelines.ClusterReference
		want      ClusterKey
	}{
		"none": {nil, ClusterKey{}},
		"own namespace": {&pipelines.ClusterReference{
			Kind: "GitopsCluster",
			Name: "a",
		}, ClusterKey{Kind: "GitopsCluster", Namespace: "here", Name: "a"}},
		"another namespace": {&pipelines.ClusterReference{
			APIVersion: "any",
			Kind:       "Target",
			Name:       "a",
			Namespace:  "there",
		}, ClusterKey{Kind: "Target", Namespace: "there", Name: "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ApplicationOf(object, pipelines.Target{Namespace: "apps", ClusterRef: c.reference})
			if err != nil || got != helmReleaseIn(c.want, "apps", "app") {
				t.Errorf("application %+v, error %v", got, err)
			}
		})
	}
	for _, wrong := range []pipelines.AppReference{{APIVersion: "a/b/c", Kind: "K"}, {APIVersion: "v1"}, {Kind: "K"}} {
		object.Spec.AppRef = wrong
		if got, err := ApplicationOf(object, pipelines.Target{}); err == nil || !strings.Contains(err.Error(), "spec.appRef") {
			t.Errorf("%+v leads to %+v, error %v", wrong, got, err)
		}
	}
}

func TestPIP05_TheManagementClusterNeedsNoReference(t *testing.T) {
	w := newWorld(t)
	object := testkit.Installation(w.namespace, "app").Build()
	object.Spec.ComponentDescriptor = &lsv1alpha1.ComponentDescriptorDefinition{Reference: &lsv1alpha1.ComponentDescriptorReference{
		ComponentName: "example.org/app",
		Version:       "1.0.0",
	}}
	app := Application{GVK: lsv1alpha1.SchemeGroupVersion.WithKind("Installation"), Namespace: w.namespace, Name: "app"}
	w.fleet.Refer(pipeline("a"), []Application{app})
	w.awaitProblem(t, app, ReasonNotFound)
	testkit.Create(t, w.host, object)
	w.await(t, app, "seen", func(s State) bool { return s.Known() && !s.Healthy && s.Revision == "1.0.0" })
	object.Status.Phase, object.Status.ObservedGeneration = lsv1alpha1.PhaseSucceeded, object.Generation
	if err := w.host.Client().Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	w.awaitHealthy(t, app, "1.0.0")
	if c, err := w.fleet.Client(ClusterKey{}); err != nil || c == nil {
		t.Errorf("no client of the management cluster: %v", err)
	}
}

func TestPIP05_AGitopsClusterFromNothingToReady(t *testing.T) {
	w := newWorld(t)
	l := w.leafAtHome(t)
	deploy(t, l.server, l.namespace, "app", "1.0.0")
	app := helmReleaseIn(w.clusterKey("leaf"), l.namespace, "app")
	w.fleet.Refer(pipeline("a"), []Application{app})
	step := func(reason Reason, words string) {
		t.Helper()
		state := w.awaitProblem(t, app, reason)
		if !strings.Contains(state.Problem.Message, words) || state.Known() || !state.UnreadableSince.IsZero() {
			t.Errorf("the state is %+v, want a message with %q", state, words)
		}
		if _, err := w.fleet.Client(app.Cluster); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("the error of Client is %v", err)
		}
	}
	step(ReasonClusterNotFound, "not found")
	cluster := &gitops.GitopsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "leaf"}}
	testkit.Create(t, w.host, cluster)
	step(ReasonClusterNotReady, "no condition Ready yet")
	w.setReady(t, cluster, metav1.ConditionFalse)
	w.await(
		t,
		app,
		"told why it is not ready",
		func(s State) bool { return strings.Contains(s.Problem.Message, "(Tested): as the test says") },
	)
	w.setReady(t, cluster, metav1.ConditionTrue)
	step(ReasonKubeconfigMissing, "has neither spec.secretRef nor")
	cluster.Spec.CAPIClusterRef = &gitops.LocalObjectReference{Name: "capi"}
	if err := w.host.Client().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.await(t, app, "told which Secret", func(s State) bool { return strings.Contains(s.Problem.Message, w.namespace+"/capi-kubeconfig") })
	testkit.Create(t, w.host, secretWith(w.namespace, "capi-kubeconfig", "kubeconfig", "wrong key"))
	w.await(t, app, "told which key", func(s State) bool { return strings.Contains(s.Problem.Message, "has no key value") })
	w.setSecret(t, "capi-kubeconfig", "value", "exec: {command: touch}")
	step(ReasonKubeconfigInvalid, "cannot connect to")
	w.setSecret(t, "capi-kubeconfig", "value", l.kubeconfig(t, l.account(t, "follower", mayFollow())))
	w.awaitHealthy(t, app, "1.0.0")
	if c, err := w.fleet.Client(app.Cluster); err != nil || c == nil {
		t.Errorf("no client of a connected cluster: %v", err)
	}

	// A cluster that is no longer ready is not used, and what was seen is kept.
	w.setReady(t, cluster, metav1.ConditionFalse)
	state := w.awaitProblem(t, app, ReasonClusterNotReady)
	want := State{Problem: state.Problem, UnreadableSince: w.clock.Now(), Health: Health{Revision: "1.0.0"}}
	if diff := cmp.Diff(want, state); diff != "" {
		t.Errorf("the state:\n%s", diff)
	}
	l.relay.AwaitConnections(t, 0)
	w.setReady(t, cluster, metav1.ConditionTrue)
	w.awaitHealthy(t, app, "1.0.0")
	remove(t, w.host, cluster)
	w.awaitProblem(t, app, ReasonClusterNotFound)
	l.relay.AwaitConnections(t, 0)
}

func TestPIP05_ATargetWithASecret(t *testing.T) {
	w := newWorld(t)
	l := w.leafAtHome(t)
	deploy(t, l.server, l.namespace, "app", "1.0.0")
	cluster := ClusterKey{Kind: pipelines.ClusterKindTarget, Namespace: w.namespace, Name: "leaf"}
	app := helmReleaseIn(cluster, l.namespace, "app")
	w.fleet.Refer(pipeline("a"), []Application{app})
	w.awaitProblem(t, app, ReasonClusterNotFound)
	object := testkit.Target(w.namespace, "leaf").Secret("access", "config").Build()
	testkit.Create(t, w.host, object)
	w.awaitProblem(t, app, ReasonKubeconfigMissing)
	testkit.Create(t, w.host, secretWith(w.namespace, "access", "config", l.kubeconfig(t, l.account(t, "follower", mayFollow()))))
	w.awaitHealthy(t, app, "1.0.0")
	object.Spec.Type = "example.org/registry"
	if err := w.host.Client().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	w.awaitProblem(t, app, ReasonKubeconfigInvalid)
	l.relay.AwaitConnections(t, 0)
}

func TestPIP05_AnUnknownKindOfClusterIsReported(t *testing.T) {
	w := newWorld(t)
	app := helmReleaseIn(ClusterKey{Kind: "Garden", Namespace: w.namespace, Name: "a"}, "apps", "app")
	w.fleet.Refer(pipeline("a"), []Application{app})
	if state := w.awaitProblem(t, app, ReasonClusterNotFound); !strings.Contains(state.Problem.Message, "GitopsCluster or Target") {
		t.Errorf("the state is %+v", state)
	}
}

func TestPIP02_ARotatedKubeconfigRebuildsTheConnection(t *testing.T) {
	before := goroutines()
	w, first, second := newWorld(t), newLeaf(t), newLeaf(t)
	cluster := w.enrol(t, first, "leaf")
	for _, namespace := range []string{first.namespace, "default"} {
		deploy(t, first.server, namespace, "app", "1.0.0")
	}
	deploy(t, second.server, "default", "app", "2.0.0")
	app, only := helmReleaseIn(cluster, "default", "app"), helmReleaseIn(cluster, first.namespace, "app")
	w.fleet.Refer(pipeline("a"), []Application{app, only})
	w.awaitHealthy(t, app, "1.0.0")

	// A different credential for the same cluster.
	w.setSecret(t, "leaf", "kubeconfig", first.kubeconfig(t, first.account(t, "next", mayFollow())))
	first.relay.AwaitAccepted(t, 2)
	first.relay.AwaitConnections(t, 1)
	first.server.EventuallyWatches(t, "helmreleases", 1)
	deploy(t, first.server, "default", "app", "1.1.0")
	w.awaitHealthy(t, app, "1.1.0")

	// A different cluster. Nothing that was seen in the old one may appear as its state.
	w.setSecret(t, "leaf", "kubeconfig", second.kubeconfig(t, second.account(t, "leaf", mayFollow(), mayReadNamespaces())))
	w.awaitHealthy(t, app, "2.0.0")
	if state := w.awaitProblem(t, only, ReasonNamespaceNotFound); state.Revision != "" || !state.UnreadableSince.IsZero() {
		t.Errorf("the state of another cluster is remembered: %+v", state)
	}
	first.relay.AwaitConnections(t, 0)
	first.server.EventuallyWatches(t, "helmreleases", 0)
	second.server.EventuallyWatches(t, "helmreleases", 1)
	w.fleet.Close()
	second.server.EventuallyWatches(t, "helmreleases", 0)
	second.relay.AwaitConnections(t, 0)
	awaitNoLeak(t, before)
}

func TestPIP02_ARejectedCredentialIsRetriedUntilItIsRenewed(t *testing.T) {
	w := newWorld(t)
	l := w.leafAtHome(t)
	token := l.account(t, "old", mayFollow())
	testkit.Create(t, w.host, secretWith(w.namespace, "leaf", "kubeconfig", l.kubeconfig(t, token)))
	w.gitopsCluster(t, "leaf", leafSpec())
	deploy(t, l.server, l.namespace, "app", "1.0.0")
	app := helmReleaseIn(w.clusterKey("leaf"), l.namespace, "app")
	w.fleet.Refer(pipeline("a"), []Application{app})
	w.awaitHealthy(t, app, "1.0.0")
	w.traffic.AnswerWith(func(request *http.Request) *http.Response {
		if request.Header.Get("Authorization") != "Bearer "+token {
			return nil
		}
		return traffic.Refusal(request, http.StatusUnauthorized, metav1.StatusReasonUnauthorized)
	})
	l.relay.Cut()
	state := w.awaitProblem(t, app, ReasonUnauthorized)
	if state.Revision != "1.0.0" || state.UnreadableSince.IsZero() {
		t.Errorf("the state is %+v", state)
	}
	woken := w.bell.count(pipeline("a"))
	requests := w.traffic.Number("")
	w.traffic.Await(t, "further attempts with the credential", func(tr *traffic.Traffic) bool { return tr.Number("") > requests+10 })
	if after := w.bell.count(pipeline("a")); after != woken {
		t.Errorf("the pipeline is woken %d times although nothing changes", after-woken)
	}
	w.setSecret(t, "leaf", "kubeconfig", l.kubeconfig(t, l.account(t, "renewed", mayFollow())))
	w.awaitHealthy(t, app, "1.0.0")
}

// A Secret that may be read but not watched is read periodically.
func TestPIP02_ASecretThatCannotBeWatchedIsReadAgain(t *testing.T) {
	w := newWorld(t, func(t *timing) { t.recheck = 50 * time.Millisecond })
	l := w.leafAtHome(t)
	deploy(t, l.server, l.namespace, "app", "1.0.0")
	w.fleet.resolver.host = withoutWatches{w.fleet.resolver.host}
	cluster := w.enrol(t, l, "leaf")
	app := helmReleaseIn(cluster, l.namespace, "app")
	w.fleet.Refer(pipeline("a"), []Application{app})
	w.awaitHealthy(t, app, "1.0.0")
	w.setSecret(t, "leaf", "kubeconfig", "nothing of use")
	w.awaitProblem(t, app, ReasonKubeconfigInvalid)
	w.setSecret(t, "leaf", "kubeconfig", l.kubeconfig(t, l.account(t, "renewed", mayFollow())))
	w.awaitHealthy(t, app, "1.0.0")
}

// An unreadable management cluster ends no working connection.
func TestPIP06_AManagementClusterThatFailsKeepsConnections(t *testing.T) {
	w := newWorld(t, func(t *timing) { t.recheck = 20 * time.Millisecond })
	l := w.leafAtHome(t)
	deploy(t, l.server, l.namespace, "app", "1.0.0")
	app := helmReleaseIn(w.enrol(t, l, "leaf"), l.namespace, "app")
	host := &failing{WithWatch: w.fleet.resolver.host}
	w.fleet.resolver.host = host
	w.fleet.Refer(pipeline("a"), []Application{app})
	w.awaitHealthy(t, app, "1.0.0")
	host.fail.Store(true)
	before := host.calls.Load()
	eventually(t, func() bool { return host.calls.Load() > before+3 }, func() string { return "nobody looks again" })
	deploy(t, l.server, l.namespace, "app", "1.1.0")
	w.awaitHealthy(t, app, "1.1.0")
	if accepted := l.relay.Accepted(); accepted != 1 {
		t.Errorf("%d connections were made, want one", accepted)
	}
}

func TestSecretsAreNeverPartOfAProblem(t *testing.T) {
	w := newWorld(t)
	const canary = "CANARY-5b1d"
	testkit.Create(
		t,
		w.host,
		secretWith(
			w.namespace,
			"leaf",
			"kubeconfig",
			"users: [{name: a, user: {token: "+canary+", exec: {command: "+canary+"}}}]\ncurrent-context: "+canary,
		),
	)
	w.gitopsCluster(t, "leaf", gitops.GitopsClusterSpec{SecretRef: &gitops.LocalObjectReference{Name: "leaf"}})
	app := helmReleaseIn(w.clusterKey("leaf"), "apps", "app")
	w.fleet.Refer(pipeline("a"), []Application{app})
	state := w.awaitProblem(t, app, ReasonKubeconfigInvalid)
	if strings.Contains(state.Problem.Message, canary) || state.Problem.Message == "" {
		t.Errorf("the message is %q", state.Problem.Message)
	}
}

func TestEveryReasonHasAConditionOfThePipeline(t *testing.T) {
	for reason, want := range map[Reason]string{
		ReasonClusterNotFound:   "TargetClusterNotFound",
		ReasonClusterNotReady:   "TargetClusterNotReady",
		ReasonUnreachable:       "TargetClusterNotReady",
		ReasonKubeconfigMissing: "TargetClusterNotReady",
		ReasonKubeconfigInvalid: "TargetClusterNotReady",
		ReasonUnauthorized:      "TargetClusterNotReady",
		ReasonStarting:          "TargetNotReadable",
		ReasonForbidden:         "TargetNotReadable",
		ReasonNotFound:          "TargetNotReadable",
		ReasonKindNotServed:     "TargetNotReadable",
	} {
		if got := reason.Condition(); got != want {
			t.Errorf("%s becomes %s, want %s", reason, got, want)
		}
	}
}

// expire makes the next watches fail as if their version were too old.
func (w *world) expire(times int) {
	w.traffic.AnswerWith(func(request *http.Request) *http.Response {
		if times == 0 || !slices.Contains([]string{"true", "1"}, request.URL.Query().Get("watch")) {
			return nil
		}
		times--
		return traffic.Refusal(request, http.StatusGone, metav1.StatusReasonExpired)
	})
}
