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

// Transport has requests impersonate the tenant whose work they are. All other requests are sent as they are.
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
			_ = request.Body.Close() // as everybody does who is given a request
		}
		return nil, tenant.problem
	}
	request = request.Clone(request.Context())
	for _, header := range impersonation {
		request.Header.Del(header)
	}
	// The API server adds the groups of a service account, unless others are named.
	request.Header.Set(impersonation[0], tenant.account.User())
	return t.next.RoundTrip(request)
}

// WrappedRoundTripper lets client-go find what is below.
func (t transport) WrappedRoundTripper() http.RoundTripper { return t.next }

// impersonation are the headers that say whom a request impersonates, the user first.
var impersonation = []string{"Impersonate-User", "Impersonate-Group", "Impersonate-Uid"}

// pathForm takes a path in a namespace apart: group, resource, subresource.
var pathForm = regexp.MustCompile(`/(?:api/v1|apis/([^/]+)/[^/]+)/namespaces/[^/]+/([^/]+)(?:/[^/]+)?(?:/([^/]+))?(?:/|$)`)

// ourGroups are those of the kinds that Espalier serves or defines.
var ourGroups = []string{lsv1alpha1.GroupName, pipelines.GroupName, gitops.GroupName, espalier.GroupName}

// isWorkOfTenants tells what is done for a tenant from what the controllers do for themselves. Of our own kinds, what is wanted is the
// tenant's: creations and changes. How it is going, and that something goes because what it belongs to goes, is ours.
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
