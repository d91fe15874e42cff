// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"encoding/base64"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/traffic"
)

// world is a host with Targets, and all traffic from it.
type world struct {
	host      *testkit.APIServer
	namespace string
	clock     *clocktesting.FakePassiveClock
	traffic   *traffic.Traffic
	clusters  *Clusters
}

// newWorld returns a world whose watches recover quickly. Its clock stands still until a test moves it.
func newWorld(t *testing.T, change ...func(*Options)) *world {
	t.Helper()
	w := &world{host: testkit.Server(t), clock: clocktesting.NewFakePassiveClock(time.Now()), traffic: traffic.New()}
	w.namespace = w.host.Namespace(t)
	options := Options{
		Host:          w.host.Client(),
		HostConfig:    w.host.Config(),
		Clock:         w.clock,
		Dialer:        dial.Rules{AllowLoopback: true},
		WrapTransport: w.traffic.Wrap,
	}
	for _, f := range change {
		f(&options)
	}
	w.clusters = NewClusters(options)
	w.clusters.timing.pause = func(int) time.Duration { return 10 * time.Millisecond }
	t.Cleanup(w.clusters.Close)
	return w
}

func (w *world) advance(by time.Duration) { w.clock.SetTime(w.clock.Now().Add(by)) }

// cluster returns the cluster of a Target.
func (w *world) cluster(t *testing.T, target *lsv1alpha1.Target) *Cluster {
	t.Helper()
	cluster, err := w.clusters.For(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return cluster
}

// account creates a service account with the given rights in its namespace, and returns a token for it.
func account(t *testing.T, server *testkit.APIServer, namespace, name string, rules ...rbacv1.PolicyRule) string {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	user := &corev1.ServiceAccount{ObjectMeta: meta}
	testkit.Create(t, server, user, &rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: name}},
	})
	request := &authenticationv1.TokenRequest{}
	if err := server.Client().SubResource("token").Create(t.Context(), user, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func may(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
}

// kubeconfigFor returns a kubeconfig with a token for a server, with the given address or, if that is empty, the server's
// own.
func kubeconfigFor(t *testing.T, server *testkit.APIServer, address, token string) string {
	t.Helper()
	parts := ordinaryKubeconfig()
	config := server.Config()
	parts.cluster["server"] = config.Host
	if address != "" {
		parts.cluster["server"] = "https://" + address
	}
	authority := config.CAData
	parts.cluster["certificate-authority-data"] = base64.StdEncoding.EncodeToString(authority)
	parts.user["token"] = token
	return string(parts.text(t))
}

func secretWith(namespace, name, key, value string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{key: []byte(value)}}
}

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
