// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package azure

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strconv"

	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/rest"
)

const (
	checking = "read the checks of a pull request"
	// policyVersion has never left preview.
	policyVersion = "5.0-preview.1"
	// buildPolicy is the type of build policies.
	buildPolicy = "0609b952-1397-4640-95ec-e00a01b2c241"
)

// Checks combines what Azure DevOps separates: statuses, posted by other systems, and the builds that policies of the base branch
// require.
func (f *provider) Checks(ctx context.Context, of gitprovider.PullRequest) (gitprovider.Checks, error) {
	all, allStatuses, err := f.client.AllChecks(func(int) ([]gitprovider.Check, bool, error) {
		checks, err := f.statuses(ctx, of)
		return checks, false, err
	})
	if err != nil {
		return gitprovider.Checks{}, err
	}
	builds, allBuilds, err := f.client.AllChecks(func(int) ([]gitprovider.Check, bool, error) {
		checks, err := f.builds(ctx, of)
		return checks, false, err
	})
	if err != nil {
		return gitprovider.Checks{}, err
	}
	checks := f.client.Checks(of, append(all, builds...), "")
	if !allStatuses || !allBuilds {
		checks = checks.Incomplete()
	}
	return checks, nil
}

// status is a status of a pull request, or of one of its earlier states, which are numbered as iterations.
type status struct {
	ID        int64  `json:"id"`
	State     string `json:"state"`
	Iteration int64  `json:"iterationId"`
	Context   origin `json:"context"`
}

type origin struct {
	Genre string `json:"genre"`
	Name  string `json:"name"`
}

var statusStates = map[string]gitprovider.ChecksState{
	"succeeded":          gitprovider.ChecksPassed,
	"partiallySucceeded": gitprovider.ChecksPassed,
	"pending":            gitprovider.ChecksRunning,
	"notSet":             gitprovider.ChecksRunning,
	"failed":             gitprovider.ChecksFailed,
	"error":              gitprovider.ChecksFailed,
}

// statuses returns the latest status of each origin, without those of commits that are no longer the head.
func (f *provider) statuses(ctx context.Context, of gitprovider.PullRequest) ([]gitprovider.Check, error) {
	var answer struct {
		Value []status `json:"value"`
	}
	_, err := f.do(ctx, rest.Request{
		Operation: checking, Method: http.MethodGet, Path: f.pathOf(of.Number) + "/statuses", Into: &answer,
	})
	if err != nil || len(answer.Value) == 0 {
		return nil, err
	}
	current, err := f.iteration(ctx, of)
	if err != nil {
		return nil, err
	}
	last := map[origin]status{}
	for _, one := range answer.Value {
		if one.ID >= last[one.Context].ID && (one.Iteration == 0 || one.Iteration == current) {
			last[one.Context] = one
		}
	}
	var checks []gitprovider.Check
	for from, one := range last {
		name := from.Name
		if from.Genre != "" {
			name = from.Genre + "/" + from.Name
		}
		checks = append(checks, gitprovider.Check{Name: name, State: statusStates[one.State]})
	}
	return checks, nil
}

// iteration returns the number of the latest state of the pull request that has its head; zero if there is none.
func (f *provider) iteration(ctx context.Context, of gitprovider.PullRequest) (int64, error) {
	var answer struct {
		Value []struct {
			ID              int64  `json:"id"`
			SourceRefCommit commit `json:"sourceRefCommit"`
		} `json:"value"`
	}
	_, err := f.do(ctx, rest.Request{
		Operation: checking, Method: http.MethodGet, Path: f.pathOf(of.Number) + "/iterations", Into: &answer,
	})
	last := int64(0)
	for _, one := range answer.Value {
		if one.SourceRefCommit.CommitID == of.HeadCommit {
			last = max(last, one.ID)
		}
	}
	return last, err
}

// builds returns those that must succeed before the pull request can be completed.
func (f *provider) builds(ctx context.Context, of gitprovider.PullRequest) ([]gitprovider.Check, error) {
	project, err := f.projectID(ctx, of)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Value []evaluation `json:"value"`
	}
	_, err = f.policies.Do(ctx, rest.Request{
		Operation: checking,
		Method:    http.MethodGet,
		Path:      "/evaluations",
		Query: url.Values{
			"artifactId":  {"vstfs:///CodeReview/CodeReviewId/" + project + "/" + strconv.FormatInt(of.Number, 10)},
			"api-version": {policyVersion},
		},
		Into: &answer,
	})
	var checks []gitprovider.Check
	for _, one := range answer.Value {
		if c := one.Configuration; c.IsEnabled && c.IsBlocking && c.Type.ID == buildPolicy {
			checks = append(checks, gitprovider.Check{Name: cmp.Or(c.Settings.DisplayName, "build"), State: evaluationStates[one.Status]})
		}
	}
	return checks, err
}

// evaluation is the result of a policy for a pull request.
type evaluation struct {
	Status        string `json:"status"`
	Configuration struct {
		IsEnabled  bool `json:"isEnabled"`
		IsBlocking bool `json:"isBlocking"`
		Type       struct {
			ID string `json:"id"`
		} `json:"type"`
		Settings struct {
			DisplayName string `json:"displayName"`
		} `json:"settings"`
	} `json:"configuration"`
}

var evaluationStates = map[string]gitprovider.ChecksState{
	"approved": gitprovider.ChecksPassed,
	"queued":   gitprovider.ChecksRunning,
	"running":  gitprovider.ChecksRunning,
	"rejected": gitprovider.ChecksFailed,
	"broken":   gitprovider.ChecksFailed,
}

// projectID returns the ID of the project in policies. Every pull request contains it.
func (f *provider) projectID(ctx context.Context, of gitprovider.PullRequest) (string, error) {
	if known := f.project.Load(); known != nil {
		return *known, nil
	}
	if _, err := f.Get(ctx, of.Number); err != nil {
		return "", err
	}
	if known := f.project.Load(); known != nil {
		return *known, nil
	}
	return "", f.client.Malformed(checking, "pull request %d has no project", of.Number)
}
