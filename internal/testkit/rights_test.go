// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit_test

import (
	"fmt"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/internal/testkit"
)

// granting returns a role and a binding to it, in a namespace or, for "", in all of them.
func granting(namespace, name string, subject rbacv1.Subject, rules ...rbacv1.PolicyRule) (role, binding client.Object) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	reference := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Name: name}
	if namespace == "" {
		reference.Kind = "ClusterRole"
		return &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules},
			&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: reference, Subjects: []rbacv1.Subject{subject}}
	}
	reference.Kind = "Role"
	return &rbacv1.Role{ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: reference, Subjects: []rbacv1.Subject{subject}}
}

func mayReadConfigMaps(verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: verbs}
}

// Without waiting, about one of twenty users does not have the right yet, so there are many of them.
func TestRolesAreInForceWhenTheyHaveBeenCreated(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	for i := range 50 {
		user := fmt.Sprint("user-", i)
		role, binding := granting(namespace, user, rbacv1.Subject{Kind: rbacv1.UserKind, Name: user}, mayReadConfigMaps("get"))
		testkit.Create(t, server, binding, role)
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Resource: "configmaps", Namespace: namespace},
		}}
		if err := server.Client().Create(t.Context(), review); err != nil || !review.Status.Allowed {
			t.Errorf("user %d may not: %v", i, err)
		}
	}
}

func TestAllKindsOfSubjectsAndRulesAreAwaited(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	rules := map[string]rbacv1.PolicyRule{
		"everything":   {APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		"certain":      {APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"a", "b"}, Verbs: []string{"get", "list"}},
		"subresources": {APIGroups: []string{"apps"}, Resources: []string{"deployments", "deployments/scale"}, Verbs: []string{"patch"}},
		"any-scale":    {APIGroups: []string{"apps"}, Resources: []string{"*/scale"}, Verbs: []string{"patch"}},
		"paths":        {NonResourceURLs: []string{"/metrics", "/debug/*"}, Verbs: []string{"get"}},
	}
	subjects := map[string]rbacv1.Subject{
		"user":    {Kind: rbacv1.UserKind, Name: "somebody"},
		"group":   {Kind: rbacv1.GroupKind, Name: "some"},
		"account": {Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "robot"},
	}
	for what, rule := range rules {
		for who, subject := range subjects {
			subject.Name += "-" + what // Nobody else's right may stand in for it.
			role, binding := granting("", namespace+"-"+what+"-"+who, subject, rule)
			testkit.Create(t, server, role, binding)
			if len(rule.Resources) > 0 {
				role, binding = granting(namespace, what+"-"+who, subject, rule)
				testkit.Create(t, server, role, binding)
			}
		}
	}
}

func TestNothingIsAwaitedOfWhatCannotBeGranted(t *testing.T) {
	server := testkit.Server(t)
	namespace := server.Namespace(t)
	user := rbacv1.Subject{Kind: rbacv1.UserKind, Name: "somebody"}
	_, early := granting(namespace, "early", user)
	testkit.Create(t, server, early)
	paths, _ := granting("", namespace+"-paths", user, rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}})
	testkit.Create(t, server, paths, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "paths"}, Subjects: []rbacv1.Subject{user},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: paths.GetName()},
	})
}
