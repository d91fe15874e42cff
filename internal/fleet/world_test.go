// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/base64"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	gitops "espalier.dev/api/gitops/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/target"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/relay"
	"espalier.dev/internal/testkit/traffic"
)

var (
	helmReleaseGVK   = schema.GroupVersionKind{Group: helmGroup, Version: "v2", Kind: helmReleaseKind}
	kustomizationGVK = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}
)

// world is a management cluster with a fleet that recovers quickly.
type world struct {
	host      *testkit.APIServer
	namespace string
	clusters  *target.Clusters
	fleet     *Fleet
	bell      *bell
	clock     *clocktesting.FakePassiveClock // of the fleet; it stands still until a test moves it
	traffic   *traffic.Traffic
}

func newWorld(t testing.TB, change ...func(*timing)) *world {
	t.Helper()
	w := &world{host: testkit.Server(t), bell: newBell(), clock: clocktesting.NewFakePassiveClock(time.Now()), traffic: traffic.New()}
	w.namespace = w.host.Namespace(t)
	w.clusters = target.NewClusters(target.Options{
		Host:          w.host.Client(),
		HostConfig:    w.host.Config(),
		Dialer:        dial.Rules{AllowLoopback: true},
		WrapTransport: w.traffic.Wrap,
		FewKinds:      true,
	})
	t.Cleanup(w.clusters.Close)
	var err error
	w.fleet, err = New(Options{Config: w.host.Config(), Clusters: w.clusters, Clock: w.clock})
	if err != nil {
		t.Fatal(err)
	}
	w.fleet.timing.pause = func(int) time.Duration { return 20 * time.Millisecond }
	w.fleet.timing.stable = 0
	w.fleet.timing.absence = 50 * time.Millisecond
	for _, f := range change {
		f(&w.fleet.timing)
	}
	w.fleet.OnChange(w.bell.ring)
	t.Cleanup(w.fleet.Close)
	return w
}

// bell counts the wake-ups of each pipeline.
type bell struct {
	mutex   sync.Mutex
	rung    map[types.NamespacedName]int
	changed chan struct{}
}

func newBell() *bell {
	return &bell{rung: map[types.NamespacedName]int{}, changed: make(chan struct{})}
}

func (b *bell) ring(pipeline types.NamespacedName) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.rung[pipeline]++
	close(b.changed)
	b.changed = make(chan struct{})
}

func (b *bell) count(pipeline types.NamespacedName) int {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.rung[pipeline]
}

// next returns a channel that is closed at the next wake-up.
func (b *bell) next() <-chan struct{} {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.changed
}

// await waits for a state of an application. It checks only after wake-ups, so it hangs if a change is not reported.
func (w *world) await(t testing.TB, application Application, what string, holds func(State) bool) State {
	t.Helper()
	limit := time.NewTimer(testkit.Patience)
	defer limit.Stop()
	for {
		next := w.bell.next()
		state := w.fleet.Read(application)
		if holds(state) {
			return state
		}
		select {
		case <-next:
		case <-limit.C:
			t.Fatalf("waited in vain for %s to be %s; it is %+v", application, what, state)
		}
	}
}

func (w *world) awaitHealthy(t testing.TB, application Application, revision string) State {
	t.Helper()
	return w.await(t, application, "healthy at "+revision, func(s State) bool { return s.Known() && s.Healthy && s.Revision == revision })
}

func (w *world) awaitProblem(t testing.TB, application Application, reason Reason) State {
	t.Helper()
	return w.await(t, application, "unreadable with "+string(reason), func(s State) bool { return s.Problem.Reason == reason })
}

func pipeline(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "pipelines", Name: name}
}

// leaf is a cluster with applications, reached through a relay.
type leaf struct {
	server    *testkit.APIServer
	namespace string
	relay     *relay.Relay
	clientset *kubernetes.Clientset
}

// newLeaf starts a separate control plane that serves the kinds of Flux.
func newLeaf(t testing.TB) *leaf {
	t.Helper()
	l := newBareLeaf(t)
	l.server.InstallCRD(t, testkit.FluxKinds(t)...)
	return l
}

// leafAtHome uses the management cluster as the leaf, where sharing the control plane does not matter. It is still reached through a relay
// and with a separate credential.
func (w *world) leafAtHome(t testing.TB) *leaf {
	t.Helper()
	w.host.InstallCRD(t, testkit.FluxKinds(t)...)
	return leafOf(t, w.host)
}

func newBareLeaf(t testing.TB, options ...testkit.Option) *leaf {
	t.Helper()
	return leafOf(t, testkit.NewServer(t, options...))
}

func leafOf(t testing.TB, server *testkit.APIServer) *leaf {
	t.Helper()
	clientset, err := kubernetes.NewForConfig(server.Config())
	if err != nil {
		t.Fatal(err)
	}
	return &leaf{server: server, namespace: server.Namespace(t), relay: relay.New(t, server.Config().Host), clientset: clientset}
}

// eventually polls for what cannot be watched.
func eventually(t testing.TB, holds func() bool, complaint func() string) {
	t.Helper()
	limit := time.NewTimer(testkit.Patience)
	defer limit.Stop()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for !holds() {
		select {
		case <-again.C:
		case <-limit.C:
			t.Fatal(complaint())
		}
	}
}

// account creates a user of the leaf with rules for all namespaces, and returns a token.
func (l *leaf) account(t testing.TB, name string, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	user := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: name}}
	testkit.Create(t, l.server, user)
	if len(rules) > 0 {
		l.grant(t, name, rules...)
	}
	request := &authenticationv1.TokenRequest{}
	if err := l.server.Client().SubResource("token").Create(t.Context(), user, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func (l *leaf) grant(t testing.TB, name string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: l.namespace + "-" + name}
	testkit.Create(t, l.server, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules}, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: l.namespace, Name: name}},
	})
}

func (l *leaf) grantIn(t testing.TB, namespace, name string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	testkit.Create(t, l.server, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: l.namespace, Name: name}},
	})
}

func clusterRole(l *leaf, name string) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: l.namespace + "-" + name}}
}

func clusterRoleBinding(l *leaf, name string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: l.namespace + "-" + name}}
}

func mayReadNamespaces() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}}
}

func leafSpec() gitops.GitopsClusterSpec {
	return gitops.GitopsClusterSpec{SecretRef: &gitops.LocalObjectReference{Name: "leaf"}}
}

// mayFollow grants the right to follow the kinds of the tests.
func mayFollow() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		APIGroups: []string{helmReleaseGVK.Group, kustomizationGVK.Group},
		Resources: []string{"helmreleases", "kustomizations"},
		Verbs:     []string{"get", "list", "watch"},
	}
}

// kubeconfig returns a kubeconfig for the leaf through its relay.
func (l *leaf) kubeconfig(t testing.TB, token string) string {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "main",
		"contexts": []any{map[string]any{"name": "main", "context": map[string]any{"cluster": "leaf", "user": "follower"}}},
		"clusters": []any{map[string]any{"name": "leaf", "cluster": map[string]any{
			"server": "https://" + l.relay.Address(), "certificate-authority-data": base64.StdEncoding.EncodeToString(l.server.Config().CAData),
		}}},
		"users": []any{map[string]any{"name": "follower", "user": map[string]any{"token": token}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// enrol creates a GitopsCluster for the leaf with the usual rights, and returns the key that pipelines use.
func (w *world) enrol(t testing.TB, l *leaf, name string) ClusterKey {
	t.Helper()
	testkit.Create(
		t,
		w.host,
		secretWith(w.namespace, name, "kubeconfig", l.kubeconfig(t, l.account(t, name, mayFollow(), mayReadNamespaces()))),
	)
	w.gitopsCluster(t, name, gitops.GitopsClusterSpec{SecretRef: &gitops.LocalObjectReference{Name: name}})
	return w.clusterKey(name)
}

func (w *world) clusterKey(name string) ClusterKey {
	return ClusterKey{Kind: pipelines.ClusterKindGitopsCluster, Namespace: w.namespace, Name: name}
}

// gitopsCluster creates a ready GitopsCluster.
func (w *world) gitopsCluster(t testing.TB, name string, spec gitops.GitopsClusterSpec) *gitops.GitopsCluster {
	t.Helper()
	cluster := &gitops.GitopsCluster{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name}, Spec: spec}
	testkit.Create(t, w.host, cluster)
	w.setReady(t, cluster, metav1.ConditionTrue)
	return cluster
}

func (w *world) setReady(t testing.TB, cluster *gitops.GitopsCluster, status metav1.ConditionStatus) {
	t.Helper()
	cluster.Status.Conditions = []metav1.Condition{{
		Type:               "Ready",
		Status:             status,
		Reason:             "Tested",
		Message:            "as the test says",
		LastTransitionTime: metav1.Now(),
	}}
	if err := w.host.Client().Status().Update(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
}

func secretWith(namespace, name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{key: []byte(value)}}
}

func (w *world) setSecret(t testing.TB, name, key, value string) {
	t.Helper()
	if err := w.host.Client().Update(t.Context(), secretWith(w.namespace, name, key, value)); err != nil {
		t.Fatal(err)
	}
}

func helmReleaseIn(cluster ClusterKey, namespace, name string) Application {
	return Application{Cluster: cluster, GVK: helmReleaseGVK, Namespace: namespace, Name: name}
}

// deploy creates or updates a HelmRelease that is healthy at a revision.
func deploy(t testing.TB, server *testkit.APIServer, namespace, name, revision string) {
	t.Helper()
	object := emptyHelmRelease(namespace, name)
	err := server.Client().Get(t.Context(), client.ObjectKeyFromObject(object), object)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err != nil {
		testkit.Create(t, server, object)
	}
	object.Object["status"] = map[string]any{
		"observedGeneration": object.GetGeneration(),
		"conditions":         []any{map[string]any{"type": "Ready", "status": "True", "observedGeneration": object.GetGeneration()}},
		"history":            []any{map[string]any{"chartVersion": revision, "status": "deployed"}},
	}
	if err := server.Client().Status().Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func emptyHelmRelease(namespace, name string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(helmReleaseGVK)
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

func remove(t testing.TB, server *testkit.APIServer, object client.Object) {
	t.Helper()
	if err := server.Client().Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}
