// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// ReasonRightMissing is for work that the service account of a namespace may not do.
const ReasonRightMissing = "RightMissing"

// The roles for service accounts of tenants.
const (
	RoleTenant           = "espalier-tenant"
	RoleTenantContainers = "espalier-tenant-containers"
)

// Missing is a right that a service account lacks.
type Missing struct {
	Account  Account
	Verb     string
	Resource schema.GroupResource
	// Namespace is where the right is missing; empty for the whole cluster.
	Namespace string
}

// Error names the right and how to grant it.
func (m *Missing) Error() string {
	where := "at the cluster scope"
	if m.Namespace != "" {
		where = "in namespace " + m.Namespace
	}
	return fmt.Sprintf("the service account %s may not %s %s %s, and with --tenancy=strict the controllers act for this namespace as "+
		"this service account. They retry with backoff. To grant the right, %s", m.Account, m.Verb, m.Resource, where, m.remedy())
}

// remedy describes how to grant the right.
func (m *Missing) remedy() string {
	if role := m.role(); role != "" {
		return fmt.Sprintf("run: kubectl create rolebinding %s --clusterrole=%s --serviceaccount=%s:%s --namespace=%s",
			role, role, m.Account.Namespace, m.Account.Name, m.Namespace)
	}
	if m.Namespace == "" {
		return fmt.Sprintf("bind a ClusterRole with the verb %s on %s to the service account with a ClusterRoleBinding", m.Verb, m.Resource)
	}
	return fmt.Sprintf("bind a Role of namespace %s with the verb %s on %s to the service account", m.Namespace, m.Verb, m.Resource)
}

// role returns the predefined role that has the right; empty if none has it.
func (m *Missing) role() string {
	if m.Namespace != m.Account.Namespace {
		return ""
	}
	core := m.Resource.Group == ""
	switch {
	case m.Resource.Group == lsv1alpha1.GroupName,
		core && m.Resource.Resource == "secrets" && slices.Contains([]string{"get", "list", "create", "update", "patch", "delete"}, m.Verb),
		core && m.Resource.Resource == "configmaps" && m.Verb == "get":
		return RoleTenant
	case core && m.Resource.Resource == "pods" && m.Verb == "create":
		return RoleTenantContainers
	}
	return ""
}

// err returns an error with the given text. It is retried, because a right may be granted at any time.
func (m *Missing) err(text string) error {
	return failure.NewRetryable(failure.Details{
		Operation: "UseServiceAccount", Reason: ReasonRightMissing, Codes: []string{string(lsv1alpha1.ErrorUnauthorized)},
	}, &explained{text: text, cause: m})
}

// explained is an error with another text.
type explained struct {
	text  string
	cause error
}

func (e *explained) Error() string { return e.text }
func (e *explained) Unwrap() error { return e.cause }

// denial matches a denial by the authorizer of an API server.
var denial = regexp.MustCompile(
	`User "([^"]+)" cannot ([a-z]+) resource "([^"]+)" in API group "([^"]*)"(?: in the namespace "([^"]+)")?`,
)

// Explain adds the missing right and how to grant it to an error of a tenant's work, if that is the cause. All other errors, and those
// in shared tenancy, are returned unchanged.
func Explain(ctx context.Context, err error) error {
	tenant := From(ctx)
	if tenant == nil || err == nil {
		return err
	}
	if tenant.problem != nil && errors.Is(err, tenant.problem) {
		return tenant.problem // without the request that was never sent
	}
	status := apierrors.APIStatus(nil)
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) || failure.KindOf(err) == failure.Terminal {
		return err
	}
	said := status.Status().Message
	missing := tenant.missingIn(said)
	switch {
	case missing == nil:
		return err
	case missing.Verb == "impersonate":
		return failure.NewRetryable(failure.Details{Operation: "UseServiceAccount", Reason: ReasonRightMissing}, fmt.Errorf(
			"%w. The controllers run with --tenancy=strict, but may not impersonate service accounts: "+
				"bind the ClusterRole espalier-tenancy to their service account", err))
	case strings.Contains(err.Error(), said):
		return missing.err(strings.ReplaceAll(err.Error(), said, missing.Error()))
	}
	return missing.err(err.Error() + ": " + missing.Error())
}

// Barred reports whether something failed because the tenant lacks a right, or because the tenant is unknown.
func Barred(ctx context.Context, err error) bool {
	tenant := From(ctx)
	return tenant != nil && (apierrors.IsForbidden(err) || tenant.problem != nil && errors.Is(err, tenant.problem))
}

// missingIn returns the missing right according to a response of the API server: one of the tenant's service account, or that to
// impersonate it.
func (t *Tenant) missingIn(said string) *Missing {
	match := denial.FindStringSubmatch(said)
	if match == nil || match[1] != t.account.User() && match[2] != "impersonate" {
		return nil
	}
	return &Missing{
		Account: t.account, Verb: match[2], Namespace: match[5],
		Resource: schema.GroupResource{Group: match[4], Resource: match[3]},
	}
}
