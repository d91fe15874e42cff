// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package github

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/rest"
)

const checking = "read the checks of a pull request"

// Checks combines what GitHub separates: statuses of commits, and check runs of apps such as GitHub Actions.
func (f *provider) Checks(ctx context.Context, of gitprovider.PullRequest) (gitprovider.Checks, error) {
	if of.HeadCommit == "" {
		return gitprovider.Checks{}, nil
	}
	all, allStatuses, err := f.statuses(ctx, of.HeadCommit)
	if err != nil {
		return gitprovider.Checks{}, err
	}
	runs, allRuns, err := f.runs(ctx, of.HeadCommit)
	if err != nil {
		return gitprovider.Checks{}, err
	}
	checks := f.client.Checks(of, append(all, runs...), of.URL+"/checks")
	if !allStatuses || !allRuns {
		checks = checks.Incomplete()
	}
	return checks, nil
}

func (f *provider) statuses(ctx context.Context, commit string) ([]gitprovider.Check, bool, error) {
	return f.client.AllChecks(func(page int) ([]gitprovider.Check, bool, error) {
		var answer struct {
			Statuses []struct {
				Context string `json:"context"`
				State   string `json:"state"`
			} `json:"statuses"`
		}
		more, err := f.ask(ctx, "/commits/"+url.PathEscape(commit)+"/status", pageOf(page), &answer)
		var checks []gitprovider.Check
		for _, one := range answer.Statuses {
			checks = append(checks, gitprovider.Check{Name: one.Context, State: statusStates[one.State]})
		}
		return checks, more, err
	})
}

var statusStates = map[string]gitprovider.ChecksState{
	"success": gitprovider.ChecksPassed,
	"pending": gitprovider.ChecksRunning,
	"failure": gitprovider.ChecksFailed,
	"error":   gitprovider.ChecksFailed,
}

// runs falls back to GitHub Actions if the token may not read checks: fine-grained personal tokens never may.
func (f *provider) runs(ctx context.Context, commit string) ([]gitprovider.Check, bool, error) {
	if !f.noChecks.Load() {
		runs, all, err := f.checkRuns(ctx, commit)
		if err != nil || all || len(runs) > 0 {
			return runs, all, err
		}
		f.noChecks.Store(true)
	}
	return f.workflowRuns(ctx, commit)
}

// run is a check run, or a workflow run.
type run struct {
	Name       string `json:"name"`
	Status     string `json:"status"`
	Conclusion string `json:"conclusion"` // null until it is completed
	Workflow   int64  `json:"workflow_id"`
	Event      string `json:"event"`
}

func (f *provider) checkRuns(ctx context.Context, commit string) ([]gitprovider.Check, bool, error) {
	return f.client.AllChecks(func(page int) ([]gitprovider.Check, bool, error) {
		var answer struct {
			Runs []run `json:"check_runs"`
		}
		more, err := f.ask(ctx, "/commits/"+url.PathEscape(commit)+"/check-runs", pageOf(page), &answer)
		var checks []gitprovider.Check
		for _, one := range answer.Runs {
			checks = append(checks, gitprovider.Check{Name: one.Name, State: one.state()})
		}
		return checks, more, err
	})
}

// workflowRuns counts the latest run per workflow and kind of event. GitHub lists the latest first.
func (f *provider) workflowRuns(ctx context.Context, commit string) ([]gitprovider.Check, bool, error) {
	type origin struct {
		workflow int64
		event    string
	}
	seen := map[origin]bool{}
	return f.client.AllChecks(func(page int) ([]gitprovider.Check, bool, error) {
		var answer struct {
			Runs []run `json:"workflow_runs"`
		}
		query := pageOf(page)
		query.Set("head_sha", commit)
		more, err := f.ask(ctx, "/actions/runs", query, &answer)
		var checks []gitprovider.Check
		for _, one := range answer.Runs {
			from := origin{one.Workflow, one.Event}
			if !seen[from] {
				checks = append(checks, gitprovider.Check{Name: one.Name, State: one.state()})
			}
			seen[from] = true
		}
		return checks, more, err
	})
}

func (r run) state() gitprovider.ChecksState {
	if r.Status != "completed" {
		return gitprovider.ChecksRunning
	}
	switch r.Conclusion {
	case "success":
		return gitprovider.ChecksPassed
	case "neutral", "skipped":
		return "" // as GitHub itself treats them
	}
	return gitprovider.ChecksFailed
}

func pageOf(number int) url.Values {
	return url.Values{"per_page": {strconv.Itoa(pageSize)}, "page": {strconv.Itoa(number)}}
}

// ask reads a page and reports whether there is another one.
func (f *provider) ask(ctx context.Context, path string, query url.Values, into any) (more bool, err error) {
	answer, err := f.client.Do(ctx, rest.Request{Operation: checking, Method: http.MethodGet, Path: f.path + path, Query: query, Into: into})
	return err == nil && rest.HasNext(answer.Header), err
}
