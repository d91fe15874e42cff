// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
)

// A TargetSync logs in to a foreign cluster, and copies credentials from there.
func TestNoErrorShowsTheCredentialsOfATargetSync(t *testing.T) {
	w := newWorld(t)
	source := w.APIServer.Namespace(t)
	talkative := httptest.NewTLSServer(gossip(false))
	t.Cleanup(talkative.Close)
	copied := canaryOf(90)
	canaries := map[string]string{"a Secret of the source": copied, "the kubeconfig": w.credential()}
	w.Create(&corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: source, Name: "copied"}, StringData: map[string]string{"kubeconfig": "broken: [" + copied},
	})
	sync := &lsv1alpha1.TargetSync{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "sync"},
		Spec: lsv1alpha1.TargetSyncSpec{
			SourceNamespace: source, SecretRef: lsv1alpha1.LocalSecretReference{Name: "source"}, SecretNameExpression: "*",
			TokenRotation: &lsv1alpha1.TokenRotation{Enabled: true},
		},
	}
	w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "source"}}, sync)
	w.fails(sync, "has no key")
	for i, step := range []struct {
		name, want string
		change     func(canary string, cluster, user map[string]any)
	}{
		{"unknown key", "cannot be used", func(canary string, _, user map[string]any) { user[canary] = "x" }},
		{"login in the server", "server", func(canary string, cluster, _ map[string]any) {
			cluster["server"] = "https://me:" + canary + "@localhost"
		}},
		{"token that the source rejects", "provide credentials", func(canary string, _, user map[string]any) { clear(user); user["token"] = canary }},
		{"nothing", "token", func(string, map[string]any, map[string]any) {}},
		{"token that the source quotes", "list the Secrets", func(canary string, cluster, user map[string]any) {
			quotes(talkative, cluster)
			clear(user)
			user["token"] = canary
		}},
	} {
		canaries[step.name] = canaryOf(i)
		kubeconfig := w.kubeconfigWith(func(cluster, user map[string]any) { step.change(canaries[step.name], cluster, user) })
		w.Patch(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: "source"}},
			fmt.Sprintf(`{"stringData":{"kubeconfig":%s}}`, quoted(kubeconfig)))
		w.fails(sync, step.want)
	}
	there := testkit.Is("there", func(*lsv1alpha1.Target) bool { return true })
	testkit.Eventually(t, w.APIServer, testkit.Target(w.Namespace, "copied").Build(), there)
	w.quiet()
	w.wantNone(canaries)
}

// quotes leads a cluster of a kubeconfig to a server that quotes what it gets.
func quotes(server *httptest.Server, cluster map[string]any) {
	clear(cluster)
	cluster["server"], cluster["certificate-authority-data"] = server.URL, authorityOf(server)
}

// fails waits until a TargetSync reports an error that contains a text.
func (w *world) fails(sync *lsv1alpha1.TargetSync, want string) {
	w.Helper()
	testkit.Eventually(w.T, w.APIServer, sync, testkit.Is("failing with "+want, func(ts *lsv1alpha1.TargetSync) bool {
		return slices.ContainsFunc(ts.Status.LastErrors, func(text string) bool { return strings.Contains(text, want) })
	}))
}
