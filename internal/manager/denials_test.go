// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager_test

import (
	"net/http"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/managed"
)

// A process that may not list and watch the objects that it needs is not ready, and works once it may.
func TestAMissingRightIsReported(t *testing.T) {
	server := testkit.Server(t)
	system := server.Namespace(t)
	user := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "poor"}}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: system}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list", "watch"}},
	}}
	testkit.Create(t, server, user, role, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: system},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: system},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: system, Name: "poor"}},
	})
	token := &authenticationv1.TokenRequest{}
	if err := server.Client().SubResource("token").Create(t.Context(), user, token); err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(server.Config())
	config.BearerToken = token.Status.Token
	options := managed.Options()
	options.Controllers, options.ProbeAddress = []string{"contexts"}, testkit.FreeAddress(t)
	testkit.Run(t, managed.Manager(t, config, options).Start)
	awaitReadiness(t, options.ProbeAddress, "", http.StatusInternalServerError, "[-]rights failed", "[-]caches failed")
	awaitReadiness(t, options.ProbeAddress, "/rights", http.StatusInternalServerError,
		"docs/reference/rights.md", "contexts.landscaper.gardener.cloud is forbidden", "cannot list")

	role.Rules = append(role.Rules, rbacv1.PolicyRule{
		APIGroups: []string{landscaper.GroupName}, Resources: []string{"contexts"}, Verbs: []string{"get", "list", "watch", "create"},
	})
	if err := server.Client().Update(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, server, &landscaper.Context{ObjectMeta: metav1.ObjectMeta{
		Namespace: server.Namespace(t), Name: landscaper.DefaultContextName,
	}}, testkit.Is("there", func(*landscaper.Context) bool { return true }))
}
