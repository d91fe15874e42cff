// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"espalier.dev/config/rbac"
)

const (
	leaderElection = "espalier-leader-election"
	tenancyRole    = "espalier-tenancy"
)

// accountRights asks whether the account of the controllers may do what their roles say.
func (e *examination) accountRights(ctx context.Context) {
	object := "ServiceAccount " + e.System + "/" + e.Account
	var err error
	e.account, err = e.accountExists(ctx)
	switch {
	case err == nil && !e.account:
		e.add(Unknown, object, "does not exist, so the service account of the controllers is unknown",
			"set it with --system-namespace and --service-account")
		return
	case err != nil:
		e.unknown(object, err)
		return
	}
	roles, err := rbac.All()
	if err != nil {
		e.unknown("the roles of this build", err)
		return
	}
	for _, role := range roles {
		if !e.needs(role) {
			continue
		}
		if !e.roleOf(ctx, object, role) {
			return
		}
	}
}

// accountExists looks for the account of the controllers.
func (e *examination) accountExists(ctx context.Context) (bool, error) {
	err := e.Client.Get(ctx, client.ObjectKey{Namespace: e.System, Name: e.Account}, &corev1.ServiceAccount{})
	return err == nil, client.IgnoreNotFound(err)
}

// needs reports whether the service account of the controllers must have a role.
func (e *examination) needs(role rbac.Role) bool {
	return role.File == rbac.ControllerFile || role.Name == leaderElection || role.Name == tenancyRole && e.argument("--tenancy") == "strict"
}

// roleOf returns false if nothing more can be found out.
func (e *examination) roleOf(ctx context.Context, object string, role rbac.Role) bool {
	namespaces := e.watched()
	if role.Namespaced {
		namespaces = []string{e.System}
	}
	var missing []string
	for _, rule := range role.Rules {
		for _, attributes := range attributesOf(rule.APIGroups[0], rule.Resources, rule.Verbs) {
			allowed, err := e.allowed(ctx, attributes, namespaces)
			if err != nil {
				e.unknown("the rights of "+object, err)
				return false
			}
			if !allowed {
				missing = append(missing, told(attributes))
			}
		}
	}
	if len(missing) > 0 {
		level, remark := Wrong, ""
		if e.argument("--controllers") != "" {
			level, remark = Doubtful, ", which matters if --controllers selects that controller"
		}
		e.add(level, object, fmt.Sprintf("lacks rights of the role %s: %s%s", role.Name, some(missing), remark), bindCommand(e.Subject, role))
	}
	return true
}

func bindCommand(s Subject, role rbac.Role) string {
	if role.Namespaced {
		return fmt.Sprintf("kubectl -n %s create rolebinding %s --role %s --serviceaccount %s:%s", s.System, role.Name, role.Name, s.System, s.Account)
	}
	return fmt.Sprintf("kubectl create clusterrolebinding %s --clusterrole %s --serviceaccount %s:%s", role.Name, role.Name, s.System, s.Account)
}

// watched are the namespaces that the controllers look at; an empty one stands for all.
func (e *examination) watched() []string {
	if list := e.argument("--namespaces"); list != "" {
		return strings.Split(list, ",")
	}
	return []string{""}
}

// argument is the value of a flag of the controllers.
func (e *examination) argument(flag string) string {
	for i, argument := range e.arguments {
		if value, found := strings.CutPrefix(argument, flag+"="); found {
			return value
		}
		if argument == flag && i+1 < len(e.arguments) {
			return e.arguments[i+1]
		}
	}
	return ""
}

// clusterWide are resources that lie in no namespace, or that are read in all of them, among those that controllers need.
var clusterWide = []string{"namespaces", "customresourcedefinitions", "referencegrants", "tokenreviews", "subjectaccessreviews"}

func (e *examination) allowed(ctx context.Context, attributes authorizationv1.ResourceAttributes, namespaces []string) (bool, error) {
	if slices.Contains(clusterWide, attributes.Resource) {
		namespaces = []string{""}
	}
	for _, namespace := range namespaces {
		attributes.Namespace = namespace
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			ResourceAttributes: &attributes, User: "system:serviceaccount:" + e.System + ":" + e.Account,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + e.System, "system:authenticated"},
		}}
		if err := e.Client.Create(ctx, review); err != nil || !review.Status.Allowed {
			return false, err
		}
	}
	return true, nil
}

func attributesOf(group string, resources, verbs []string) []authorizationv1.ResourceAttributes {
	var all []authorizationv1.ResourceAttributes
	for _, resource := range resources {
		name, sub, _ := strings.Cut(resource, "/")
		for _, verb := range verbs {
			all = append(all, authorizationv1.ResourceAttributes{Group: group, Resource: name, Subresource: sub, Verb: verb})
		}
	}
	return all
}

func told(attributes authorizationv1.ResourceAttributes) string {
	text := attributes.Verb + " " + attributes.Resource
	if attributes.Group != "" {
		text += "." + attributes.Group
	}
	if attributes.Subresource != "" {
		text += "/" + attributes.Subresource
	}
	return text
}

// toInstall lists the rights needed to install Espalier. Only those who have a role, or may escalate, can grant it.
var toInstall = slices.Concat(
	attributesOf("apiextensions.k8s.io", []string{"customresourcedefinitions"}, []string{"create", "patch"}),
	attributesOf("", []string{"namespaces", "serviceaccounts", "services"}, []string{"create", "patch"}),
	attributesOf("apps", []string{"deployments"}, []string{"create", "patch"}),
	attributesOf("rbac.authorization.k8s.io", []string{"clusterroles", "roles"}, []string{"create", "patch", "escalate"}),
	attributesOf("rbac.authorization.k8s.io", []string{"clusterrolebindings", "rolebindings"}, []string{"create", "patch"}),
	attributesOf("admissionregistration.k8s.io", []string{"validatingadmissionpolicies", "validatingadmissionpolicybindings"},
		[]string{"create", "patch"}),
)

// ownRights asks whether the user may install Espalier.
func (e *examination) ownRights(ctx context.Context) {
	var missing []string
	for _, attributes := range toInstall {
		review := &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes},
		}
		if err := e.Client.Create(ctx, review); err != nil {
			e.unknown("your rights", err)
			return
		}
		if !review.Status.Allowed {
			missing = append(missing, told(attributes))
		}
	}
	if len(missing) > 0 {
		e.add(Wrong, "your account", "may not do what an installation needs: "+some(missing), "ask an administrator of the cluster to install it")
	}
}
