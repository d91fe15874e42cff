// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/gitprovider"
)

// newBitbucket returns a Bitbucket Data Center with a repository of a user, as described in its REST reference: paged resources, versions
// of pull requests, activities.
func newBitbucket(t *testing.T) *fake {
	f := newFake(t, v1alpha1.GitProviderBitbucketServer)
	f.path, f.size = "/scm/~ada/shop.git", 100
	f.header = map[string]string{"Authorization": "Bearer " + token}
	f.refusal = func(w http.ResponseWriter) {
		f.bitbucketError(w, http.StatusUnauthorized, "com.atlassian.bitbucket.AuthorisationException", "You are not permitted")
	}
	const requests = "/rest/api/1.0/projects/~ada/repos/shop/pull-requests"
	f.mux.HandleFunc("GET "+requests, f.bitbucketList)
	f.mux.HandleFunc("POST "+requests, f.bitbucketCreate)
	f.mux.HandleFunc("GET "+requests+"/{number}", f.bitbucketGet)
	f.mux.HandleFunc("POST "+requests+"/{number}/decline", f.bitbucketDecline)
	f.mux.HandleFunc("GET "+requests+"/{number}/activities", f.bitbucketActivities)
	f.mux.HandleFunc("POST "+requests+"/{number}/comments", f.bitbucketComment)
	f.mux.HandleFunc("GET /rest/build-status/1.0/commits/{commit}", f.bitbucketBuilds)
	f.mux.HandleFunc("GET /rest/api/1.0/projects/ACME/repos/nowhere/pull-requests", func(w http.ResponseWriter, _ *http.Request) {
		f.bitbucketError(
			w,
			http.StatusNotFound,
			"com.atlassian.bitbucket.repository.NoSuchRepositoryException",
			"Repository ACME/nowhere does not exist.",
		)
	})
	return f
}

func (f *fake) bitbucketError(w http.ResponseWriter, status int, exception, message string) {
	f.say(w, status, object{"errors": []object{{"context": nil, "message": message, "exceptionName": exception}}})
}

type bitbucketRef struct {
	ID         string `json:"id"`
	Repository struct {
		Slug    string `json:"slug"`
		Project struct {
			Key string `json:"key"`
		} `json:"project"`
	} `json:"repository"`
}

func bitbucketPull(r *record) object {
	state := map[gitprovider.State]string{gitprovider.Open: "OPEN", gitprovider.Merged: "MERGED", gitprovider.Closed: "DECLINED"}[r.state]
	source := 84
	if r.fork {
		source = 85
	}
	p := object{
		"id": r.number, "version": r.version, "title": r.title, "state": state, "open": r.state == gitprovider.Open,
		"createdDate": r.created.UnixMilli(), "updatedDate": r.updated.UnixMilli(),
		"fromRef": object{
			"id": "refs/heads/" + r.head, "displayId": r.head, "latestCommit": r.headCommit,
			"repository": object{"id": source, "slug": "shop", "project": object{"key": "~ada"}},
		},
		"toRef": object{
			"id": "refs/heads/" + r.base, "displayId": r.base, "latestCommit": commitOf(r.base),
			"repository": object{"id": 84, "slug": "shop", "project": object{"key": "~ada"}},
		},
		"links": object{
			"self": []object{{"href": fmt.Sprintf("https://bitbucket.example.com/users/ada/repos/shop/pull-requests/%d", r.number)}},
		},
	}
	if r.body != "" {
		p["description"] = r.body
	}
	if r.state != gitprovider.Open {
		p["closedDate"] = r.closed.UnixMilli()
	}
	if r.state == gitprovider.Merged {
		p["properties"] = object{"mergeCommit": object{"id": r.mergeCommit, "displayId": r.mergeCommit[:11]}}
	}
	return p
}

// bitbucketList returns pages whose starts are not multiples of their size, since permissions are checked afterwards.
func (f *fake) bitbucketList(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	common := map[string]string{"state": q.Get("state"), "order": "NEWEST", "limit": "100", "start": "*"}
	keep := openRecord
	switch {
	case q.Has("at"):
		f.query(r, want(common, "state", "ALL", "direction", "OUTGOING", "at", "*"))
		branch, qualified := strings.CutPrefix(q.Get("at"), "refs/heads/")
		if !qualified {
			f.t.Errorf("at=%s is not fully qualified", q.Get("at"))
		}
		keep = func(x *record) bool { return x.head == branch }
	case q.Get("state") == "ALL":
		f.query(r, common)
		keep = everyRecord
	default:
		f.query(r, want(common, "state", "OPEN"))
	}
	start := number(f, q.Get("start"))
	if start%103 != 0 {
		f.t.Errorf("no page was said to start at %d", start)
	}
	found, more := part(f.book.chosen(byCreation, keep), 100, start/103+1)
	pulls := []object{}
	for _, one := range found {
		pulls = append(pulls, bitbucketPull(one))
	}
	answer := object{"size": len(pulls), "limit": 100, "isLastPage": !more, "values": pulls, "start": start, "nextPageStart": nil}
	if more {
		answer["nextPageStart"] = start + 103
	}
	f.say(w, http.StatusOK, answer)
}

func (f *fake) bitbucketCreate(w http.ResponseWriter, r *http.Request) {
	var wish struct {
		Title, Description string
		FromRef, ToRef     bitbucketRef
	}
	f.body(r, &wish)
	for _, ref := range []bitbucketRef{wish.FromRef, wish.ToRef} {
		if ref.Repository.Slug != "shop" || ref.Repository.Project.Key != "~ada" || !strings.HasPrefix(ref.ID, "refs/heads/") {
			f.t.Errorf("a reference is %+v", ref)
		}
	}
	head, base := strings.TrimPrefix(wish.FromRef.ID, "refs/heads/"), strings.TrimPrefix(wish.ToRef.ID, "refs/heads/")
	switch {
	case f.book.branches[head] == "":
		f.bitbucketError(
			w,
			http.StatusNotFound,
			"com.atlassian.bitbucket.commit.NoSuchBranchException",
			"Branch does not exist in this repository.",
		)
	case f.book.duplicate(head, base) != nil:
		f.bitbucketError(
			w,
			http.StatusConflict,
			"com.atlassian.bitbucket.pull.DuplicatePullRequestException",
			"Only one pull request may be open for a given source and target branch",
		)
	case head == "empty":
		f.bitbucketError(w, http.StatusConflict, "com.atlassian.bitbucket.pull.EmptyPullRequestException", "There are no changes to be pulled")
	default:
		f.say(w, http.StatusCreated, bitbucketPull(f.book.add(record{head: head, base: base, title: wish.Title, body: wish.Description})))
	}
}

func (f *fake) bitbucketGet(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{})
	if found := f.record(w, r); found != nil {
		f.say(w, http.StatusOK, bitbucketPull(found))
	}
}

func (f *fake) bitbucketDecline(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("X-Atlassian-Token") != "no-check" {
		f.t.Error("the request does not say that it comes from no browser")
	}
	found := f.record(w, r)
	if found == nil {
		return
	}
	f.query(r, map[string]string{"version": fmt.Sprint(found.version)})
	f.book.end(found, gitprovider.Closed, robot)
	f.say(w, http.StatusOK, bitbucketPull(found))
}

func (f *fake) bitbucketActivities(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{"limit": "100"})
	found := f.record(w, r)
	if found == nil {
		return
	}
	action := map[gitprovider.State]string{gitprovider.Merged: "MERGED", gitprovider.Closed: "DECLINED"}[found.state]
	f.say(w, http.StatusOK, object{"isLastPage": true, "values": []object{
		{"id": 3, "action": "COMMENTED", "user": object{"name": "somebody"}},
		{"id": 2, "action": action, "user": object{"name": found.closedBy}},
		{"id": 1, "action": "OPENED", "user": object{"name": robot}},
	}})
}

func (f *fake) bitbucketComment(w http.ResponseWriter, r *http.Request) {
	var comment struct{ Text string }
	f.body(r, &comment)
	if found := f.record(w, r); found != nil {
		f.book.remark(found, comment.Text)
		f.say(w, http.StatusCreated, object{"id": 1})
	}
}

func (f *fake) bitbucketBuilds(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{"limit": "100"})
	builds := []object{}
	for _, c := range f.book.byCommit(r.PathValue("commit")).latest() {
		builds = append(builds, object{"key": c.name, "url": "https://ci.example.com/1", "state": c.called(map[gitprovider.ChecksState]string{
			gitprovider.ChecksPassed: "SUCCESSFUL", gitprovider.ChecksFailed: "FAILED", gitprovider.ChecksRunning: "INPROGRESS",
		})})
	}
	f.say(w, http.StatusOK, object{"size": len(builds), "limit": 100, "isLastPage": true, "values": builds, "start": 0})
}
