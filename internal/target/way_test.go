// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/traffic"
)

// The names in a kubeconfig are kept, whatever form the content of the Target has; the credential is not.
func TestAWayKeepsNamesAndNoCredential(t *testing.T) {
	w := newWorld(t)
	token := account(t, w.host, w.namespace, "deployer")
	text := kubeconfigFor(t, w.host, "", token)
	original, err := clientcmd.Load([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	current := original.Contexts[original.CurrentContext]
	testkit.Create(t, w.host, secretWith(w.namespace, "access", "kubeconfig", text))
	for name, target := range map[string]*lsv1alpha1.Target{
		"a text":          testkit.Target(w.namespace, "x").Kubeconfig(text).Build(),
		"a Secret":        testkit.Target(w.namespace, "x").Secret("access", "kubeconfig").Build(),
		"all of a Secret": testkit.Target(w.namespace, "x").Secret("access", "").Build(),
	} {
		way, err := w.clusters.WayOf(t.Context(), target)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		made, err := way.WithToken("robot", "another")
		config, loaded := clientcmd.Load([]byte(made))
		if err != nil || loaded != nil || strings.Contains(made, token) {
			t.Fatalf("%s: %v, %v, %s", name, err, loaded, made)
		}
		cluster, was := config.Clusters[current.Cluster], original.Clusters[current.Cluster]
		if config.CurrentContext != original.CurrentContext || config.Contexts[config.CurrentContext].Cluster != current.Cluster ||
			config.Contexts[config.CurrentContext].AuthInfo != "robot" || config.AuthInfos["robot"].Token != "another" ||
			cluster == nil || cluster.Server != was.Server || string(cluster.CertificateAuthorityData) != string(was.CertificateAuthorityData) {
			t.Errorf("%s: the kubeconfig is %s", name, made)
		}
		login, err := way.WithLogin("https://issuer", "me")
		if config, loaded := clientcmd.Load([]byte(login)); err != nil || loaded != nil ||
			config.AuthInfos[current.AuthInfo].Exec.Command != "kubectl" {
			t.Errorf("%s: people log in by %s", name, login)
		}
		if _, err := ParseKubeconfig([]byte(login)); err == nil {
			t.Errorf("%s: a controller would run a command", name)
		}
	}
	self := testkit.Target(w.namespace, "x").Config(lsv1alpha1.KubernetesClusterConfig{
		SelfConfig: &lsv1alpha1.SelfConfig{ServiceAccount: lsv1alpha1.LocalObjectReference{Name: "deployer"}},
	}).Build()
	if _, err := w.clusters.WayOf(t.Context(), self); err == nil || !strings.Contains(err.Error(), "selfConfig") {
		t.Errorf("a Target with selfConfig: %v", err)
	}
}

func TestReplaceCredential(t *testing.T) {
	parts := ordinaryKubeconfig()
	parts.top["users"] = []any{map[string]any{"name": "me", "user": parts.user}}
	text := parts.text(t)
	user, err := OnlyUser(text)
	if err != nil {
		t.Fatal(err)
	}
	replaced, err := ReplaceCredential(text, "fresh")
	if err != nil {
		t.Fatal(err)
	}
	config, err := ParseKubeconfig(replaced)
	if err != nil || config.BearerToken != "fresh" || config.CertData != nil || config.Password != "" {
		t.Errorf("the credential is %+v: %v", config, err)
	}
	if again, err := OnlyUser(replaced); err != nil || again != user {
		t.Errorf("the user is %q, and was %q: %v", again, user, err)
	}
	delete(parts.top, "users")
	_, err = ReplaceCredential(parts.text(t), "fresh")
	if err == nil || !strings.Contains(err.Error(), "kubeconfig.users has 2 entries") || strings.Contains(err.Error(), canary) {
		t.Errorf("two users: %v", err)
	}
	for _, wrong := range []string{"", "{", "a: b", canary} {
		if _, err := OnlyUser([]byte(wrong)); err == nil || strings.Contains(err.Error(), canary) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// Clusters issue what the credential of the Target may request, for names that stay within the path.
func TestWhatClustersIssue(t *testing.T) {
	w := newWorld(t)
	rights := may("serviceaccounts/token", "create")
	rights.ResourceNames = []string{"robot"}
	token := account(t, w.host, w.namespace, "asker", rights)
	testkit.Create(t, w.host, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "robot"}})
	cluster := w.cluster(t, testkit.Target(w.namespace, "x").Kubeconfig(kubeconfigFor(t, w.host, "", token)).Build())
	issued, err := cluster.Token(t.Context(), types.NamespacedName{Namespace: w.namespace, Name: "robot"}, 600)
	if err != nil || !strings.HasPrefix(issued.Value, "ey") || issued.Expires.IsZero() {
		t.Errorf("issued is until %s: %v", issued.Expires, err)
	}
	ask := func(name, namespace string, seconds int64) error {
		_, err := cluster.Token(t.Context(), types.NamespacedName{Namespace: namespace, Name: name}, seconds)
		return err
	}
	for name, test := range map[string]struct {
		err  error
		kind failure.Kind
		want string
	}{
		"forbidden":    {ask("asker", w.namespace, 600), failure.Retryable, "may not request it"},
		"too short":    {ask("robot", w.namespace, 10), failure.Terminal, "cannot get"},
		"a path":       {ask("../../../x", w.namespace, 600), failure.Terminal, "is not a valid object name"},
		"another path": {ask("robot", "a/b", 600), failure.Terminal, "is not a valid namespace name"},
		"a shoot's path": {func() error {
			_, err := cluster.AdminKubeconfig(t.Context(), types.NamespacedName{Namespace: "..", Name: "x"}, 600)
			return err
		}(), failure.Terminal, "is not a valid namespace name"},
	} {
		if test.err == nil || failure.KindOf(test.err) != test.kind || !strings.Contains(test.err.Error(), test.want) {
			t.Errorf("%s: %v", name, test.err)
		}
	}
	w.traffic.AnswerWith(func(request *http.Request) *http.Response {
		if !strings.HasSuffix(request.URL.Path, "/adminkubeconfig") {
			return nil
		}
		return traffic.Refusal(request, http.StatusCreated, "")
	})
	_, err = cluster.AdminKubeconfig(t.Context(), types.NamespacedName{Namespace: "garden", Name: "east"}, 600)
	if err == nil || !strings.Contains(err.Error(), "has no kubeconfig") {
		t.Errorf("an answer without a kubeconfig: %v", err)
	}
}
