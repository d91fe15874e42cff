// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package job_test

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/testkit"
)

// visitor is a user who may do what tests allow.
const visitor = "visitor"

// allow lets the visitor read the objects of some resources in a namespace.
func allow(t *testing.T, server *testkit.APIServer, namespace, group string, resources ...string) {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: namespace, Name: "of-" + visitor + "-" + group}
	testkit.Create(t, server,
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			Verbs: []string{"get", "list"}, APIGroups: []string{group}, Resources: resources,
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: visitor}},
		})
}
