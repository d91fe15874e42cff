// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitea

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/rest"
)

// Checks returns the latest status of the head commit per context. Gitea can combine them, but then not all versions return the
// individual ones.
func (f *provider) Checks(ctx context.Context, of gitprovider.PullRequest) (gitprovider.Checks, error) {
	if of.HeadCommit == "" {
		return gitprovider.Checks{}, nil
	}
	last := map[string]status{}
	_, complete, err := f.client.AllChecks(func(page int) ([]gitprovider.Check, bool, error) {
		statuses, more, err := f.statuses(ctx, of.HeadCommit, page)
		for _, one := range statuses {
			if one.ID >= last[one.Context].ID {
				last[one.Context] = one
			}
		}
		return nil, more, err
	})
	if err != nil {
		return gitprovider.Checks{}, err
	}
	var all []gitprovider.Check
	for _, context := range slices.Sorted(maps.Keys(last)) {
		all = append(all, gitprovider.Check{Name: context, State: states[last[context].Status]})
	}
	checks := f.client.Checks(of, all, "")
	if !complete {
		checks = checks.Incomplete()
	}
	return checks, nil
}

// status is one status. A later one of the same commit has a higher ID.
type status struct {
	ID      int64  `json:"id"`
	Context string `json:"context"`
	Status  string `json:"status"`
}

var states = map[string]gitprovider.ChecksState{
	"success": gitprovider.ChecksPassed,
	"warning": gitprovider.ChecksPassed,
	"pending": gitprovider.ChecksRunning,
	"failure": gitprovider.ChecksFailed,
	"error":   gitprovider.ChecksFailed,
}

// statuses returns a page of the statuses of a commit. Those set within one second come in any order; sorting by index would be exact, but
// differs between versions.
func (f *provider) statuses(ctx context.Context, commit string, page int) ([]status, bool, error) {
	var found []status
	answer, err := f.client.Do(ctx, rest.Request{
		Operation: "read the checks of a pull request",
		Method:    http.MethodGet,
		Path:      f.path + "/commits/" + url.PathEscape(commit) + "/statuses",
		Query:     url.Values{"sort": {"recentupdate"}, "limit": {strconv.Itoa(pageSize)}, "page": {strconv.Itoa(page)}},
		Into:      &found,
	})
	return found, err == nil && rest.HasNext(answer.Header), err
}
