// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/gitprovider"
)

// newGitHub returns a GitHub Enterprise Server, as described in its REST reference: pulls, issues, issue comments, pagination by Link,
// conditional requests.
func newGitHub(t *testing.T) *fake {
	f := newFake(t, v1alpha1.GitProviderGitHub)
	f.path, f.size = "/acme/shop.git", 30
	f.header = map[string]string{
		"Authorization": "Bearer " + token, "Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28",
	}
	const repo = "/api/v3/repos/acme/shop"
	f.mux.HandleFunc("GET "+repo+"/pulls", f.githubList)
	f.mux.HandleFunc("POST "+repo+"/pulls", f.githubCreate)
	f.mux.HandleFunc("GET "+repo+"/pulls/{number}", f.githubGet)
	f.mux.HandleFunc("PATCH "+repo+"/pulls/{number}", f.githubEdit)
	f.mux.HandleFunc("GET "+repo+"/issues/{number}", f.githubIssue)
	f.mux.HandleFunc("POST "+repo+"/issues/{number}/comments", f.githubComment)
	f.mux.HandleFunc("GET "+repo+"/commits/{commit}/status", f.githubStatus)
	f.mux.HandleFunc("GET "+repo+"/commits/{commit}/check-runs", f.githubCheckRuns)
	f.mux.HandleFunc("GET "+repo+"/actions/runs", f.githubWorkflowRuns)
	f.mux.HandleFunc("GET /api/v3/repos/acme/nowhere/pulls", func(w http.ResponseWriter, _ *http.Request) {
		f.say(w, http.StatusNotFound, object{"message": "Not Found", "documentation_url": "https://docs.github.com/rest"})
	})
	return f
}

// githubPull describes a pull request; whole adds fields that only single reads return.
func githubPull(r *record, whole bool) object {
	headRepo := any(object{"id": 1296269, "full_name": "acme/shop"})
	if r.fork {
		headRepo = object{"id": 4711, "full_name": "somebody/shop"}
	}
	state, attempt := "open", strings.Repeat("e", 40)
	if r.state != gitprovider.Open {
		state = "closed"
	}
	merged := moment(r.closed)
	if r.state != gitprovider.Merged {
		merged = nil
	} else {
		attempt = r.mergeCommit
	}
	p := object{
		"number":           r.number,
		"html_url":         fmt.Sprintf("https://github.example.com/acme/shop/pull/%d", r.number),
		"state":            state,
		"title":            r.title,
		"body":             text(r.body),
		"merge_commit_sha": attempt,
		"merged_at":        merged,
		"closed_at":        moment(r.closed),
		"created_at":       moment(r.created),
		"updated_at":       moment(r.updated),
		"draft":            false,
		"head":             object{"label": "acme:" + r.head, "ref": r.head, "sha": r.headCommit, "repo": headRepo},
		"base": object{
			"label": "acme:" + r.base,
			"ref":   r.base,
			"sha":   commitOf(r.base),
			"repo":  object{"id": 1296269, "full_name": "acme/shop"},
		},
	}
	if whole {
		p["merged"] = r.state == gitprovider.Merged
		p["merged_by"] = nil
		if r.state == gitprovider.Merged {
			p["merged_by"] = person("login", r.closedBy)
		}
	}
	return p
}

func (f *fake) githubList(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	common := map[string]string{"state": q.Get("state"), "direction": "desc", "page": "*"}
	by, keep, size := byCreation, everyRecord, 100
	switch {
	case q.Has("head"):
		f.query(r, want(common, "state", "all", "head", "*", "base", "*", "sort", "created", "per_page", "100"))
		head, owned := strings.CutPrefix(q.Get("head"), "acme:")
		if !owned {
			f.t.Errorf("head=%s does not name the owner, so that GitHub would ignore it", q.Get("head"))
		}
		// Forks may belong to the same owner.
		keep = func(x *record) bool { return x.head == head && x.base == q.Get("base") }
	case q.Get("state") == "open":
		f.query(r, want(common, "sort", "created", "per_page", "100"))
		keep = openRecord
	case q.Get("sort") == "created":
		f.query(r, want(common, "state", "all", "sort", "created", "per_page", "100"))
	default:
		f.query(r, want(common, "state", "all", "sort", "updated", "per_page", "30"))
		by, size = byChange, 30
	}
	found, more := part(f.book.chosen(by, keep), size, number(f, q.Get("page")))
	pulls := []object{}
	for _, one := range found {
		pulls = append(pulls, githubPull(one, false))
	}
	tag := fmt.Sprintf(`W/"%x-%s"`, f.book.now.Unix(), r.URL.RawQuery)
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		f.count.spared++
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if more {
		w.Header().Set("Link", `<https://elsewhere.example.com/page>; rel="next", <https://elsewhere.example.com/last>; rel="last"`)
	}
	f.say(w, http.StatusOK, pulls)
}

func (f *fake) githubCreate(w http.ResponseWriter, r *http.Request) {
	var wish struct{ Title, Head, Base, Body string }
	f.body(r, &wish)
	invalid := func(message string) {
		f.say(w, http.StatusUnprocessableEntity, object{
			"message": "Validation Failed", "errors": []object{{"resource": "PullRequest", "code": "custom", "message": message}},
		})
	}
	switch {
	case f.book.branches[wish.Head] == "":
		f.say(w, http.StatusUnprocessableEntity, object{
			"message": "Validation Failed", "errors": []object{{"resource": "PullRequest", "field": "head", "code": "invalid"}},
		})
	case f.book.duplicate(wish.Head, wish.Base) != nil:
		invalid("A pull request already exists for acme:" + wish.Head + ".")
	default:
		f.say(w, http.StatusCreated, githubPull(f.book.add(record{head: wish.Head, base: wish.Base, title: wish.Title, body: wish.Body}), true))
	}
}

func (f *fake) githubGet(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{})
	if found := f.record(w, r); found != nil {
		f.say(w, http.StatusOK, githubPull(found, true))
	}
}

func (f *fake) githubEdit(w http.ResponseWriter, r *http.Request) {
	var edit struct{ State string }
	f.body(r, &edit)
	found := f.record(w, r)
	if found == nil {
		return
	}
	if edit.State != "closed" || found.state != gitprovider.Open {
		f.t.Errorf("state %q for a pull request that is %s", edit.State, found.state)
	}
	f.book.end(found, gitprovider.Closed, robot)
	f.say(w, http.StatusOK, githubPull(found, true))
}

func (f *fake) githubIssue(w http.ResponseWriter, r *http.Request) {
	if found := f.record(w, r); found != nil {
		f.say(w, http.StatusOK, object{"number": found.number, "closed_by": person("login", found.closedBy)})
	}
}

func (f *fake) githubComment(w http.ResponseWriter, r *http.Request) {
	var comment struct{ Body string }
	f.body(r, &comment)
	if found := f.record(w, r); found != nil {
		f.book.remark(found, comment.Body)
		f.say(w, http.StatusCreated, object{"id": 1})
	}
}

// githubStatus returns checks whose names contain a slash; the others are check runs.
func (f *fake) githubStatus(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{"per_page": "100", "page": "1"})
	statuses := []object{}
	for _, c := range f.book.byCommit(r.PathValue("commit")).latest() {
		if strings.Contains(c.name, "/") {
			statuses = append(statuses, object{"context": c.name, "state": c.called(map[gitprovider.ChecksState]string{
				gitprovider.ChecksPassed: "success", gitprovider.ChecksFailed: "error", gitprovider.ChecksRunning: "pending",
			}), "target_url": "https://ci.example.com/1"})
		}
	}
	f.say(w, http.StatusOK, object{"state": "pending", "sha": r.PathValue("commit"), "total_count": len(statuses), "statuses": statuses})
}

// githubCheckRuns returns pages of two.
func (f *fake) githubCheckRuns(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{"per_page": "100", "page": "*"})
	runs := githubRuns(f.book.byCommit(r.PathValue("commit")).latest())
	from := min(2*(number(f, r.URL.Query().Get("page"))-1), len(runs))
	to := min(from+2, len(runs))
	if to < len(runs) {
		w.Header().Set("Link", `<https://elsewhere.example.com/page>; rel="next"`)
	}
	f.say(w, http.StatusOK, object{"total_count": len(runs), "check_runs": runs[from:to]})
}

// githubWorkflowRuns returns all runs, the latest first.
func (f *fake) githubWorkflowRuns(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{"per_page": "100", "page": "1", "head_sha": "*"})
	runs := githubRuns(f.book.byCommit(r.URL.Query().Get("head_sha")).checks)
	slices.Reverse(runs)
	f.say(w, http.StatusOK, object{"total_count": len(runs), "workflow_runs": runs})
}

func githubRuns(checks []check) []object {
	runs := []object{}
	for _, c := range checks {
		run := object{"id": c.id, "name": c.name, "status": "completed", "conclusion": c.called(map[gitprovider.ChecksState]string{
			gitprovider.ChecksPassed: "success", gitprovider.ChecksFailed: "timed_out",
		}), "html_url": "https://github.example.com/acme/shop/runs/1", "workflow_id": len(c.name), "event": "push"}
		if c.state == gitprovider.ChecksRunning {
			run["status"], run["conclusion"] = "in_progress", nil
		}
		if !strings.Contains(c.name, "/") {
			runs = append(runs, run)
		}
	}
	return runs
}
