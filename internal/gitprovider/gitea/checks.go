// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitea

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/rest"
)

// Checks are the last statuses of the head commit, one for each context. Gitea can put them together itself, but not all its versions tell
// which they are then.
func (f *provider) Checks(ctx context.Context, of gitprovider.PullRequest) (gitprovider.Checks, error) {
	if of.HeadCommit == "" {
		return gitprovider.Checks{}, nil
	}
	seen := map[string]bool{}
	all, complete, err := f.client.AllChecks(func(page int) ([]gitprovider.Check, bool, error) {
		statuses, more, err := f.statuses(ctx, of.HeadCommit, page)
		var checks []gitprovider.Check
		for _, one := range statuses {
			if !seen[one.Context] {
				checks = append(checks, gitprovider.Check{Name: one.Context, State: states[one.Status]})
			}
			seen[one.Context] = true
		}
		return checks, more, err
	})
	if err != nil {
		return gitprovider.Checks{}, err
	}
	checks := f.client.Checks(of, all, "")
	if !complete {
		checks = checks.Incomplete()
	}
	return checks, nil
}

type status struct {
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

// statuses returns a page of what was said of a commit, the last first.
func (f *provider) statuses(ctx context.Context, commit string, page int) ([]status, bool, error) {
	var found []status
	answer, err := f.client.Do(ctx, rest.Request{
		Operation: "read the checks of a pull request",
		Method:    http.MethodGet,
		Path:      f.path + "/commits/" + url.PathEscape(commit) + "/statuses",
		Query:     url.Values{"sort": {"highestindex"}, "limit": {strconv.Itoa(pageSize)}, "page": {strconv.Itoa(page)}},
		Into:      &found,
	})
	return found, err == nil && rest.HasNext(answer.Header), err
}
