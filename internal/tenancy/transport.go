// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"net/http"
	"regexp"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"

	espalier "espalier.dev/api/espalier/v1alpha1"
	gitops "espalier.dev/api/gitops/v1alpha1"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	pipelines "espalier.dev/api/pipelines/v1alpha1"
)

// Transport makes requests for a tenant's work impersonate the tenant. All other requests are sent unchanged.
func (s *Strict) Transport(next http.RoundTripper) http.RoundTripper {
	return transport{strict: s, next: next}
}

type transport struct {
	strict *Strict
	next   http.RoundTripper
}

//espalier:rights tenancy
//	impersonate serviceaccounts: the work of a namespace is done with the rights of one of its service accounts

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	tenant := From(request.Context())
	if tenant == nil || tenant.aside || !isWorkOfTenants(request.Method, request.URL.Path) {
		return t.next.RoundTrip(request)
	}
	if tenant.problem != nil {
		if request.Body != nil {
			_ = request.Body.Close() // a RoundTripper must close the body
		}
		return nil, tenant.problem
	}
	request = request.Clone(request.Context())
	for _, header := range impersonation {
		request.Header.Del(header)
	}
	// The API server adds the groups of a service account, unless the request names others.
	request.Header.Set(impersonation[0], tenant.account.User())
	return t.next.RoundTrip(request)
}

// WrappedRoundTripper gives client-go access to the wrapped transport.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// impersonation are the headers for impersonation, the user first.
var impersonation = []string{"Impersonate-User", "Impersonate-Group", "Impersonate-Uid"}

// pathForm matches a path in a namespace: group, resource, subresource.
var pathForm = regexp.MustCompile(`/(?:api/v1|apis/([^/]+)/[^/]+)/namespaces/[^/]+/([^/]+)(?:/[^/]+)?(?:/([^/]+))?(?:/|$)`)

// ourGroups are the groups of the kinds that Espalier serves or defines.
var ourGroups = []string{lsv1alpha1.GroupName, pipelines.GroupName, gitops.GroupName, espalier.GroupName}

// isWorkOfTenants reports whether a request is work for a tenant, not the controllers' own. For our own kinds, the tenant's work is the
// desired state: creations and changes. Statuses and cascading deletions are the controllers' own.
func isWorkOfTenants(method, path string) bool {
	match := pathForm.FindStringSubmatch(path)
	if match == nil {
		return false
	}
	group, resource, subresource := match[1], match[2], match[3]
	switch {
	case resource == "events", resource == "leases", group == authorizationv1.GroupName:
		return false
	case slices.Contains(ourGroups, group):
		return subresource == "" && slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, method)
	}
	return true
}
