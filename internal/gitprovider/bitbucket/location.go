// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bitbucket

import (
	"net/url"
	"slices"

	"espalier.dev/internal/gitprovider"
)

// location is the location of a repository on a Bitbucket server.
type location struct {
	repository gitprovider.Repository
	// place is the path below which Bitbucket is served; empty for the root of the host.
	place string
	// project is the key of the project; ~name for repositories of a user.
	project string
	slug    string
}

// Identify returns the repository of an address.
func Identify(address gitprovider.Address) (gitprovider.Repository, error) {
	where, err := locate(address)
	return where.repository, err
}

// forms are the forms of repository URLs that Bitbucket itself uses; * stands for a name.
var forms = []struct {
	pattern    []string
	ofUser     bool
	projectAt  int
	repository int
}{
	{pattern: []string{"scm", "*", "*"}, projectAt: 1, repository: 2},
	{pattern: []string{"projects", "*", "repos", "*"}, projectAt: 1, repository: 3},
	{pattern: []string{"projects", "*", "repos", "*", "browse"}, projectAt: 1, repository: 3},
	{pattern: []string{"users", "*", "repos", "*"}, projectAt: 1, repository: 3, ofUser: true},
	{pattern: []string{"users", "*", "repos", "*", "browse"}, projectAt: 1, repository: 3, ofUser: true},
}

func locate(address gitprovider.Address) (location, error) {
	for _, form := range forms {
		start := len(address.Segments) - len(form.pattern)
		if start < 0 || !matches(form.pattern, address.Segments[start:]) {
			continue
		}
		project, slug := address.Segments[start+form.projectAt], address.Segments[start+form.repository]
		if form.ofUser {
			project = "~" + project
		}
		place := ""
		for _, segment := range address.Segments[:start] {
			place += "/" + url.PathEscape(segment)
		}
		return location{
			repository: gitprovider.NewRepository(address.Host, project+"/"+slug), place: place, project: project, slug: slug,
		}, nil
	}
	return location{}, gitprovider.Misconfiguredf(
		"url is not a repository of Bitbucket Server: use https://HOST/scm/PROJECT/REPOSITORY.git",
	)
}

func matches(pattern, segments []string) bool {
	return slices.EqualFunc(pattern, segments, func(want, is string) bool { return want == "*" || want == is })
}
