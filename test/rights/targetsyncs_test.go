// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights_test

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/relay"
)

// targetSyncs creates Targets from the Secrets in another namespace, which has another address, and replaces the token for it.
func (s *scene) targetSyncs() {
	source := s.APIServer.Namespace(s.T)
	plain, err := rest.TransportFor(s.Config())
	if err != nil {
		s.Fatal(err)
	}
	front, err := relay.NewFront(s.Config().Host, plain)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(front.Close)
	kubeconfig, err := front.Kubeconfig()
	if err != nil {
		s.Fatal(err)
	}
	original := func(name string) *corev1.Secret {
		meta := metav1.ObjectMeta{Namespace: source, Name: name}
		return &corev1.Secret{ObjectMeta: meta, StringData: map[string]string{"kubeconfig": "of " + name}}
	}
	s.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: source, Name: "front"}}, original("a"), original("b"),
		s.secret("source", "kubeconfig", kubeconfig))
	sync := &lsv1alpha1.TargetSync{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "sync"}, Spec: lsv1alpha1.TargetSyncSpec{
		SourceNamespace: source, SecretRef: lsv1alpha1.LocalSecretReference{Name: "source", Key: "kubeconfig"},
		SecretNameExpression: "*", TokenRotation: &lsv1alpha1.TokenRotation{Enabled: true},
	}}
	s.Create(sync)
	s.copied("a", "of a")
	s.copied("b", "of b")
	testkit.Eventually(s.T, s.APIServer, sync, testkit.Is("rotated", func(ts *lsv1alpha1.TargetSync) bool {
		return ts.Status.LastTokenRotationTime != nil
	}))
	s.Patch(original("a"), `{"stringData":{"kubeconfig":"another"}}`)
	s.copied("a", "another")
	s.Patch(testkit.Target(s.Namespace, "a").Build(), `{"spec":{"secretRef":{"key":"wrong"}}}`)
	testkit.Eventually(s.T, s.APIServer, testkit.Target(s.Namespace, "a").Build(), testkit.Is("set right", func(t *lsv1alpha1.Target) bool {
		return t.Spec.SecretRef.Key == "kubeconfig"
	}))
	s.Delete(original("b"))
	testkit.EventuallyGone(s.T, s.APIServer, testkit.Target(s.Namespace, "b").Build())
	testkit.EventuallyGone(s.T, s.APIServer, s.secret("b", "", ""))
	s.removed(sync)
}

// copied waits until a Secret of the source is copied.
func (s *scene) copied(name, kubeconfig string) {
	s.Helper()
	testkit.Eventually(s.T, s.APIServer, s.secret(name, "", ""), testkit.Is("a copy of "+kubeconfig, func(c *corev1.Secret) bool {
		return string(c.Data["kubeconfig"]) == kubeconfig
	}))
	there := testkit.Is("there", func(*lsv1alpha1.Target) bool { return true })
	testkit.Eventually(s.T, s.APIServer, testkit.Target(s.Namespace, name).Build(), there)
}
