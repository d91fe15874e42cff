// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package bitbucket is the client for pull requests on Bitbucket Server and Bitbucket Data Center.
package bitbucket

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/rest"
)

const (
	listing  = "list pull requests"
	pageSize = "100"
)

type provider struct {
	client     *rest.Client
	status     *rest.Client // of the API for builds
	repository gitprovider.Repository
	location   location
	path       string // of its pull requests
}

// New returns the repository at an address such as https://HOST/scm/PROJECT/name.git.
func New(address gitprovider.Address, credentials gitprovider.Credentials, rules dial.Rules) (gitprovider.Provider, error) {
	where, err := locate(address)
	if err != nil {
		return nil, err
	}
	root := address.Scheme + "://" + address.Host + where.place + "/rest"
	config := rest.Config{
		Base:       root + "/api/1.0",
		Repository: where.repository,
		Header:     http.Header{"Authorization": {"Bearer " + credentials.Token}, "Accept": {"application/json"}},
		Secrets:    credentials.Secrets(),
		CA:         credentials.CA,
		Rules:      rules,
	}
	client, err := rest.New(config)
	if err != nil {
		return nil, err
	}
	config.Base = root + "/build-status/1.0"
	status, err := rest.New(config)
	if err != nil {
		return nil, err
	}
	return &provider{
		client:     client,
		status:     status,
		repository: where.repository,
		location:   where,
		path:       "/projects/" + url.PathEscape(where.project) + "/repos/" + url.PathEscape(where.slug) + "/pull-requests",
	}, nil
}

func (f *provider) Repository() gitprovider.Repository { return f.repository }

func (f *provider) Create(ctx context.Context, wish gitprovider.NewPullRequest) (gitprovider.PullRequest, error) {
	const operation = "open a pull request"
	var answer pull
	_, err := f.client.Do(ctx, rest.Request{
		Operation: operation,
		Method:    http.MethodPost,
		Path:      f.path,
		Body: newPull{
			Title: wish.Title, Description: wish.Body, FromRef: f.location.ref(wish.Head), ToRef: f.location.ref(wish.Base),
		},
		Into:     &answer,
		Classify: classifyCreation,
	})
	if err != nil {
		return gitprovider.PullRequest{}, err
	}
	return f.client.Checked(operation, answer.common())
}

// classifyCreation separates duplicates from other errors with status 409, for example that there are no changes.
func classifyCreation(answer rest.Answer) gitprovider.Class {
	switch {
	case answer.Status != http.StatusConflict:
		return ""
	case strings.Contains(string(answer.Body), "DuplicatePullRequestException"):
		return gitprovider.Duplicate
	}
	return gitprovider.Refused
}

func (f *provider) FindByHead(ctx context.Context, head, base string) ([]gitprovider.PullRequest, error) {
	all, err := f.pages(ctx, "look for pull requests", url.Values{
		"state": {"ALL"}, "direction": {"OUTGOING"}, "at": {branchPrefix + head}, "order": {"NEWEST"},
	})
	return rest.From(all, head, base), err
}

func (f *provider) Get(ctx context.Context, number int64) (gitprovider.PullRequest, error) {
	p, _, err := f.get(ctx, number)
	if err != nil || p.State == gitprovider.Open {
		return p, err
	}
	return f.ended(ctx, p)
}

// get also returns the version, which requests for changes must name.
func (f *provider) get(ctx context.Context, number int64) (gitprovider.PullRequest, int64, error) {
	const operation = "read a pull request"
	var answer pull
	_, err := f.client.Do(ctx, rest.Request{Operation: operation, Method: http.MethodGet, Path: f.pathOf(number), Into: &answer})
	if err != nil {
		return gitprovider.PullRequest{}, 0, err
	}
	p, err := f.client.Checked(operation, answer.common())
	return p, answer.Version, err
}

// ended adds who merged or declined the pull request, which only its activities show. The latest activity comes first.
func (f *provider) ended(ctx context.Context, p gitprovider.PullRequest) (gitprovider.PullRequest, error) {
	var answer struct {
		Values []activity `json:"values"`
	}
	_, err := f.client.Do(ctx, rest.Request{
		Operation: "read a pull request",
		Method:    http.MethodGet,
		Path:      f.pathOf(p.Number) + "/activities",
		Query:     url.Values{"limit": {pageSize}},
		Into:      &answer,
	})
	if err := rest.Optional(err); err != nil {
		return gitprovider.PullRequest{}, err
	}
	for _, one := range answer.Values {
		if one.Action == "MERGED" || one.Action == "DECLINED" {
			return one.addTo(p), nil
		}
	}
	return p, nil
}

// List returns all open pull requests: Bitbucket supports neither sorting by the last change nor conditional requests.
func (f *provider) List(ctx context.Context, _ gitprovider.Cursor) (gitprovider.Listing, error) {
	open, err := f.pages(ctx, listing, url.Values{"state": {"OPEN"}, "order": {"NEWEST"}})
	if err != nil {
		return gitprovider.Listing{}, err
	}
	return gitprovider.Listing{PullRequests: open, Complete: true}, nil
}

func (f *provider) History(ctx context.Context) ([]gitprovider.PullRequest, error) {
	return f.client.History(listing,
		f.pager(ctx, listing, url.Values{"state": {"ALL"}, "order": {"NEWEST"}}),
		f.pager(ctx, listing, url.Values{"state": {"OPEN"}, "order": {"NEWEST"}}))
}

func (f *provider) pages(ctx context.Context, operation string, query url.Values) ([]gitprovider.PullRequest, error) {
	return f.client.All(operation, f.pager(ctx, operation, query))
}

// pager reads page after page. It uses the start of the next page from Bitbucket, which is not the number of previous entries.
func (f *provider) pager(ctx context.Context, operation string, query url.Values) func(int) (rest.Page, error) {
	start := int64(0)
	query.Set("limit", pageSize)
	return func(int) (rest.Page, error) {
		query.Set("start", strconv.FormatInt(start, 10))
		var answer paged
		_, err := f.client.Do(ctx, rest.Request{Operation: operation, Method: http.MethodGet, Path: f.path, Query: query, Into: &answer})
		switch {
		case err != nil:
			return rest.Page{}, err
		case answer.Values == nil:
			return rest.Page{}, f.client.NoList(operation)
		case !answer.IsLastPage && answer.NextPageStart <= start:
			return rest.Page{}, f.client.Malformed(operation, "the answer has no next page and is not marked as the last")
		}
		start = answer.NextPageStart
		page := rest.Page{More: !answer.IsLastPage}
		for _, one := range answer.Values {
			p, err := f.client.Checked(operation, one.common())
			if err != nil {
				return rest.Page{}, err
			}
			page.PullRequests = append(page.PullRequests, p)
		}
		return page, nil
	}
}

func (f *provider) Close(ctx context.Context, number int64) (gitprovider.PullRequest, error) {
	const operation = "decline a pull request"
	before, version, err := f.get(ctx, number)
	if err != nil {
		return gitprovider.PullRequest{}, err
	}
	if before.State != gitprovider.Open {
		return f.ended(ctx, before)
	}
	var answer pull
	_, err = f.client.Do(ctx, rest.Request{
		Operation: operation,
		Method:    http.MethodPost,
		Path:      f.pathOf(number) + "/decline",
		Query:     url.Values{"version": {strconv.FormatInt(version, 10)}},
		Header:    http.Header{"Content-Type": {"application/json"}, "X-Atlassian-Token": {"no-check"}},
		Into:      &answer,
	})
	if err != nil {
		return gitprovider.PullRequest{}, err
	}
	return f.client.Checked(operation, answer.common())
}

func (f *provider) Comment(ctx context.Context, number int64, text string) error {
	_, err := f.client.Do(ctx, rest.Request{
		Operation: "comment on a pull request",
		Method:    http.MethodPost,
		Path:      f.pathOf(number) + "/comments",
		Body:      map[string]string{"text": text},
	})
	return err
}

func (f *provider) pathOf(number int64) string { return f.path + "/" + strconv.FormatInt(number, 10) }
