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

// newGitLab returns a GitLab as described in its REST reference: merge requests, notes, offset pagination.
func newGitLab(t *testing.T) *fake {
	f := newFake(t, v1alpha1.GitProviderGitLab)
	f.path, f.size = "/acme/web/shop.git", 100
	f.header = map[string]string{"Authorization": "Bearer " + token}
	f.refusal = func(w http.ResponseWriter) { f.say(w, http.StatusUnauthorized, object{"message": "401 Unauthorized"}) }
	const requests = "/api/v4/projects/acme%2Fweb%2Fshop/merge_requests"
	f.mux.HandleFunc("GET "+requests, f.gitlabList)
	f.mux.HandleFunc("POST "+requests, f.gitlabCreate)
	f.mux.HandleFunc("GET "+requests+"/{number}", f.gitlabGet)
	f.mux.HandleFunc("PUT "+requests+"/{number}", f.gitlabEdit)
	f.mux.HandleFunc("POST "+requests+"/{number}/notes", f.gitlabNote)
	f.mux.HandleFunc("GET /api/v4/projects/acme%2Fweb%2Fshop/repository/commits/{commit}/statuses", f.gitlabStatuses)
	f.mux.HandleFunc("GET /api/v4/projects/acme%2Fnowhere/merge_requests", func(w http.ResponseWriter, _ *http.Request) {
		f.say(w, http.StatusNotFound, object{"message": "404 Project Not Found"})
	})
	return f
}

func gitlabRequest(r *record) object {
	state := map[gitprovider.State]string{gitprovider.Open: "opened", gitprovider.Merged: "merged", gitprovider.Closed: "closed"}[r.state]
	source := 15
	if r.fork {
		source = 99
	}
	m := object{
		"id": 100000 + r.number, "iid": r.number, "project_id": 15, "state": state, "title": r.title, "description": text(r.body),
		"web_url":       fmt.Sprintf("https://gitlab.example.com/acme/web/shop/-/merge_requests/%d", r.number),
		"source_branch": r.head, "target_branch": r.base, "source_project_id": source, "target_project_id": 15, "sha": r.headCommit,
		"created_at": moment(r.created), "updated_at": moment(r.updated), "merge_commit_sha": nil, "squash_commit_sha": nil,
		"merge_user": nil, "merged_by": nil, "merged_at": nil, "closed_by": nil, "closed_at": nil,
	}
	switch r.state {
	case gitprovider.Merged:
		m["merge_commit_sha"], m["merge_user"], m["merged_at"] = r.mergeCommit, person("username", r.closedBy), moment(r.closed)
	case gitprovider.Closed:
		m["closed_by"], m["closed_at"] = person("username", r.closedBy), moment(r.closed)
	}
	return m
}

func (f *fake) gitlabList(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	common := map[string]string{"scope": "all", "sort": "desc", "per_page": "100", "page": "*"}
	by, keep := byCreation, everyRecord
	switch {
	case q.Has("source_branch"):
		f.query(r, want(common, "state", "all", "source_branch", "*", "target_branch", "*", "order_by", "created_at"))
		keep = func(x *record) bool { return x.head == q.Get("source_branch") && x.base == q.Get("target_branch") }
	case q.Get("state") == "opened":
		f.query(r, want(common, "state", "opened", "order_by", "created_at"))
		keep = openRecord
	case q.Has("updated_after"):
		f.query(r, want(common, "state", "all", "order_by", "updated_at", "updated_after", "*"))
		since, err := time.Parse(time.RFC3339, q.Get("updated_after"))
		if err != nil {
			f.t.Error(err)
		}
		by, keep = byChange, func(x *record) bool { return !x.updated.Before(since) }
	case q.Get("order_by") == "created_at":
		f.query(r, want(common, "state", "all", "order_by", "created_at"))
	default:
		f.query(r, want(common, "state", "all", "order_by", "updated_at"))
		by = byChange
	}
	page := number(f, q.Get("page"))
	found, more := part(f.book.chosen(by, keep), 100, page)
	answer := []object{}
	for _, one := range found {
		answer = append(answer, gitlabRequest(one))
	}
	w.Header().Set("X-Next-Page", "")
	if more {
		w.Header().Set("X-Next-Page", fmt.Sprint(page+1))
	}
	f.say(w, http.StatusOK, answer)
}

func (f *fake) gitlabCreate(w http.ResponseWriter, r *http.Request) {
	var wish struct {
		Title, Description string
		Source             string `json:"source_branch"`
		Target             string `json:"target_branch"`
	}
	f.body(r, &wish)
	switch {
	case f.book.branches[wish.Source] == "":
		f.say(w, http.StatusUnprocessableEntity, object{"message": object{"source_branch": []string{"does not exist"}}})
	case f.book.duplicate(wish.Source, wish.Target) != nil:
		f.say(w, http.StatusConflict, object{"message": []string{"Another open merge request already exists for this source branch: !1"}})
	default:
		added := f.book.add(record{head: wish.Source, base: wish.Target, title: wish.Title, body: wish.Description})
		f.say(w, http.StatusCreated, gitlabRequest(added))
	}
}

func (f *fake) gitlabGet(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{})
	if found := f.record(w, r); found != nil {
		request := gitlabRequest(found)
		request["head_pipeline"] = nil
		if len(found.checks) > 0 {
			request["head_pipeline"] = object{
				"id": 77, "sha": mergedResult(found.headCommit), "status": "running", "web_url": "https://gitlab.example.com/acme/web/shop/-/pipelines/77",
			}
		}
		f.say(w, http.StatusOK, request)
	}
}

// mergedResult returns the commit of a pipeline that tests the merged result.
func mergedResult(head string) string { return "f" + head[1:] }

func (f *fake) gitlabStatuses(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{"per_page": "100", "page": "1"})
	statuses := []object{}
	for _, one := range f.book.records {
		if mergedResult(one.headCommit) != r.PathValue("commit") {
			continue
		}
		for _, c := range one.latest() {
			statuses = append(statuses, object{
				"id": c.id, "name": c.name, "allow_failure": c.mayFail, "target_url": "https://gitlab.example.com/acme/web/shop/-/jobs/1",
				"status": c.called(map[gitprovider.ChecksState]string{
					gitprovider.ChecksPassed: "success", gitprovider.ChecksFailed: "failed", gitprovider.ChecksRunning: "pending",
				}),
			})
		}
	}
	f.say(w, http.StatusOK, statuses)
}

func (f *fake) gitlabEdit(w http.ResponseWriter, r *http.Request) {
	var edit struct {
		StateEvent string `json:"state_event"`
	}
	f.body(r, &edit)
	found := f.record(w, r)
	if found == nil {
		return
	}
	if edit.StateEvent != "close" || found.state != gitprovider.Open {
		f.t.Errorf("event %q for a merge request that is %s", edit.StateEvent, found.state)
	}
	f.book.end(found, gitprovider.Closed, robot)
	f.say(w, http.StatusOK, gitlabRequest(found))
}

func (f *fake) gitlabNote(w http.ResponseWriter, r *http.Request) {
	var note struct{ Body string }
	f.body(r, &note)
	if found := f.record(w, r); found != nil {
		f.book.remark(found, note.Body)
		f.say(w, http.StatusCreated, object{"id": 1})
	}
}
