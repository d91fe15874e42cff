// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitlab

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"

	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/rest"
)

const checking = "read the checks of a merge request"

// Checks returns the latest jobs and statuses of the commit for which the pipeline of the merge request runs. That differs from the head if
// the pipeline tests the merged result.
func (f *provider) Checks(ctx context.Context, of gitprovider.PullRequest) (gitprovider.Checks, error) {
	var request struct {
		SHA          string `json:"sha"`
		HeadPipeline struct {
			SHA    string `json:"sha"`
			WebURL string `json:"web_url"`
		} `json:"head_pipeline"` // null if there is none, or if it is invisible
	}
	_, err := f.client.Do(ctx, rest.Request{Operation: checking, Method: http.MethodGet, Path: f.pathOf(of.Number), Into: &request})
	if err != nil {
		return gitprovider.Checks{}, rest.Optional(err)
	}
	of.HeadCommit = request.SHA // it may have moved on
	commit := cmp.Or(request.HeadPipeline.SHA, request.SHA)
	if commit == "" {
		return gitprovider.Checks{}, nil
	}
	all, complete, err := f.statuses(ctx, commit)
	if err != nil {
		return gitprovider.Checks{}, err
	}
	checks := f.client.Checks(of, all, request.HeadPipeline.WebURL)
	if !complete {
		checks = checks.Incomplete()
	}
	return checks, nil
}

func (f *provider) statuses(ctx context.Context, commit string) ([]gitprovider.Check, bool, error) {
	return f.client.AllChecks(func(page int) ([]gitprovider.Check, bool, error) {
		var found []status
		answer, err := f.client.Do(ctx, rest.Request{
			Operation: checking,
			Method:    http.MethodGet,
			Path:      f.project + "/repository/commits/" + url.PathEscape(commit) + "/statuses",
			Query:     url.Values{"per_page": {strconv.Itoa(pageSize)}, "page": {strconv.Itoa(page)}},
			Into:      &found,
		})
		if err != nil {
			return nil, false, err
		}
		var checks []gitprovider.Check
		for _, one := range found {
			checks = append(checks, gitprovider.Check{Name: one.Name, State: one.state()})
		}
		return checks, rest.HasNext(answer.Header), nil
	})
}

// status is a job of a pipeline, or an external status of a commit.
type status struct {
	Name         string `json:"name"`
	Status       string `json:"status"`
	AllowFailure bool   `json:"allow_failure"`
}

func (s status) state() gitprovider.ChecksState {
	switch s.Status {
	case "success":
		return gitprovider.ChecksPassed
	case "skipped", "manual":
		return ""
	case "failed", "canceled":
		if s.AllowFailure {
			return ""
		}
		return gitprovider.ChecksFailed
	}
	return gitprovider.ChecksRunning
}
