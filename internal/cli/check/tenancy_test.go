// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"espalier.dev/internal/cli/check"
)

// With --tenancy=strict the controllers need the right to impersonate, and without it they do not.
func TestStrictTenancyNeedsARoleMore(t *testing.T) {
	e := newEstate(t)
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "espalier-tenancy"}}
	if err := e.server.Client().Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	if _, report := e.check(t); len(report.Findings) > 0 {
		t.Errorf("found %+v", report.Findings)
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "espalier-controller"}}
	change(e, deployment, func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Args = []string{"--tenancy=strict"} })
	e.eventually(t, "lack of the role", func(found []check.Finding) bool {
		return len(found) == 1 && found[0].Level == check.Wrong && strings.Contains(found[0].Message, "espalier-tenancy: impersonate serviceaccounts") &&
			strings.Contains(found[0].Next[0], "kubectl create clusterrolebinding espalier-tenancy --clusterrole espalier-tenancy")
	})
}
