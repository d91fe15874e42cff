// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"net/url"
	"slices"
	"strings"

	"espalier.dev/internal/gitprovider"
)

// location is the location of a repository on Azure DevOps.
type location struct {
	repository gitprovider.Repository
	// server is the scheme and host.
	server string
	// collection is the organisation, or the path of the collection on premises; empty on legacy hosts of organisations.
	collection    []string
	project, name string
}

// Identify returns the repository of an address.
func Identify(address gitprovider.Address) (gitprovider.Repository, error) {
	where, err := locate(address)
	return where.repository, err
}

const cloudForm = "https://dev.azure.com/ORGANISATION/PROJECT/_git/REPOSITORY"

func locate(address gitprovider.Address) (location, error) {
	at := slices.Index(address.Segments, "_git")
	if at < 0 {
		return location{}, gitprovider.Misconfiguredf("url has no part _git: use %s", cloudForm)
	}
	before, after := address.Segments[:at], address.Segments[at+1:]
	if len(after) == 2 && (after[0] == "_optimized" || after[0] == "_full") {
		after = after[1:]
	}
	if len(after) != 1 {
		return location{}, gitprovider.Misconfiguredf("url has %d parts after _git, it needs one: use %s", len(after), cloudForm)
	}
	where := location{server: address.Scheme + "://" + address.Host, name: after[0]}
	where.collection, where.project = divide(address.Host, before, where.name)
	if complaint := where.complaint(address.Host); complaint != "" {
		return location{}, gitprovider.Misconfiguredf("%s", complaint)
	}
	path := slices.Concat(where.collection, []string{where.project, where.name})
	where.repository = gitprovider.NewRepository(address.Host, strings.Join(path, "/"))
	return where, nil
}

// divide separates the collection from the project. The URL omits the project if the repository has the same name.
func divide(host string, before []string, name string) (collection []string, project string) {
	if len(before) <= partsOfCollection(host, before) {
		return before, name
	}
	return before[:len(before)-1], before[len(before)-1]
}

func partsOfCollection(host string, before []string) int {
	begins := func(with string) bool { return len(before) > 0 && strings.EqualFold(before[0], with) }
	switch {
	case ofOrganisation(host) && !begins("DefaultCollection"):
		return 0
	case begins("tfs"):
		return 2
	}
	return 1
}

// ofOrganisation reports whether the host itself names the organisation.
func ofOrganisation(host string) bool { return strings.HasSuffix(host, ".visualstudio.com") }

func (l location) complaint(host string) string {
	switch {
	case host == "dev.azure.com" && len(l.collection) != 1:
		return "url does not have the form of the cloud: use " + cloudForm
	case !ofOrganisation(host) && len(l.collection) == 0:
		return "url has no collection: use https://HOST/COLLECTION/PROJECT/_git/REPOSITORY"
	}
	return ""
}

func (l location) projectURL() string {
	result := l.server
	for _, segment := range append(slices.Clone(l.collection), l.project) {
		result += "/" + url.PathEscape(segment)
	}
	return result
}
