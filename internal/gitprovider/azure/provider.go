// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package azure is the client for pull requests on Azure DevOps, in the cloud and on premises.
package azure

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/rest"
)

const (
	listing    = "list pull requests"
	pageSize   = 100
	apiVersion = "5.0" // Azure DevOps Server 2019 supports it, too
	listedBody = 400   // characters of a description that listings show
)

type provider struct {
	client   *rest.Client
	policies *rest.Client // of the API for policies of the project
	location location
	path     string // of its pull requests
	// project is the ID of the project, known once a pull request has been read.
	project atomic.Pointer[string]
}

// New returns the repository at an address such as https://dev.azure.com/organization/project/_git/name.
func New(address gitprovider.Address, credentials gitprovider.Credentials, rules dial.Rules) (gitprovider.Provider, error) {
	where, err := locate(address)
	if err != nil {
		return nil, err
	}
	basic := base64.StdEncoding.EncodeToString([]byte(":" + credentials.Token))
	config := rest.Config{
		Base:       where.projectURL() + "/_apis/git/repositories/" + url.PathEscape(where.name),
		Repository: where.repository,
		Header:     http.Header{"Authorization": {"Basic " + basic}, "Accept": {"application/json"}},
		Secrets:    credentials.Secrets(),
		CA:         credentials.CA,
		Rules:      rules,
		Classify:   classifySignIn,
	}
	client, err := rest.New(config)
	if err != nil {
		return nil, err
	}
	config.Base = where.projectURL() + "/_apis/policy"
	policies, err := rest.New(config)
	if err != nil {
		return nil, err
	}
	return &provider{client: client, policies: policies, location: where, path: "/pullrequests"}, nil
}

// classifySignIn detects a rejected token: the cloud responds with a sign-in page, or a redirect to one.
func classifySignIn(answer rest.Answer) gitprovider.Class {
	redirected := answer.Status == http.StatusFound && strings.Contains(answer.Header.Get("Location"), "_signin")
	if answer.Status == http.StatusNonAuthoritativeInfo || redirected {
		return gitprovider.Unauthenticated
	}
	return ""
}

func (f *provider) Repository() gitprovider.Repository { return f.location.repository }

func (f *provider) Create(ctx context.Context, wish gitprovider.NewPullRequest) (gitprovider.PullRequest, error) {
	return f.change(ctx, rest.Request{
		Operation: "open a pull request",
		Method:    http.MethodPost,
		Path:      f.path,
		Body: map[string]string{
			"title": wish.Title, "description": wish.Body,
			"sourceRefName": branchPrefix + wish.Head, "targetRefName": branchPrefix + wish.Base,
		},
		Classify: classifyCreation,
	})
}

// classifyCreation detects duplicates by their error number.
func classifyCreation(answer rest.Answer) gitprovider.Class {
	if answer.Status == http.StatusConflict && strings.Contains(string(answer.Body), "TF401179") {
		return gitprovider.Duplicate
	}
	return ""
}

// FindByHead reads each pull request that it finds, since listings truncate descriptions after 400 characters.
func (f *provider) FindByHead(ctx context.Context, head, base string) ([]gitprovider.PullRequest, error) {
	all, err := f.pages(ctx, "look for pull requests", url.Values{
		"searchCriteria.status":        {"all"},
		"searchCriteria.sourceRefName": {branchPrefix + head},
		"searchCriteria.targetRefName": {branchPrefix + base},
	})
	if err != nil {
		return nil, err
	}
	found := rest.From(all, head, base)
	for i := range found {
		if found[i], err = f.Get(ctx, found[i].Number); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (f *provider) Get(ctx context.Context, number int64) (gitprovider.PullRequest, error) {
	return f.change(ctx, rest.Request{Operation: "read a pull request", Method: http.MethodGet, Path: f.pathOf(number)})
}

// List returns all open pull requests: Azure DevOps supports neither sorting by the last change nor conditional requests.
func (f *provider) List(ctx context.Context, _ gitprovider.Cursor) (gitprovider.Listing, error) {
	open, err := f.pages(ctx, listing, url.Values{"searchCriteria.status": {"active"}})
	if err != nil {
		return gitprovider.Listing{}, err
	}
	return gitprovider.Listing{PullRequests: open, Complete: true}, nil
}

// History relies on the order of listings in Azure DevOps, which is the newest first.
func (f *provider) History(ctx context.Context) ([]gitprovider.PullRequest, error) {
	return f.client.History(listing,
		f.pager(ctx, listing, url.Values{"searchCriteria.status": {"all"}}),
		f.pager(ctx, listing, url.Values{"searchCriteria.status": {"active"}}))
}

func (f *provider) pages(ctx context.Context, operation string, query url.Values) ([]gitprovider.PullRequest, error) {
	return f.client.All(operation, f.pager(ctx, operation, query))
}

// pager reads pages until one is not full, since responses do not show whether there is another.
func (f *provider) pager(ctx context.Context, operation string, query url.Values) func(int) (rest.Page, error) {
	return func(number int) (rest.Page, error) {
		query.Set("$top", strconv.Itoa(pageSize))
		query.Set("$skip", strconv.Itoa((number-1)*pageSize))
		var answer struct {
			Value []pull `json:"value"`
		}
		_, err := f.do(ctx, rest.Request{Operation: operation, Method: http.MethodGet, Path: f.path, Query: query, Into: &answer})
		if err != nil {
			return rest.Page{}, err
		}
		if answer.Value == nil {
			return rest.Page{}, f.client.NoList(operation)
		}
		page := rest.Page{More: len(answer.Value) >= pageSize}
		for _, one := range answer.Value {
			f.note(one)
			p, err := f.client.Checked(operation, one.common(f.location))
			if err != nil {
				return rest.Page{}, err
			}
			p.BodyCut = len(p.Body) >= listedBody
			page.PullRequests = append(page.PullRequests, p)
		}
		return page, nil
	}
}

func (f *provider) Close(ctx context.Context, number int64) (gitprovider.PullRequest, error) {
	before, err := f.Get(ctx, number)
	if err != nil || before.State != gitprovider.Open {
		return before, err
	}
	return f.change(ctx, rest.Request{
		Operation: "abandon a pull request",
		Method:    http.MethodPatch,
		Path:      f.pathOf(number),
		Body:      map[string]string{"status": "abandoned"},
	})
}

// Comment starts a thread that is already closed, so that no policy waits for its resolution.
func (f *provider) Comment(ctx context.Context, number int64, text string) error {
	type comment struct {
		ParentCommentID int    `json:"parentCommentId"`
		Content         string `json:"content"`
		CommentType     string `json:"commentType"`
	}
	_, err := f.do(ctx, rest.Request{
		Operation: "comment on a pull request",
		Method:    http.MethodPost,
		Path:      f.pathOf(number) + "/threads",
		Body:      map[string]any{"comments": []comment{{Content: text, CommentType: "text"}}, "status": "closed"},
	})
	return err
}

// change sends a request that returns one pull request.
func (f *provider) change(ctx context.Context, request rest.Request) (gitprovider.PullRequest, error) {
	var answer pull
	request.Into = &answer
	if _, err := f.do(ctx, request); err != nil {
		return gitprovider.PullRequest{}, err
	}
	f.note(answer)
	return f.client.Checked(request.Operation, answer.common(f.location))
}

// note caches the project of a pull request.
func (f *provider) note(p pull) {
	if id := p.Repository.Project.ID; id != "" {
		f.project.Store(&id)
	}
}

// do adds the API version, without which Azure DevOps rejects requests that change something.
func (f *provider) do(ctx context.Context, request rest.Request) (rest.Answer, error) {
	if request.Query == nil {
		request.Query = url.Values{}
	}
	request.Query.Set("api-version", apiVersion)
	return f.client.Do(ctx, request)
}

func (f *provider) pathOf(number int64) string { return f.path + "/" + strconv.FormatInt(number, 10) }
