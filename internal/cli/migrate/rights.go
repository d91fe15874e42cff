// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"

	pipelines "espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/cli"
)

// right is one verb for one resource, in a namespace or in all.
type right struct{ group, resource, verb, namespace string }

func (r right) String() string {
	text := r.verb + " " + r.resource
	if r.group != "" {
		text += "." + r.group
	}
	if r.namespace != "" {
		text += " in namespace " + r.namespace
	}
	return text
}

const (
	appsGroup       = "apps"
	admissionGroup  = "admissionregistration.k8s.io"
	extensionsGroup = "apiextensions.k8s.io"
	crdResource     = "customresourcedefinitions"
	deployResource  = "deployments"
	configResource  = "configmaps"
)

var webhookResources = []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"}

// needed lists the rights that the command needs. Each is checked before anything is done, so that it does not stop half-way.
func (m *migration) needed() []right {
	rights := []right{
		{extensionsGroup, crdResource, "list", ""}, {appsGroup, deployResource, "list", ""}, {"", configResource, "get", ""},
		{admissionGroup, webhookResources[0], "list", ""}, {admissionGroup, webhookResources[1], "list", ""},
	}
	for _, definition := range m.own {
		if m.system.owns(definition.Spec.Group) {
			rights = append(rights, right{definition.Spec.Group, definition.Spec.Names.Plural, "list", ""})
		}
	}
	if m.dryRun {
		return sorted(rights)
	}
	rights = append(rights, right{appsGroup, deployResource, "patch", ""}, right{appsGroup, deployResource, "get", ""},
		right{"", "pods", "list", ""}, right{extensionsGroup, crdResource, "get", ""})
	if m.back {
		rights = append(rights, right{extensionsGroup, crdResource, "update", ""}, right{extensionsGroup, crdResource, "create", ""},
			right{"", configResource, "delete", m.home})
		if m.system.finalizer != "" {
			rights = append(rights, right{pipelines.GroupName, "pipelines", "patch", ""})
		}
		return sorted(append(rights, m.webhookRights("create")...))
	}
	rights = append(rights, right{extensionsGroup, crdResource, "create", ""}, right{extensionsGroup, crdResource, "patch", ""},
		right{extensionsGroup, crdResource, "watch", ""},
		right{"", configResource, "create", m.home}, right{"", configResource, "update", m.home},
		right{"", "namespaces", "get", ""}, right{"", "namespaces", "create", ""})
	return sorted(append(rights, m.webhookRights("delete")...))
}

func (m *migration) webhookRights(verb string) []right {
	var rights []right
	for _, resource := range webhookResources {
		rights = append(rights, right{admissionGroup, resource, verb, ""})
	}
	return rights
}

func sorted(rights []right) []right {
	slices.SortFunc(rights, func(a, b right) int { return strings.Compare(a.String(), b.String()) })
	return rights
}

// checkRights names all rights that are missing.
func (m *migration) checkRights(ctx context.Context) error {
	var missing []string
	for _, r := range m.needed() {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{Group: r.group, Resource: r.resource, Verb: r.verb, Namespace: r.namespace},
		}}
		if err := m.client.Create(ctx, review); err != nil {
			return m.access.Explain(err, "ask for your rights", "")
		}
		if !review.Status.Allowed {
			missing = append(missing, r.String())
		}
	}
	if len(missing) == 0 {
		return nil
	}
	next := []string{"ask an administrator of the cluster to run the command"}
	if !m.dryRun {
		next = append(next, "or check with fewer rights: --dry-run")
	}
	return &cli.Problem{
		Code: cli.ExitNotFound, What: fmt.Sprintf("you lack rights that the migration needs: %s", strings.Join(missing, "; ")),
		Where: m.access.Where(""), Next: next,
	}
}
