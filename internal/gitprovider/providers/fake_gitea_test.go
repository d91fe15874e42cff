// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/gitprovider"
)

// newGitea returns a Gitea below a path, as described in its OpenAPI document. The same contract runs against a real one, too.
func newGitea(t *testing.T) *fake {
	f := newFake(t, v1alpha1.GitProviderGitea)
	f.path, f.size = "/git/acme/shop", 50
	f.header = map[string]string{"Authorization": "token " + token}
	f.refusal = func(w http.ResponseWriter) {
		f.say(w, http.StatusUnauthorized, object{"message": "invalid username, password or token"})
	}
	const repo = "/git/api/v1/repos/acme/shop"
	f.mux.HandleFunc("GET "+repo, func(w http.ResponseWriter, _ *http.Request) { f.say(w, http.StatusOK, object{"id": 1}) })
	f.mux.HandleFunc("GET "+repo+"/pulls", f.giteaList)
	f.mux.HandleFunc("POST "+repo+"/pulls", f.giteaCreate)
	f.mux.HandleFunc("GET "+repo+"/pulls/{number}", f.giteaGet)
	f.mux.HandleFunc("GET "+repo+"/pulls/{base}/{head}", f.giteaByBranches)
	f.mux.HandleFunc("PATCH "+repo+"/pulls/{number}", f.giteaEdit)
	f.mux.HandleFunc("GET "+repo+"/issues/{number}/timeline", f.giteaTimeline)
	f.mux.HandleFunc("POST "+repo+"/issues/{number}/comments", f.giteaComment)
	f.mux.HandleFunc("GET "+repo+"/commits/{commit}/statuses", f.giteaStatuses)
	missing := func(w http.ResponseWriter, _ *http.Request) {
		f.say(w, http.StatusNotFound, object{"message": "The target couldn't be found.", "errors": []string{}})
	}
	f.mux.HandleFunc("GET /git/api/v1/repos/acme/nowhere", missing)
	f.mux.HandleFunc("GET /git/api/v1/repos/acme/nowhere/pulls", missing)
	f.mux.HandleFunc("GET /git/api/v1/repos/acme/nowhere/pulls/{base}/{head}", missing)
	return f
}

func giteaPull(r *record) object {
	headRepo := 1
	if r.fork {
		headRepo = 2
	}
	state := "open"
	headRef := r.head
	if r.state != gitprovider.Open {
		state = "closed"
		headRef = fmt.Sprintf("refs/pull/%d/head", r.number) // as if its branch had been deleted
	}
	p := object{
		"id": 5000 + r.number, "number": r.number, "html_url": fmt.Sprintf("https://gitea.example.com/git/acme/shop/pulls/%d", r.number),
		"state": state, "title": r.title, "body": r.body, "merged": r.state == gitprovider.Merged, "merged_at": nil, "merge_commit_sha": nil,
		"merged_by": nil, "created_at": moment(r.created), "updated_at": moment(r.updated), "closed_at": moment(r.closed),
		"head": object{"label": r.head, "ref": headRef, "sha": r.headCommit, "repo_id": headRepo},
		"base": object{"label": r.base, "ref": r.base, "sha": commitOf(r.base), "repo_id": 1},
	}
	if r.state == gitprovider.Merged {
		p["merged_at"], p["merge_commit_sha"], p["merged_by"] = moment(r.closed), r.mergeCommit, person("login", r.closedBy)
	}
	return p
}

func (f *fake) giteaList(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	common := map[string]string{"state": "all", "limit": "50", "page": "*"}
	by, keep := byCreation, everyRecord
	switch {
	case q.Has("sort"):
		f.query(r, want(common, "sort", "recentupdate"))
		by = byChange
	case q.Get("state") == "open":
		f.query(r, want(common, "state", "open"))
		keep = openRecord
	default:
		f.query(r, common)
	}
	found, more := part(f.book.chosen(by, keep), 50, number(f, q.Get("page")))
	pulls := []object{}
	for _, one := range found {
		pulls = append(pulls, giteaPull(one))
	}
	if more {
		w.Header().Set("Link", `<https://elsewhere.example.com/page>; rel="next",<https://elsewhere.example.com/last>; rel="last"`)
	}
	f.say(w, http.StatusOK, pulls)
}

func (f *fake) giteaByBranches(w http.ResponseWriter, r *http.Request) {
	for _, one := range f.book.records {
		if one.base == r.PathValue("base") && one.head == r.PathValue("head") && !one.fork {
			f.say(w, http.StatusOK, giteaPull(one))
			return
		}
	}
	f.say(w, http.StatusNotFound, object{"message": "The target couldn't be found.", "errors": []string{}})
}

func (f *fake) giteaCreate(w http.ResponseWriter, r *http.Request) {
	var wish struct{ Title, Head, Base, Body string }
	f.body(r, &wish)
	switch {
	case f.book.branches[wish.Head] == "":
		f.say(w, http.StatusNotFound, object{"message": "The target couldn't be found."})
	case f.book.duplicate(wish.Head, wish.Base) != nil:
		f.say(w, http.StatusConflict, object{"message": "pull request already exists for these targets [id: 1]"})
	default:
		f.say(w, http.StatusCreated, giteaPull(f.book.add(record{head: wish.Head, base: wish.Base, title: wish.Title, body: wish.Body})))
	}
}

func (f *fake) giteaGet(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{})
	if found := f.record(w, r); found != nil {
		f.say(w, http.StatusOK, giteaPull(found))
	}
}

func (f *fake) giteaEdit(w http.ResponseWriter, r *http.Request) {
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
	f.say(w, http.StatusCreated, giteaPull(found))
}

func (f *fake) giteaTimeline(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{"since": "*"})
	found := f.record(w, r)
	if found == nil {
		return
	}
	since, err := time.Parse(time.RFC3339, r.URL.Query().Get("since"))
	if err != nil || since.After(found.closed) {
		f.t.Errorf("since=%s, closed at %s: %v", r.URL.Query().Get("since"), found.closed, err)
	}
	f.say(w, http.StatusOK, []object{
		{"type": "label", "user": person("login", "somebody")},
		{"type": "close", "user": person("login", found.closedBy)},
		{"type": "delete_branch", "user": person("login", "somebody")},
	})
}

func (f *fake) giteaComment(w http.ResponseWriter, r *http.Request) {
	var comment struct{ Body string }
	f.body(r, &comment)
	if found := f.record(w, r); found != nil {
		f.book.remark(found, comment.Body)
		f.say(w, http.StatusCreated, object{"id": 1})
	}
}

// giteaStatuses returns all statuses in pages of two. All were set within a second, and the latest comes last.
func (f *fake) giteaStatuses(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{"sort": "recentupdate", "limit": "50", "page": "*"})
	said := f.book.byCommit(r.PathValue("commit")).checks
	from := min(2*(number(f, r.URL.Query().Get("page"))-1), len(said))
	to := min(from+2, len(said))
	if to < len(said) {
		w.Header().Set("Link", `<https://elsewhere.example.com/page>; rel="next"`)
	}
	statuses := []object{}
	for _, c := range said[from:to] {
		statuses = append(statuses, object{"id": c.id, "context": c.name, "status": c.called(map[gitprovider.ChecksState]string{
			gitprovider.ChecksPassed: "success", gitprovider.ChecksFailed: "failure", gitprovider.ChecksRunning: "pending",
		})})
	}
	f.say(w, http.StatusOK, statuses)
}
