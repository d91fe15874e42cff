// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AccountUser returns the user name of a service account.
func AccountUser(namespace, name string) string {
	return "system:serviceaccount:" + namespace + ":" + name
}

// binding is a RoleBinding, or a ClusterRoleBinding, which has no namespace.
type binding struct {
	namespace string
	role      rbacv1.RoleRef
	subjects  []rbacv1.Subject
}

func bindingOf(object client.Object) (binding, bool) {
	switch b := object.(type) {
	case *rbacv1.RoleBinding:
		return binding{namespace: b.Namespace, role: b.RoleRef, subjects: b.Subjects}, true
	case *rbacv1.ClusterRoleBinding:
		return binding{role: b.RoleRef, subjects: b.Subjects}, true
	default:
		return binding{}, false
	}
}

// awaitRights waits until the API server grants what the bindings among some objects grant. Those of roles that do not exist grant nothing.
func awaitRights(t testing.TB, server *APIServer, objects []client.Object) {
	t.Helper()
	for _, object := range objects {
		b, is := bindingOf(object)
		if !is {
			continue
		}
		rules, err := b.rules(t.Context(), server.Client())
		if err != nil {
			t.Fatalf("read the role of binding %s: %v", object.GetName(), err)
		}
		for _, subject := range b.subjects {
			for _, rule := range rules {
				if asked, ok := b.review(subject, rule); ok {
					awaitGrant(t, server, asked)
				}
			}
		}
	}
}

// awaitGrant polls, because the API server does not report when roles are in force.
func awaitGrant(t testing.TB, server *APIServer, asked authorizationv1.SubjectAccessReviewSpec) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, Patience, true, func(ctx context.Context) (bool, error) {
		review := &authorizationv1.SubjectAccessReview{Spec: asked}
		err := server.Client().Create(ctx, review)
		return review.Status.Allowed, err
	})
	if err != nil {
		t.Fatalf("the API server does not grant this right: %v: %v", &asked, err)
	}
}

func (b binding) rules(ctx context.Context, c client.Client) ([]rbacv1.PolicyRule, error) {
	if b.role.Kind == "ClusterRole" {
		var role rbacv1.ClusterRole
		err := c.Get(ctx, client.ObjectKey{Name: b.role.Name}, &role)
		return role.Rules, client.IgnoreNotFound(err)
	}
	var role rbacv1.Role
	err := c.Get(ctx, client.ObjectKey{Namespace: b.namespace, Name: b.role.Name}, &role)
	return role.Rules, client.IgnoreNotFound(err)
}

// review asks for one of the rights that a rule gives to a subject; there is none if a RoleBinding cannot grant the rule. All rights of a
// rule take effect at once.
func (b binding) review(subject rbacv1.Subject, rule rbacv1.PolicyRule) (authorizationv1.SubjectAccessReviewSpec, bool) {
	var asked authorizationv1.SubjectAccessReviewSpec
	switch subject.Kind {
	case rbacv1.GroupKind:
		asked.Groups = []string{subject.Name}
	case rbacv1.ServiceAccountKind:
		asked.User = AccountUser(subject.Namespace, subject.Name)
	default:
		asked.User = subject.Name
	}
	switch {
	case len(rule.Resources) > 0:
		resource, subresource, _ := strings.Cut(last(rule.Resources), "/")
		asked.ResourceAttributes = &authorizationv1.ResourceAttributes{
			Namespace: b.namespace, Verb: last(rule.Verbs), Group: last(rule.APIGroups),
			Resource: resource, Subresource: subresource, Name: last(rule.ResourceNames),
		}
	case b.namespace == "":
		asked.NonResourceAttributes = &authorizationv1.NonResourceAttributes{Path: last(rule.NonResourceURLs), Verb: last(rule.Verbs)}
	default:
		return asked, false
	}
	return asked, true
}

func last(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1]
}
