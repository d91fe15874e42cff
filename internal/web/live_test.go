// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	gitops "espalier.dev/api/gitops/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/clitest"
	"espalier.dev/internal/web/view"
)

// kubeconfigOf returns the kubeconfig of a test's API server.
func kubeconfigOf(t *testing.T, cluster *testkit.APIServer) string {
	t.Helper()
	text, err := os.ReadFile(cluster.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// deployed stores a deploy item with recorded objects, and a Target that leads to the cluster itself through a Secret.
func deployed(t *testing.T, cluster *testkit.APIServer, namespace string, objects ...string) {
	t.Helper()
	testkit.Create(t, cluster,
		&corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "login"},
			Data:       map[string][]byte{"kubeconfig": []byte(kubeconfigOf(t, cluster))},
		},
		testkit.Target(namespace, "prod").Secret("login", "kubeconfig").Build(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}},
	)
	item := testkit.DeployItem(namespace, "web").Target("prod").Build()
	var managed []string
	for _, name := range objects {
		managed = append(managed, fmt.Sprintf(`{"resource":{"apiVersion":"v1","kind":"ConfigMap","namespace":%q,"name":%q}}`, namespace, name))
	}
	item.Status.ProviderStatus = &runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"a/v1","kind":"ProviderStatus","managedResources":[` + strings.Join(managed, ",") + "]}"),
	}
	clitest.Store(t, cluster, item)
}

func TestLiveObjectsOfADeployItem(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	deployed(t, cluster, namespace, "settings", "lost")
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	all := s.login(t, tokenFor(t, cluster, namespace, looking(), rule("get", "secrets")))
	noSecrets := s.login(t, tokenFor(t, cluster, namespace, looking()))
	nothing := s.login(t, tokenFor(t, cluster, namespace))
	path := "/api/v1/live?name=web&namespace=" + namespace

	var got view.Live
	all.get(path).into(t, &got)
	if len(got.Objects) != 2 || got.Objects[0].Status.Tone != view.Done || got.Objects[1].Status.Word != "Gone" || got.Message != "" {
		t.Errorf("%+v", got)
	}
	var less view.Live
	answer := noSecrets.get(path)
	answer.into(t, &less)
	if len(less.Objects) != 2 || less.Objects[0].Status.Word != "NotChecked" ||
		!strings.Contains(less.Message, "kubectl auth can-i get secrets -n "+namespace) {
		t.Errorf("without the right to read Secrets: %+v", less)
	}
	if answer := nothing.get(path); answer.StatusCode != http.StatusForbidden {
		t.Errorf("without the right to read the item: %s %s", answer.Status, answer.text)
	}
}

func TestLiveOfWhatCannotBeLookedAt(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	deployed(t, cluster, namespace, "settings")
	away := strings.Replace(kubeconfigOf(t, cluster), cluster.Config().Host, "https://127.0.0.1:1", 1)
	testkit.Create(t, cluster, testkit.Target(namespace, "away").Kubeconfig(away).Build())
	far, bare := testkit.DeployItem(namespace, "far").Target("away").Build(), testkit.DeployItem(namespace, "bare").Build()
	far.Status.ProviderStatus = &runtime.RawExtension{
		Raw: []byte(`{"apiVersion":"a/v1","kind":"ProviderStatus","managedResources":[{"apiVersion":"v1","kind":"ConfigMap","name":"x"}]}`),
	}
	clitest.Store(t, cluster, far, bare)
	v := serve(t, cluster, Options{}).local(t)
	for name, want := range map[string]string{"far": "unreachable", "bare": "recorded no objects"} {
		answer := v.get("/api/v1/live?name=" + name + "&namespace=" + namespace)
		var got view.Live
		answer.into(t, &got)
		if !strings.Contains(got.Message, want) || strings.Contains(answer.text, "client-key") {
			t.Errorf("%s: %s", name, answer.text)
		}
	}
}

// checkIn returns what an event says about a target; nil if it was not checked.
func checkIn(t *testing.T, e event, name string) *view.TargetCheck {
	t.Helper()
	var page view.Targets
	if err := json.Unmarshal([]byte(e.data), &page); err != nil {
		t.Fatal(err)
	}
	for _, row := range page.Rows {
		if row.Ref.Name == name {
			return row.Check
		}
	}
	return nil
}

func TestTargetsAreLookedAt(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	deployed(t, cluster, namespace)
	clock := newClock()
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}, Now: clock.now})
	all := s.login(t, tokenFor(t, cluster, namespace, looking(), rule("get", "secrets")))
	less := s.login(t, tokenFor(t, cluster, namespace, looking()))
	his, hers := all.follow("targets"), less.follow("targets")
	if answer := all.post("/api/v1/checks", struct{}{}); answer.StatusCode != http.StatusNoContent {
		t.Fatalf("%s %s", answer.Status, answer.text)
	}
	looked := checkIn(t, his.until(func(e event) bool { return checkIn(t, e, "prod") != nil }), "prod")
	if !looked.Reachable || !strings.HasPrefix(looked.Version, "v1.") || looked.Milliseconds < 1 || looked.Error != "" {
		t.Errorf("%+v", looked)
	}
	if answer := less.post("/api/v1/checks", struct{}{}); answer.StatusCode != http.StatusNoContent {
		t.Fatalf("%s %s", answer.Status, answer.text)
	}
	refused := checkIn(t, hers.until(func(e event) bool { return checkIn(t, e, "prod") != nil }), "prod")
	if refused.Reachable || refused.Version != "" || refused.Expires != nil || !strings.Contains(refused.Error, "get secrets") {
		t.Errorf("who may not read the Secret sees %+v", refused)
	}
	// A check counts for a while.
	if due := s.readerNamed(t, looked).checks.due([]view.Ref{{Kind: "Target", Namespace: namespace, Name: "prod"}}, clock.now()); len(due) != 0 {
		t.Errorf("%v is looked at again at once", due)
	}
	clock.advance(lookPause)
	all.post("/api/v1/checks", struct{}{})
	his.until(func(e event) bool {
		check := checkIn(t, e, "prod")
		return check != nil && check.At.After(looked.At)
	})
}

// A pipeline names a cluster, and readers who may read it and its Secret see whether it is reachable. Others see which right they lack.
func TestGitopsClustersAreLookedAt(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	west := &gitops.GitopsCluster{Spec: gitops.GitopsClusterSpec{SecretRef: &gitops.LocalObjectReference{Name: "west"}}}
	west.Namespace, west.Name = namespace, "west"
	testkit.Create(t, cluster, west, testkit.Pipeline(namespace, "line").EnvironmentOn("west", "prod", "shop").Build(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "west"},
		Data:       map[string][]byte{"kubeconfig": []byte(kubeconfigOf(t, cluster))},
	})
	s := serve(t, cluster, Options{Mode: Cluster, Hosts: []string{"127.0.0.1"}})
	for _, reader := range []struct {
		may  []rbacv1.PolicyRule
		want string
	}{
		{[]rbacv1.PolicyRule{looking(), rule("get", "secrets", "gitopsclusters")}, ""},
		{[]rbacv1.PolicyRule{looking(), rule("get", "gitopsclusters")}, "get secrets in"},
		{[]rbacv1.PolicyRule{looking()}, "get gitopsclusters in"},
	} {
		v := s.login(t, tokenFor(t, cluster, namespace, reader.may...))
		stream := v.follow("targets")
		v.post("/api/v1/checks", struct{}{})
		looked := checkIn(t, stream.until(func(e event) bool { return checkIn(t, e, "west") != nil }), "west")
		if looked.Reachable != (reader.want == "") || !strings.Contains(looked.Error, reader.want) ||
			looked.Reachable == (looked.Expires == nil) {
			t.Errorf("with %+v: %+v", reader.may, looked)
		}
	}
}

// readerNamed returns the reader who has a result.
func (s *site) readerNamed(t *testing.T, result *view.TargetCheck) *reader {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, r := range s.readers {
		r.checks.state.mutex.Lock()
		for _, known := range r.checks.state.results {
			if known != nil && known.Version == result.Version {
				defer r.checks.state.mutex.Unlock()
				return r
			}
		}
		r.checks.state.mutex.Unlock()
	}
	t.Fatal("nobody has this result")
	return nil
}

// The overview reports credentials of a target that expire soon.
func TestTheOverviewShowsCredentialsThatExpire(t *testing.T) {
	cluster := testkit.Server(t)
	namespace := cluster.Namespace(t)
	token := tokenFor(t, cluster, namespace) // It expires within the hour.
	config := cluster.Config()
	testkit.Create(t, cluster, testkit.Target(namespace, "short").Kubeconfig(fmt.Sprintf(
		"{current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {token: %s}}], "+
			"clusters: [{name: c, cluster: {server: %q, certificate-authority-data: %s}}]}", token, config.Host, authorityOf(t, cluster))).Build())
	v := serve(t, cluster, Options{Namespaces: []string{namespace}}).local(t)
	stream := v.follow("overview")
	v.post("/api/v1/checks", struct{}{})
	told := stream.until(func(e event) bool { return strings.Contains(e.data, "token of Target short") })
	if !strings.Contains(told.data, "expires within a day") || strings.Contains(told.data, token) {
		t.Errorf("%s", told.data)
	}
}

// authorityOf returns the CA certificate of a cluster, as in kubeconfigs.
func authorityOf(t *testing.T, cluster *testkit.APIServer) string {
	t.Helper()
	config := cluster.Config()
	if err := rest.LoadTLSFiles(config); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(config.CAData)
}

// Readers of one class who know of the same credentials share an overview. Each has a separate page of targets.
func TestTheOverviewIsSharedByThoseWhoKnowTheSame(t *testing.T) {
	soon, later := time.Now().Add(time.Hour), time.Now().Add(1000*24*time.Hour)
	at := func(name string) view.Ref { return view.Ref{Kind: "Target", Namespace: "n", Name: name} }
	find := func(ends map[string]time.Time) checks {
		c := newChecks()
		var all []view.Ref
		for name := range ends {
			all = append(all, at(name))
		}
		c.due(all, time.Now())
		for name, end := range ends {
			c.put(at(name), &view.TargetCheck{At: time.Now(), Expires: &end, Expiring: "token"})
		}
		return c
	}
	his, hers := find(map[string]time.Time{"a": soon, "b": later}), find(map[string]time.Time{"a": soon, "c": later})
	other, nobody := find(map[string]time.Time{"a": soon.Add(time.Second)}), find(map[string]time.Time{"a": later})
	if key := his.key(viewOverview, "he"); key == "" || key != hers.key(viewOverview, "she") || key == other.key(viewOverview, "it") {
		t.Errorf("%q, %q and %q", key, hers.key(viewOverview, "she"), other.key(viewOverview, "it"))
	}
	if key := nobody.key(viewOverview, "nobody"); key != "" {
		t.Errorf("who knows of nothing that ends soon has an overview %q", key)
	}
	if his.key(viewTargets, "he") != "he" || hers.key(viewTargets, "she") != "she" || newChecks().key(viewTargets, "it") != "" {
		t.Error("the page of targets is shared")
	}
	turned := his.matter(viewOverview)
	his.put(at("a"), &view.TargetCheck{At: time.Now(), Expires: &later})
	select {
	case <-turned:
	default:
		t.Error("nobody is told that a credential was renewed")
	}
	if key := his.key(viewOverview, "he"); key != "" {
		t.Errorf("%q, though nothing ends soon any more", key)
	}
}
