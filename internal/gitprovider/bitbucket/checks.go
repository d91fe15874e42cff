// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bitbucket

import (
	"cmp"
	"context"
	"net/http"
	"net/url"

	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/rest"
)

// Checks returns the builds of the head commit. Bitbucket returns the latest hundred, one per key.
func (f *provider) Checks(ctx context.Context, of gitprovider.PullRequest) (gitprovider.Checks, error) {
	if of.HeadCommit == "" {
		return gitprovider.Checks{}, nil
	}
	all, complete, err := f.client.AllChecks(func(int) ([]gitprovider.Check, bool, error) { return f.builds(ctx, of.HeadCommit) })
	if err != nil {
		return gitprovider.Checks{}, err
	}
	checks := f.client.Checks(of, all, of.URL+"/builds")
	if !complete {
		checks = checks.Incomplete()
	}
	return checks, nil
}

func (f *provider) builds(ctx context.Context, commit string) ([]gitprovider.Check, bool, error) {
	var answer struct {
		Values []struct {
			State string `json:"state"`
			Key   string `json:"key"`
			Name  string `json:"name"` // may be left out
		} `json:"values"`
	}
	_, err := f.status.Do(ctx, rest.Request{
		Operation: "read the builds of a pull request",
		Method:    http.MethodGet,
		Path:      "/commits/" + url.PathEscape(commit),
		Query:     url.Values{"limit": {pageSize}},
		Into:      &answer,
	})
	var checks []gitprovider.Check
	for _, one := range answer.Values {
		checks = append(checks, gitprovider.Check{Name: cmp.Or(one.Name, one.Key), State: buildStates[one.State]})
	}
	return checks, false, err
}

var buildStates = map[string]gitprovider.ChecksState{
	"SUCCESSFUL": gitprovider.ChecksPassed,
	"INPROGRESS": gitprovider.ChecksRunning,
	"FAILED":     gitprovider.ChecksFailed,
	"CANCELLED":  gitprovider.ChecksFailed,
}
