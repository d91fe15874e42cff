// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/types"
)

// Bounds of the parts of a path, far above those of real environments and revisions.
const (
	maxEnvironment = 253
	maxRevision    = 1024
)

// address is the parsed path of a call.
type address struct {
	pipeline    types.NamespacedName
	environment string
	// revision is set for approvals only.
	revision string
}

// endpointOf splits an escaped path into the endpoint and the rest.
func endpointOf(path string) (endpoint, rest string) {
	endpoint, rest, _ = strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return endpoint, rest
}

// parseApproval parses <namespace>/<pipeline>/<environment>/<revision>. Everything after the environment is the revision, which may contain
// slashes, escaped or not; a slash in the name of an environment must be escaped.
func parseApproval(rest string) (address, bool) {
	parts := strings.SplitN(rest, "/", 4)
	if len(parts) < 4 {
		return address{}, false
	}
	result, ok := parseEnvironment(parts[:3])
	if !ok {
		return address{}, false
	}
	result.revision, ok = unescape(parts[3], maxRevision)
	return result, ok
}

// parsePromotion parses <namespace>/<pipeline>/<environment>. It ignores the rest, for compatibility.
func parsePromotion(rest string) (address, bool) {
	parts := strings.SplitN(rest, "/", 4)
	if len(parts) < 3 {
		return address{}, false
	}
	return parseEnvironment(parts[:3])
}

// parseHook parses <provider>/<namespace>/<pipeline>/<environment>.
func parseHook(rest string) (provider string, target address, ok bool) {
	parts := strings.Split(rest, "/")
	if len(parts) != 4 {
		return "", address{}, false
	}
	target, ok = parseEnvironment(parts[1:])
	return parts[0], target, ok
}

func parseEnvironment(parts []string) (address, bool) {
	namespace, okNamespace := unescape(parts[0], maxEnvironment)
	name, okName := unescape(parts[1], maxEnvironment)
	environment, okEnvironment := unescape(parts[2], maxEnvironment)
	if !okNamespace || !okName || !okEnvironment {
		return address{}, false
	}
	// Invalid object names must not become part of a path at the API server.
	if len(validation.ValidateNamespaceName(namespace, false)) > 0 || len(validation.NameIsDNSSubdomain(name, false)) > 0 {
		return address{}, false
	}
	return address{pipeline: types.NamespacedName{Namespace: namespace, Name: name}, environment: environment}, true
}

func unescape(text string, limit int) (string, bool) {
	result, err := url.PathUnescape(text)
	if err != nil || result == "" || len(result) > limit || !utf8.ValidString(result) || strings.ContainsFunc(result, unicode.IsControl) {
		return "", false
	}
	return result, true
}
