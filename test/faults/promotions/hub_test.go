// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"espalier.dev/internal/gitprovider/pullrequest"
	"espalier.dev/test/faults/promotions/invariant"
)

// hub is a Git server with one repository.
type hub interface {
	// url is the URL of the repository, and secret the entries of its Secret.
	url() string
	secret() map[string]string
	// merge, close and reopen are what a user does with a pull request.
	merge(t *testing.T, number int64)
	closeByHand(t *testing.T, number int64)
	reopen(t *testing.T, number int64)
	// file returns the marked file on the base branch, and branches the names of all branches.
	file(t *testing.T) string
	branches(t *testing.T) []string
}

// giteaHubs creates hubs at a real Gitea. It is nil without the build tag externals.
var giteaHubs func(t *testing.T, namespace string, f *front) hub

const (
	repositoryName = "acme/shop"
	markedFile     = "prod/app.yaml"
)

// content returns the content of the marked file.
func content(namespace, revision string) string {
	return "version: " + revision + " # {\"$promotion\": \"" + namespace + ":p:prod\"}\n"
}

// operationOf returns the operation of a request to the Git server.
func operationOf(r *http.Request) string {
	path := r.URL.Path
	switch {
	case strings.HasSuffix(path, "/info/refs") && r.URL.Query().Get("service") == "git-receive-pack":
		return "push-refs"
	case strings.HasSuffix(path, "/info/refs"):
		return "fetch-refs"
	case strings.HasSuffix(path, "/git-receive-pack"):
		return "push"
	case strings.HasSuffix(path, "/git-upload-pack"):
		return "fetch"
	}
	_, rest, found := strings.Cut(path, "/api/v1/repos/")
	parts := strings.Split(rest, "/")
	if !found || len(parts) < 2 {
		return "other"
	}
	return apiOperation(r.Method, parts[2:])
}

func apiOperation(method string, parts []string) string {
	switch {
	case len(parts) == 0:
		return "repository"
	case parts[0] == "commits":
		return "checks"
	case parts[0] == "issues":
		return strings.TrimSuffix(parts[len(parts)-1], "s") // comment, timeline
	case method == http.MethodPost:
		return "create"
	case method == http.MethodPatch:
		return "close"
	case len(parts) == 3:
		return "find"
	case len(parts) == 2:
		return "get"
	}
	return "list"
}

// providerFront returns a front that keeps the ledger of a Git server.
func (s *scene) providerFront(plan []outsideFault) *front {
	f := &front{place: "provider", operationOf: operationOf, plan: plan}
	f.executed = func(operation string, answer *httptest.ResponseRecorder) {
		if answer.Code >= http.StatusBadRequest || operation != "create" && operation != "close" {
			return
		}
		var pull struct {
			Number int64  `json:"number"`
			Body   string `json:"body"`
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &pull); err != nil {
			s.t.Errorf("the answer to %s cannot be read: %v", operation, err)
		}
		if operation == "close" {
			s.ledger.end(pull.Number, invariant.Closed)
			return
		}
		mark, ours := pullrequest.Recognise(pull.Body, s.namespace, pipelineName)
		if !ours {
			s.t.Errorf("pull request %d does not say what it is for: %s", pull.Number, pull.Body)
		}
		s.ledger.add(invariant.Entry{
			Event:       invariant.Opened,
			Number:      pull.Number,
			Environment: mark.Environment,
			Key:         mark.Key,
			Revision:    mark.Revision,
		})
	}
	return f
}
