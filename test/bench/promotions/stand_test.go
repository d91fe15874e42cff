// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	gitops "espalier.dev/api/gitops/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/measure"
)

const (
	namespace = "bench"  // of everything in the management cluster
	reader    = "reader" // of the applications in a cluster
)

// place is an API server, with a client whose requests are not counted.
type place struct {
	server *testkit.APIServer
	meter  *measure.Meter
	client client.WithWatch
}

func newPlace(t testing.TB) *place {
	t.Helper()
	p := &place{server: testkit.NewServer(t, testkit.ProjectCRDs())}
	p.meter = measure.NewMeter(t, p.server)
	scheme, err := testkit.Scheme()
	check(t, err)
	p.client, err = client.NewWithWatch(p.meter.Config(), client.Options{Scheme: scheme})
	check(t, err)
	return p
}

// stand is a management cluster with clusters that share a few API servers. Controllers are started by run.
type stand struct {
	testing.TB
	clusters int
	host     *place
	leaves   []*place
	journal  *journal

	receiver *httptest.Server // plays notification-controller
	received atomic.Int64

	controllers *measure.Controllers
	revisions   int // that were deployed so far
}

func newStand(t testing.TB, clusters, servers int) *stand {
	t.Helper()
	s := &stand{TB: t, clusters: clusters, host: newPlace(t)}
	for range servers {
		leaf := newPlace(t)
		leaf.server.InstallCRD(t, testkit.FluxKinds(t)...)
		s.leaves = append(s.leaves, leaf)
	}
	s.receiver = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.received.Add(1)
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(s.receiver.Close)
	check(t, s.host.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	s.createAlert()
	s.each(clusters, s.enrol)
	s.journal = newJournal(t, s.host.client)
	return s
}

// createAlert creates the Alert with which notification-controller forwards events of pipelines.
func (s *stand) createAlert() {
	s.Helper()
	s.host.server.InstallCRD(s, testkit.FluxAlerts())
	alert := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "notification.toolkit.fluxcd.io/v1beta3", "kind": "Alert",
		"spec": map[string]any{"eventSources": []any{map[string]any{"kind": "Pipeline", "name": "*"}}},
	}}
	alert.SetNamespace(namespace)
	alert.SetName("promotions")
	check(s, s.host.client.Create(s.Context(), alert))
}

func (s *stand) leafOf(cluster int) *place { return s.leaves[cluster%len(s.leaves)] }

// clusterName is the name of the GitopsCluster, and of the namespace that plays the cluster.
func clusterName(cluster int) string { return fmt.Sprintf("cluster-%02d", cluster) }

// enrol creates a cluster: a namespace of a leaf, a credential for it, and a ready GitopsCluster.
func (s *stand) enrol(ctx context.Context, cluster int) error {
	name, leaf := clusterName(cluster), s.leafOf(cluster)
	user := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: reader}}
	role := &rbacv1.Role{ObjectMeta: user.ObjectMeta, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io"},
		Resources: []string{"*"},
		Verbs:     []string{"get", "list", "watch"},
	}}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: user.ObjectMeta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: reader},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: name, Name: reader}},
	}
	for _, object := range []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, user, role, binding} {
		if err := leaf.client.Create(ctx, object); err != nil {
			return err
		}
	}
	token := &authenticationv1.TokenRequest{}
	if err := leaf.client.SubResource("token").Create(ctx, user, token); err != nil {
		return err
	}
	return s.announce(ctx, name, leaf.kubeconfig(token.Status.Token))
}

func (s *stand) announce(ctx context.Context, name string, kubeconfig []byte) error {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	if err := s.host.client.Create(ctx, &corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"kubeconfig": kubeconfig}}); err != nil {
		return err
	}
	object := &gitops.GitopsCluster{ObjectMeta: meta, Spec: gitops.GitopsClusterSpec{SecretRef: &gitops.LocalObjectReference{Name: name}}}
	if err := s.host.client.Create(ctx, object); err != nil {
		return err
	}
	object.Status.Conditions = []metav1.Condition{{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Measured", LastTransitionTime: metav1.Now(),
	}}
	return s.host.client.Status().Update(ctx, object)
}

func (p *place) kubeconfig(token string) []byte {
	config := p.server.Config()
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "main",
		"contexts": []any{map[string]any{"name": "main", "context": map[string]any{"cluster": "leaf", "user": reader}}},
		"clusters": []any{map[string]any{"name": "leaf", "cluster": map[string]any{
			"server": config.Host, "certificate-authority-data": base64.StdEncoding.EncodeToString(config.CAData),
		}}},
		"users": []any{map[string]any{"name": reader, "user": map[string]any{"token": token}}},
	})
	if err != nil {
		panic(err) // the value can always be encoded
	}
	return text
}

// run starts the controller of pipelines.
func (s *stand) run() {
	s.Helper()
	s.controllers = measure.StartControllers(
		s,
		s.host.server.Kubeconfig(),
		"--controllers=pipelines",
		"--approval-address=0",
		"--events-address",
		s.receiver.URL,
	)
}

// traffic is the requests of the controllers to API servers.
type traffic struct{ host, leaves measure.Requests }

func (t traffic) minus(earlier traffic) traffic {
	return traffic{host: t.host.Minus(earlier.host), leaves: t.leaves.Minus(earlier.leaves)}
}

func (t traffic) total() int { return t.host.Total() + t.leaves.Total() }

func (t traffic) writes() int { return t.host.Writes() + t.leaves.Writes() }

func (t traffic) String() string {
	return fmt.Sprintf("at the management cluster:\n%s\nat the leaves:\n%s", t.host, t.leaves)
}

func (s *stand) served() traffic {
	s.Helper()
	sum := measure.Requests{}
	for _, leaf := range s.leaves {
		for what, count := range leaf.meter.Requests(s) {
			sum[what] += count
		}
	}
	return traffic{host: s.host.meter.Requests(s), leaves: sum}
}

// watches returns how many watches the controllers have at the leaves, where nobody else watches these kinds.
func (s *stand) watches() int {
	s.Helper()
	sum := 0
	for _, leaf := range s.leaves {
		sum += leaf.server.Watches(s, "helmreleases") + leaf.server.Watches(s, "kustomizations")
	}
	return sum
}

// settle returns after a second without a request: events are sent in the background.
func (s *stand) settle() {
	s.Helper()
	before := s.served()
	for {
		s.pass(time.Second)
		now := s.served()
		if now.minus(before).total() == 0 {
			return
		}
		before = now
	}
}

// idle returns the traffic while nothing happens.
func (s *stand) idle(length time.Duration) (traffic, measure.Usage) {
	s.Helper()
	before, used := s.served(), s.controllers.Usage(s)
	s.pass(length)
	return s.served().minus(before), s.controllers.Usage(s).Minus(used)
}

// pass lets time pass, which is part of the measurement.
func (s *stand) pass(length time.Duration) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), length)
	defer cancel()
	<-ctx.Done()
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
