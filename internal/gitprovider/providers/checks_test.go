// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/providers"
)

var fakes = map[string]func(*testing.T) *fake{
	"GitHub": newGitHub, "GitLab": newGitLab, "Gitea": newGitea, "Bitbucket Server": newBitbucket, "Azure DevOps": newAzure,
}

// checked opens a pull request, reports checks, and returns how the provider interprets them.
func checked(t *testing.T, f *fake, said ...check) gitprovider.Checks {
	t.Helper()
	provider := providerOf(t, f)
	p := create(t, f, provider, "promotion-a", "main")
	for _, c := range said {
		f.says(p.Number, c)
	}
	return checksOf(t, provider, p)
}

func checksOf(t *testing.T, provider gitprovider.Provider, p gitprovider.PullRequest) gitprovider.Checks {
	t.Helper()
	checks, err := provider.Checks(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return checks
}

// Whatever the provider calls its state, a check runs, passes, fails or does not count.
func TestPIP22_EveryWordForACheckIsUnderstood(t *testing.T) {
	const passes, fails, runs = gitprovider.ChecksPassed, gitprovider.ChecksFailed, gitprovider.ChecksRunning
	for name, words := range map[string]map[string]gitprovider.ChecksState{
		"GitHub": {
			"success": passes, "failure": fails, "timed_out": fails, "cancelled": fails, "action_required": fails, "startup_failure": fails,
			"stale": fails, "neutral": "", "skipped": "",
		},
		"GitLab": {
			"success": passes, "failed": fails, "canceled": fails, "created": runs, "pending": runs, "running": runs, "preparing": runs,
			"waiting_for_resource": runs, "scheduled": runs, "skipped": "", "manual": "",
		},
		"Gitea":            {"success": passes, "warning": passes, "failure": fails, "error": fails, "pending": runs, "skipped": ""},
		"Bitbucket Server": {"SUCCESSFUL": passes, "FAILED": fails, "CANCELLED": fails, "INPROGRESS": runs, "UNKNOWN": ""},
		"Azure DevOps": {
			"approved": passes, "rejected": fails, "broken": fails, "queued": runs, "running": runs, "notApplicable": "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			for word, want := range words {
				if got := checked(t, fakes[name](t), check{name: "build", word: word}); got.State != want || want == "" && got.Total() != 0 {
					t.Errorf("%s is %+v, want state %q", word, got, want)
				}
			}
		})
	}
}

// A token without the right sees no checks, which is no error. What it does see counts, unless the result would be too optimistic.
func TestPIP22_ChecksThatMayNotBeSeenAreUnknown(t *testing.T) {
	build, lint := check{name: "build", state: gitprovider.ChecksPassed}, check{name: "ci/lint", state: gitprovider.ChecksFailed}
	for name, c := range map[string]struct {
		open   func(*testing.T) *fake
		denied string
		said   []check
		want   gitprovider.ChecksState
	}{
		"GitHub, nothing":               {newGitHub, "/commits/ /actions/", []check{build, lint}, ""},
		"GitHub, no check runs":         {newGitHub, "/check-runs /actions/", []check{build}, ""},
		"GitHub, no check runs, failed": {newGitHub, "/check-runs /actions/", []check{build, lint}, gitprovider.ChecksFailed},
		"GitHub, no statuses":           {newGitHub, "/status", []check{build}, ""},
		"GitLab, no pipelines":          {newGitLab, "/statuses", []check{build, lint}, ""},
		"GitLab, nothing":               {newGitLab, "/merge_requests/", []check{build, lint}, ""},
		"Gitea":                         {newGitea, "/statuses", []check{build, lint}, ""},
		"Bitbucket Server":              {newBitbucket, "/build-status/", []check{build, lint}, ""},
		"Azure DevOps, no policies":     {newAzure, "/policy/", []check{build}, ""},
		"Azure DevOps, no iterations":   {newAzure, "/iterations", []check{build, lint}, ""},
		"Azure DevOps, statuses only":   {newAzure, "/policy/", []check{build, lint}, gitprovider.ChecksFailed},
	} {
		t.Run(name, func(t *testing.T) {
			f := c.open(t)
			provider := providerOf(t, f)
			p := create(t, f, provider, "promotion-a", "main")
			for _, one := range c.said {
				f.says(p.Number, one)
			}
			f.book.Lock()
			f.denied = func(path string) bool {
				for part := range strings.FieldsSeq(c.denied) {
					if strings.Contains(path, part) {
						return true
					}
				}
				return false
			}
			f.book.Unlock()
			if got := checksOf(t, provider, p); got.State != c.want {
				t.Errorf("%+v, want state %q", got, c.want)
			}
		})
	}
}

// Fine-grained personal tokens cannot have the right to read checks of GitHub, but that to read GitHub Actions.
func TestPIP22_GitHubActionsStandInForChecksThatMayNotBeSeen(t *testing.T) {
	f := newGitHub(t)
	f.denied = func(path string) bool { return strings.HasSuffix(path, "/check-runs") }
	provider := providerOf(t, f)
	p := create(t, f, provider, "promotion-a", "main")
	f.says(p.Number, check{name: "build", state: gitprovider.ChecksFailed}) // an earlier run
	f.says(p.Number, check{name: "build", state: gitprovider.ChecksPassed})
	f.says(p.Number, check{name: "deploy", state: gitprovider.ChecksPassed})
	want := gitprovider.Checks{State: gitprovider.ChecksPassed, Commit: p.HeadCommit, URL: p.URL + "/checks", Passed: 2}
	if diff := cmp.Diff(want, checksOf(t, provider, p)); diff != "" {
		t.Error(diff)
	}
	before := f.counted()
	checksOf(t, provider, p)
	if asked := f.counted().asked - before.asked; asked != 2 {
		t.Errorf("it asked %d times: what was refused is not asked for again", asked)
	}
}

func TestPIP22_WhatMayFailIsNoCheck(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *fake{"GitLab": newGitLab, "Azure DevOps": newAzure} {
		got := checked(t, open(t), check{name: "audit", state: gitprovider.ChecksFailed, mayFail: true},
			check{name: "build", state: gitprovider.ChecksPassed})
		if got.State != gitprovider.ChecksPassed || got.Total() != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Azure DevOps statuses of an older commit do not count for the new one.
func TestPIP22_AzureChecksAreThoseOfTheHead(t *testing.T) {
	got := checked(t, newAzure(t), check{name: "ci/old", state: gitprovider.ChecksFailed, head: strings.Repeat("0", 40)},
		check{name: "ci/new", state: gitprovider.ChecksPassed})
	if got.State != gitprovider.ChecksPassed || got.Total() != 1 {
		t.Errorf("%+v", got)
	}
}

// Names come from third parties: they are truncated, on one line, sorted, and contain no secret.
func TestNamesOfChecksAreFitForAStatus(t *testing.T) {
	for name, open := range fakes {
		t.Run(name, func(t *testing.T) {
			said := []check{{name: "\u2028 \n", state: gitprovider.ChecksFailed}, {name: "leaks " + token, state: gitprovider.ChecksFailed}}
			for i := range 3 {
				said = append(said, check{name: fmt.Sprint("z", i, strings.Repeat("ü", 100)), state: gitprovider.ChecksFailed})
			}
			for i := range 3 {
				said = append(said, check{name: fmt.Sprint("check ", i), state: gitprovider.ChecksFailed})
			}
			got := checked(t, open(t), said...)
			if len(got.FailedNames) != gitprovider.MaxFailedNames || got.Failed != 8 {
				t.Errorf("%+v", got)
			}
			for _, one := range append(got.FailedNames, got.URL) {
				if strings.Contains(one, token) || strings.ContainsAny(one, "\n\u2028") || len(one) > 60 && one != got.URL {
					t.Errorf("a text is %q", one)
				}
			}
			if got.FailedNames[0] != "check 0" {
				t.Errorf("names %q", got.FailedNames)
			}
		})
	}
}

func TestPIP22_TroubleWithChecksIsAnError(t *testing.T) {
	for name, open := range fakes {
		f := open(t)
		provider := providerOf(t, f)
		p := create(t, f, provider, "promotion-a", "main")
		f.server.Close()
		if _, err := provider.Checks(t.Context(), p); gitprovider.ClassOf(err) != gitprovider.Unavailable || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// checkHooks are calls about checks. They name a commit, and GitLab's also a merge request if there is one.
var checkHooks = map[string]struct {
	hook   string
	event  func(http.Header, string) (http.Header, string)
	body   string
	number int64
}{
	"GitHub status": {"GitHub", inHeader("X-GitHub-Event", "status"), `{"sha":"COMMIT","state":"success","context":"ci","repository":{"html_url":"https://github.com/Acme/shop"}}`, 0},
	"GitHub run":    {"GitHub", inHeader("X-GitHub-Event", "check_run"), `{"action":"completed","check_run":{"head_sha":"COMMIT"},"repository":{"html_url":"https://github.com/Acme/shop"}}`, 0},
	"GitHub suite":  {"GitHub", inHeader("X-GitHub-Event", "check_suite"), `{"action":"completed","check_suite":{"head_sha":"COMMIT"},"repository":{"html_url":"https://github.com/Acme/shop"}}`, 0},
	"GitLab":        {"GitLab", inHeader("X-Gitlab-Event", "Pipeline Hook"), `{"object_kind":"pipeline","object_attributes":{"id":31,"iid":3,"sha":"COMMIT"},"merge_request":{"id":1,"iid":7},"project":{"web_url":"https://gitlab.example.com/acme/web/shop"}}`, 7},
	"GitLab branch": {"GitLab", inHeader("X-Gitlab-Event", "Pipeline Hook"), `{"object_kind":"pipeline","object_attributes":{"id":31,"iid":3,"sha":"COMMIT"},"merge_request":null,"project":{"web_url":"https://gitlab.example.com/acme/web/shop"}}`, 0},
	"Gitea":         {"Gitea", inHeader("X-Gitea-Event", "status"), `{"sha":"COMMIT","state":"success","context":"ci","repository":{"html_url":"https://gitea.example.com/git/acme/shop"}}`, 0},
}

func TestPIP22_WebhooksNameTheCommitOfChecks(t *testing.T) {
	for name, c := range checkHooks {
		t.Run(name, func(t *testing.T) {
			h := hooks[c.hook]
			call := func(commit string, secret []byte) (gitprovider.Event, error) {
				header, body := c.event(http.Header{}, strings.Replace(c.body, "COMMIT", commit, 1))
				h.prove(header, body, secret)
				return providers.ParseWebhook(h.kind, header, []byte(body), hookSecret)
			}
			commit := commitOf("promotion-a")
			event, err := call(commit, hookSecret)
			if err != nil || event.Commit != commit || event.Number != c.number || event.Repository.String() != h.want {
				t.Errorf("event %+v, %v", event, err)
			}
			if event, err := call(commit, []byte("wrong")); !errors.Is(err, gitprovider.ErrUnsigned) {
				t.Errorf("without the secret: %+v, %v", event, err)
			}
			for _, odd := range []string{"", "main", strings.Repeat("z", 40)} {
				if event, err := call(odd, hookSecret); !errors.Is(err, gitprovider.ErrUnreadable) {
					t.Errorf("commit %q: %+v, %v", odd, event, err)
				}
			}
		})
	}
}
