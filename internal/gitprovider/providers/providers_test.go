// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/providers"
)

// paths of a repository at each provider.
var paths = map[v1alpha1.GitProviderType]string{
	gitHub: "/acme/shop", gitLab: "/acme/shop", giteaKind: "/acme/shop", bitbucket: "/scm/ACME/shop", azure: "/acme/web/_git/shop",
}

// answering returns a provider with one handler for all requests.
func answering(t *testing.T, kind v1alpha1.GitProviderType, handler http.HandlerFunc) gitprovider.Provider {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	provider, err := providers.New(providers.Settings{
		Type: kind, URL: server.URL + paths[kind], Rules: dial.Rules{AllowLoopback: true},
		Credentials: gitprovider.Credentials{Token: token, Password: password, CA: authorityOf(server)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return provider
}

// everyCall calls all methods of a provider.
func everyCall(t *testing.T, provider gitprovider.Provider) map[string]error {
	t.Helper()
	errs := map[string]error{}
	_, errs["Create"] = provider.Create(t.Context(), gitprovider.NewPullRequest{Head: "a", Base: "b", Title: "t"})
	_, errs["FindByHead"] = provider.FindByHead(t.Context(), "a", "b")
	_, errs["Get"] = provider.Get(t.Context(), 7)
	_, errs["List"] = provider.List(t.Context(), gitprovider.Cursor{})
	_, errs["List changes"] = provider.List(t.Context(), gitprovider.Cursor{Since: time.Unix(1700000000, 0)})
	_, errs["History"] = provider.History(t.Context())
	_, errs["Close"] = provider.Close(t.Context(), 7)
	return errs
}

func TestAnswersOfTheWrongShapeAreNeverTakenForPullRequests(t *testing.T) {
	for kind := range paths {
		for _, body := range []string{`{}`, `[]`, `null`, `{"value":null}`, `[{}]`, `{"values":[{}],"isLastPage":true}`, `{"value":[{}]}`, `"text"`, `<html></html>`, ``,
			`{"number":7,"iid":7,"id":7,"pullRequestId":7,"state":"limbo","status":"limbo","base":{"ref":"b","label":"b"},"target_branch":"b","targetRefName":"b"}`} {
			provider := answering(t, kind, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
			for call, err := range everyCall(t, provider) {
				emptyList := body == `[]` && (kind == gitHub || kind == gitLab || kind == giteaKind) &&
					(strings.HasPrefix(call, "List") || call == "FindByHead" || call == "History")
				if emptyList {
					continue
				}
				if gitprovider.ClassOf(err) != gitprovider.Malformed || err == nil {
					t.Errorf("%s: %s answered with %s: %v", kind, call, body, err)
				}
			}
		}
	}
}

func TestNoProviderGivesItsTokenOrPasswordAway(t *testing.T) {
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("somebody else was asked, with the header %v", r.Header)
	}))
	defer elsewhere.Close()
	for kind := range paths {
		for name, handler := range map[string]http.HandlerFunc{
			"an echo": func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"message":"header `+r.Header.Get("Authorization")+`","errors":[{"message":"`+token+` or `+password+`"}]}`)
			},
			"a redirect": func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, elsewhere.URL+"/"+token, http.StatusTemporaryRedirect)
			},
		} {
			provider := answering(t, kind, handler)
			for call, err := range everyCall(t, provider) {
				if err == nil || !gitprovider.ClassOf(err).Permanent() {
					t.Errorf("%s: %s after %s: %v", kind, call, name, err)
				}
				if strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), "Y2FuYXJ5") ||
					strings.Contains(err.Error(), "OmNhbmFyeS") {
					t.Errorf("%s: %s after %s gives the token away: %v", kind, call, name, err)
				}
			}
		}
	}
}

func TestEveryProviderReportsLimitsAndFailures(t *testing.T) {
	for kind := range paths {
		limited := answering(t, kind, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "77")
			w.WriteHeader(http.StatusTooManyRequests)
		})
		for call, err := range everyCall(t, limited) {
			expectClass(t, string(kind)+" "+call, err, gitprovider.RateLimited)
			if gitprovider.RetryAfter(err) != 77*time.Second {
				t.Errorf("%s: %s: wait %s", kind, call, gitprovider.RetryAfter(err))
			}
		}
		failing := answering(t, kind, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
		for call, err := range everyCall(t, failing) {
			expectClass(t, string(kind)+" "+call, err, gitprovider.Unavailable)
		}
		forbidden := answering(t, kind, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
		for call, err := range everyCall(t, forbidden) {
			expectClass(t, string(kind)+" "+call, err, gitprovider.Forbidden)
		}
	}
}

func TestAzureRedirectsToSignInWhatItDoesNotKnow(t *testing.T) {
	provider := answering(t, azure, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://spsprodweu1.vssps.visualstudio.com/_signin?realm=dev.azure.com", http.StatusFound)
	})
	for call, err := range everyCall(t, provider) {
		expectClass(t, call, err, gitprovider.Unauthenticated)
	}
}

// Who closed a pull request needs a separate request, which a token may not permit.
func TestAClosedPullRequestIsReadEvenIfItIsUnknownWhoClosedIt(t *testing.T) {
	for kind, body := range map[v1alpha1.GitProviderType]string{
		gitHub:    `{"number":7,"state":"closed","closed_at":"2026-01-02T03:04:05Z","base":{"ref":"main"}}`,
		giteaKind: `{"number":7,"state":"closed","closed_at":"2026-01-02T03:04:05Z","base":{"label":"main"}}`,
		bitbucket: `{"id":7,"state":"DECLINED","closedDate":1767323045000,"toRef":{"id":"refs/heads/main"}}`,
	} {
		for status, ok := range map[int]bool{http.StatusForbidden: true, http.StatusNotFound: true, http.StatusBadGateway: false} {
			provider := answering(t, kind, func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.URL.Path, "/issues/") || strings.HasSuffix(r.URL.Path, "/activities") {
					w.WriteHeader(status)
					return
				}
				_, _ = io.WriteString(w, body)
			})
			p, err := provider.Get(t.Context(), 7)
			if (err == nil) != ok {
				t.Errorf("%s after %d: %v", kind, status, err)
			}
			if !ok {
				continue
			}
			want := gitprovider.PullRequest{
				Number:     7,
				State:      gitprovider.Closed,
				Base:       "main",
				ClosedTime: time.Date(2026, time.January, 2, 3, 4, 5, 0, time.UTC),
			}
			untold := cmpopts.IgnoreFields(gitprovider.PullRequest{}, "Fork", "URL", "CreatedTime", "UpdatedTime")
			if diff := cmp.Diff(want, p, untold); diff != "" {
				t.Errorf("%s after %d (-want +got):\n%s", kind, status, diff)
			}
		}
	}
}

func TestBitbucketDistinguishesDuplicatesFromOtherConflicts(t *testing.T) {
	f := newBitbucket(t)
	f.push(t, "empty")
	_, err := providerOf(t, f).Create(t.Context(), gitprovider.NewPullRequest{Head: "empty", Base: "main", Title: "t"})
	expectClass(t, "no changes", err, gitprovider.Refused)
}

// GitLab names no merge commit after a fast-forward merge, and reports "locked" while it merges.
func TestGitLabMergesInSeveralWays(t *testing.T) {
	for name, c := range map[string]struct {
		fields string
		state  gitprovider.State
		commit string
	}{
		"by a merge commit":  {`"state":"merged","merge_commit_sha":"m","squash_commit_sha":"s"`, gitprovider.Merged, "m"},
		"squashed":           {`"state":"merged","merge_commit_sha":null,"squash_commit_sha":"s"`, gitprovider.Merged, "s"},
		"by fast-forward":    {`"state":"merged","merge_commit_sha":null,"squash_commit_sha":null`, gitprovider.Merged, "h"},
		"not yet":            {`"state":"locked"`, gitprovider.Open, ""},
		"by an older GitLab": {`"state":"merged","merge_commit_sha":"m","merged_by":{"username":"ada"}`, gitprovider.Merged, "m"},
	} {
		provider := answering(t, gitLab, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, `{"iid":7,"target_branch":"main","sha":"h",`+c.fields+`}`)
		})
		p := get(t, provider, 7)
		if p.State != c.state || p.MergeCommit != c.commit || name == "by an older GitLab" && p.ClosedBy != "ada" {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

// Polling must be cheap if nothing happens: one request, which GitHub does not count against its limit.
func TestPIP22_PollingAnUnchangedRepositoryTakesOneRequest(t *testing.T) {
	for name, open := range map[string]func(*testing.T) *fake{
		"GitHub": newGitHub, "GitLab": newGitLab, "Gitea": newGitea, "Bitbucket Server": newBitbucket, "Azure DevOps": newAzure,
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t)
			provider := providerOf(t, f)
			for _, branch := range []string{"a", "b", "c"} {
				create(t, f, provider, branch, "main")
			}
			next := list(t, provider, gitprovider.Cursor{}).Next
			before := f.counted()
			for range 3 {
				next = list(t, provider, next).Next
			}
			after := f.counted()
			want := []int{3, 0}
			if name == "GitHub" {
				want[1] = 3
			}
			if diff := cmp.Diff(want, []int{after.asked - before.asked, after.spared - before.spared}); diff != "" {
				t.Errorf("requests and those answered with 304 (-want +got):\n%s", diff)
			}
		})
	}
}
