// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"espalier.dev/api/pipelines/v1alpha1"
	"espalier.dev/internal/gitprovider"
)

// newAzure returns an Azure DevOps Server with a project whose name contains a blank, as described in the REST reference of Azure DevOps.
func newAzure(t *testing.T) *fake {
	f := newFake(t, v1alpha1.GitProviderAzureDevOps)
	f.path, f.size = "/tfs/Default/Web%20Team/_git/shop", 100
	f.header = map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(":"+token))}
	f.refusal = func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNonAuthoritativeInfo)
		_, _ = w.Write([]byte("<html>Sign in to your account</html>"))
	}
	const requests = "/tfs/Default/Web%20Team/_apis/git/repositories/shop/pullrequests"
	f.mux.HandleFunc("GET "+requests, f.azureList)
	f.mux.HandleFunc("POST "+requests, f.azureCreate)
	f.mux.HandleFunc("GET "+requests+"/{number}", f.azureGet)
	f.mux.HandleFunc("PATCH "+requests+"/{number}", f.azureEdit)
	f.mux.HandleFunc("POST "+requests+"/{number}/threads", f.azureThread)
	f.mux.HandleFunc("GET "+requests+"/{number}/statuses", f.azureStatuses)
	f.mux.HandleFunc("GET "+requests+"/{number}/iterations", f.azureIterations)
	f.mux.HandleFunc("GET /tfs/Default/Web%20Team/_apis/policy/evaluations", f.azureEvaluations)
	f.mux.HandleFunc("GET /tfs/Default/Web%20Team/_apis/git/repositories/nowhere/pullrequests", func(w http.ResponseWriter, _ *http.Request) {
		f.say(w, http.StatusNotFound, object{
			"$id":     "1",
			"message": "TF401019: The Git repository with name or identifier nowhere does not exist",
			"typeKey": "GitRepositoryNotFoundException",
		})
	})
	return f
}

// azurePull describes a pull request; listings truncate descriptions.
func azurePull(r *record, listed bool) object {
	status := map[gitprovider.State]string{
		gitprovider.Open:   "active",
		gitprovider.Merged: "completed",
		gitprovider.Closed: "abandoned",
	}[r.state]
	attempt := r.mergeCommit
	if attempt == "" {
		attempt = strings.Repeat("e", 40)
	}
	body := r.body
	if listed && len(body) > 400 {
		body = body[:400]
	}
	p := object{
		"pullRequestId": r.number, "codeReviewId": r.number, "status": status, "title": r.title,
		"sourceRefName": "refs/heads/" + r.head, "targetRefName": "refs/heads/" + r.base, "mergeStatus": "succeeded",
		"creationDate": r.created.Format("2006-01-02T15:04:05.0000000Z"),
		"repository":   object{"id": "3411ebc1", "name": "shop", "project": object{"id": "a7573007", "name": "Web Team"}},
		// Real responses contain more fields for commits.
		"lastMergeSourceCommit": object{"commitId": r.headCommit}, "lastMergeCommit": object{"commitId": attempt},
		"url": "https://azure.example.com/_apis/git/repositories/3411ebc1/pullRequests/1",
	}
	if body != "" {
		p["description"] = body
	}
	if r.fork {
		p["forkSource"] = object{"repository": object{"id": "other"}}
	}
	if r.state != gitprovider.Open {
		p["closedDate"], p["closedBy"] = r.closed.Format("2006-01-02T15:04:05.0000000Z"), person("uniqueName", r.closedBy)
	}
	return p
}

func (f *fake) azureList(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	common := map[string]string{"api-version": "5.0", "$top": "100", "$skip": "*"}
	keep := openRecord
	switch {
	case q.Has("searchCriteria.sourceRefName"):
		f.query(r, want(common, "searchCriteria.status", "all", "searchCriteria.sourceRefName", "*", "searchCriteria.targetRefName", "*"))
		keep = func(x *record) bool {
			return "refs/heads/"+x.head == q.Get("searchCriteria.sourceRefName") && "refs/heads/"+x.base == q.Get("searchCriteria.targetRefName")
		}
	case q.Get("searchCriteria.status") == "all":
		f.query(r, want(common, "searchCriteria.status", "all"))
		keep = everyRecord
	default:
		f.query(r, want(common, "searchCriteria.status", "active"))
	}
	found, _ := part(f.book.chosen(byCreation, keep), 100, number(f, q.Get("$skip"))/100+1)
	pulls := []object{}
	for _, one := range found {
		pulls = append(pulls, azurePull(one, true))
	}
	f.say(w, http.StatusOK, object{"value": pulls, "count": len(pulls)})
}

func (f *fake) azureCreate(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{"api-version": "5.0"})
	var wish struct{ Title, Description, SourceRefName, TargetRefName string }
	f.body(r, &wish)
	head, headOK := strings.CutPrefix(wish.SourceRefName, "refs/heads/")
	base, baseOK := strings.CutPrefix(wish.TargetRefName, "refs/heads/")
	if !headOK || !baseOK {
		f.t.Errorf("the branches are %+v", wish)
	}
	switch {
	case f.book.branches[head] == "":
		f.say(w, http.StatusBadRequest, object{
			"message": "TF401398: The pull request cannot be activated because the source and/or the target branch no longer exists",
			"typeKey": "GitPullRequestCannotBeActivated",
		})
	case f.book.duplicate(head, base) != nil:
		f.say(w, http.StatusConflict, object{
			"message": "TF401179: An active pull request for the source and target branch already exists.",
			"typeKey": "GitPullRequestExistsException",
		})
	default:
		f.say(w, http.StatusCreated, azurePull(f.book.add(record{head: head, base: base, title: wish.Title, body: wish.Description}), false))
	}
}

func (f *fake) azureGet(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{"api-version": "5.0"})
	if found := f.record(w, r); found != nil {
		f.say(w, http.StatusOK, azurePull(found, false))
	}
}

func (f *fake) azureEdit(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{"api-version": "5.0"})
	var edit struct{ Status string }
	f.body(r, &edit)
	found := f.record(w, r)
	if found == nil {
		return
	}
	if edit.Status != "abandoned" || found.state != gitprovider.Open {
		f.t.Errorf("status %q for a pull request that is %s", edit.Status, found.state)
	}
	f.book.end(found, gitprovider.Closed, robot)
	f.say(w, http.StatusOK, azurePull(found, false))
}

func (f *fake) azureThread(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{"api-version": "5.0"})
	var thread struct {
		Comments []struct {
			ParentCommentID      int `json:"parentCommentId"`
			Content, CommentType string
		}
		Status string
	}
	f.body(r, &thread)
	if len(thread.Comments) != 1 || thread.Comments[0].ParentCommentID != 0 || thread.Comments[0].CommentType != "text" ||
		thread.Status != "closed" {
		f.t.Errorf("the thread is %+v", thread)
		return
	}
	if found := f.record(w, r); found != nil {
		f.book.remark(found, thread.Comments[0].Content)
		f.say(w, http.StatusOK, object{"id": 1})
	}
}

// azureStatuses returns checks whose names contain a slash, including earlier results; the others are builds that a policy requires.
func (f *fake) azureStatuses(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{"api-version": "5.0"})
	found := f.record(w, r)
	if found == nil {
		return
	}
	statuses := []object{}
	for _, c := range found.checks {
		genre, name, ok := strings.Cut(c.name, "/")
		if !ok {
			continue
		}
		status := object{"id": c.id, "context": object{"genre": genre, "name": name}, "state": c.called(map[gitprovider.ChecksState]string{
			gitprovider.ChecksPassed: "succeeded", gitprovider.ChecksFailed: "error", gitprovider.ChecksRunning: "pending",
		})}
		if status["iterationId"] = 2; c.head != found.headCommit {
			status["iterationId"] = 1
		}
		statuses = append(statuses, status)
	}
	f.say(w, http.StatusOK, object{"value": statuses, "count": len(statuses)})
}

func (f *fake) azureIterations(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{"api-version": "5.0"})
	if found := f.record(w, r); found != nil {
		f.say(w, http.StatusOK, object{"value": []object{
			{"id": 1, "sourceRefCommit": object{"commitId": strings.Repeat("0", 40)}},
			{"id": 2, "sourceRefCommit": object{"commitId": found.headCommit}},
		}, "count": 2})
	}
}

func (f *fake) azureEvaluations(w http.ResponseWriter, r *http.Request) {
	f.query(r, map[string]string{"api-version": "5.0-preview.1", "artifactId": "*"})
	id, ok := strings.CutPrefix(r.URL.Query().Get("artifactId"), "vstfs:///CodeReview/CodeReviewId/a7573007/")
	if !ok {
		f.t.Errorf("artifactId=%s", r.URL.Query().Get("artifactId"))
	}
	evaluation := func(kind, name, status string, blocking bool) object {
		return object{"evaluationId": "e", "status": status, "configuration": object{
			"isEnabled": true, "isBlocking": blocking, "type": object{"id": kind}, "settings": object{"displayName": name},
		}}
	}
	evaluations := []object{evaluation("fa4e907d-c16b-4a4c-9dfa-4906e5d171dd", "reviewers", "running", true)}
	for _, c := range f.book.find(int64(number(f, id))).latest() {
		if !strings.Contains(c.name, "/") {
			evaluations = append(evaluations, evaluation("0609b952-1397-4640-95ec-e00a01b2c241", c.name, c.called(map[gitprovider.ChecksState]string{
				gitprovider.ChecksPassed: "approved", gitprovider.ChecksFailed: "rejected", gitprovider.ChecksRunning: "queued",
			}), !c.mayFail))
		}
	}
	f.say(w, http.StatusOK, object{"value": evaluations, "count": len(evaluations)})
}
