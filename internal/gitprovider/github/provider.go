// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package github is the client for pull requests on GitHub and GitHub Enterprise.
package github

import (
	"context"
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
	recentSize = 30 // GitHub describes both repositories in each pull request, about 20 KiB
	pageSize   = 100
)

type provider struct {
	client      *rest.Client
	repository  gitprovider.Repository
	owner, path string
	// noChecks reports whether the token may not read check runs.
	noChecks atomic.Bool
}

// New returns the repository at an address such as https://github.com/owner/name.
func New(address gitprovider.Address, credentials gitprovider.Credentials, rules dial.Rules) (gitprovider.Provider, error) {
	repository, err := Identify(address)
	if err != nil {
		return nil, err
	}
	client, err := rest.New(rest.Config{
		Base:       baseOf(address),
		Repository: repository,
		Header: http.Header{
			"Authorization":        {"Bearer " + credentials.Token},
			"Accept":               {"application/vnd.github+json"},
			"X-Github-Api-Version": {"2022-11-28"},
		},
		Secrets: credentials.Secrets(),
		CA:      credentials.CA,
		Rules:   rules,
	})
	if err != nil {
		return nil, err
	}
	owner, name := address.Segments[0], address.Segments[1]
	return &provider{
		client:     client,
		repository: repository,
		owner:      owner,
		path:       "/repos/" + url.PathEscape(owner) + "/" + url.PathEscape(name),
	}, nil
}

// Identify returns the repository of an address.
func Identify(address gitprovider.Address) (gitprovider.Repository, error) {
	if len(address.Segments) != 2 {
		return gitprovider.Repository{}, gitprovider.Misconfiguredf(
			"url has %d parts after the host, GitHub needs two: use https://HOST/OWNER/REPOSITORY",
			len(address.Segments),
		)
	}
	return gitprovider.NewRepository(strings.TrimPrefix(address.Host, "www."), strings.Join(address.Segments, "/")), nil
}

// baseOf returns the URL of the API: a separate host for github.com and tenants of ghe.com, a path for GitHub Enterprise Server.
func baseOf(address gitprovider.Address) string {
	host := strings.TrimPrefix(address.Host, "www.")
	if host == "github.com" || strings.HasSuffix(host, ".ghe.com") {
		return address.Scheme + "://api." + host
	}
	return address.Scheme + "://" + host + "/api/v3"
}

func (f *provider) Repository() gitprovider.Repository { return f.repository }

func (f *provider) Create(ctx context.Context, wish gitprovider.NewPullRequest) (gitprovider.PullRequest, error) {
	const operation = "open a pull request"
	var answer pull
	_, err := f.client.Do(ctx, rest.Request{
		Operation: operation,
		Method:    http.MethodPost,
		Path:      f.path + "/pulls",
		Body:      map[string]string{"title": wish.Title, "head": wish.Head, "base": wish.Base, "body": wish.Body},
		Into:      &answer,
		Classify:  classifyCreation,
	})
	if err != nil {
		return gitprovider.PullRequest{}, err
	}
	return f.client.Checked(operation, answer.common())
}

// classifyCreation detects duplicates: GitHub responds with 422 to them and to all invalid requests, and only the message differs.
func classifyCreation(answer rest.Answer) gitprovider.Class {
	if answer.Status == http.StatusUnprocessableEntity && strings.Contains(string(answer.Body), "pull request already exists") {
		return gitprovider.Duplicate
	}
	return ""
}

func (f *provider) FindByHead(ctx context.Context, head, base string) ([]gitprovider.PullRequest, error) {
	const operation = "look for pull requests"
	all, err := f.client.All(operation, func(page int) (rest.Page, error) {
		return f.page(ctx, rest.Request{Operation: operation}, url.Values{
			"state": {"all"}, "head": {f.owner + ":" + head}, "base": {base}, "sort": {"created"}, "direction": {"desc"},
			"per_page": {strconv.Itoa(pageSize)}, "page": {strconv.Itoa(page)},
		})
	})
	return rest.From(all, head, base), err
}

func (f *provider) Get(ctx context.Context, number int64) (gitprovider.PullRequest, error) {
	const operation = "read a pull request"
	var answer pull
	_, err := f.client.Do(ctx, rest.Request{Operation: operation, Method: http.MethodGet, Path: f.pathOf("pulls", number), Into: &answer})
	if err != nil {
		return gitprovider.PullRequest{}, err
	}
	p, err := f.client.Checked(operation, answer.common())
	if err != nil || p.State != gitprovider.Closed {
		return p, err
	}
	var issue struct {
		ClosedBy *user `json:"closed_by"`
	}
	_, err = f.client.Do(ctx, rest.Request{Operation: operation, Method: http.MethodGet, Path: f.pathOf("issues", number), Into: &issue})
	p.ClosedBy = issue.ClosedBy.name()
	return p, rest.Optional(err) // a token for pull requests need not permit reading issues
}

func (f *provider) List(ctx context.Context, since gitprovider.Cursor) (gitprovider.Listing, error) {
	return rest.Feed{Client: f.client, Operation: listing, Recent: f.recent, Open: f.open}.List(ctx, since)
}

// recent sends requests that GitHub does not count if nothing has changed: the first page is conditional, and any change to any pull
// request changes it.
func (f *provider) recent(ctx context.Context, page int, since gitprovider.Cursor) (rest.Page, error) {
	request := rest.Request{Operation: listing}
	if page == 1 && since.Tag != "" {
		request.Header = http.Header{"If-None-Match": {since.Tag}}
	}
	return f.page(ctx, request, url.Values{
		"state": {"all"}, "sort": {"updated"}, "direction": {"desc"},
		"per_page": {strconv.Itoa(recentSize)}, "page": {strconv.Itoa(page)},
	})
}

func (f *provider) open(ctx context.Context, page int) (rest.Page, error) {
	return f.newest(ctx, "open", page)
}

func (f *provider) newest(ctx context.Context, state string, page int) (rest.Page, error) {
	return f.page(ctx, rest.Request{Operation: listing}, url.Values{
		"state": {state}, "sort": {"created"}, "direction": {"desc"},
		"per_page": {strconv.Itoa(pageSize)}, "page": {strconv.Itoa(page)},
	})
}

func (f *provider) History(ctx context.Context) ([]gitprovider.PullRequest, error) {
	return f.client.History(listing,
		func(page int) (rest.Page, error) { return f.newest(ctx, "all", page) },
		func(page int) (rest.Page, error) { return f.newest(ctx, "open", page) })
}

func (f *provider) page(ctx context.Context, request rest.Request, query url.Values) (rest.Page, error) {
	var pulls []pull
	request.Method, request.Path, request.Query, request.Into = http.MethodGet, f.path+"/pulls", query, &pulls
	answer, err := f.client.Do(ctx, request)
	if err != nil {
		return rest.Page{}, err
	}
	page := rest.Page{
		More: rest.HasNext(answer.Header), Tag: answer.Header.Get("ETag"), Unchanged: answer.Status == http.StatusNotModified,
	}
	if pulls == nil && !page.Unchanged {
		return rest.Page{}, f.client.NoList(request.Operation)
	}
	for _, one := range pulls {
		p, err := f.client.Checked(request.Operation, one.common())
		if err != nil {
			return rest.Page{}, err
		}
		page.PullRequests = append(page.PullRequests, p)
	}
	return page, nil
}

func (f *provider) Close(ctx context.Context, number int64) (gitprovider.PullRequest, error) {
	const operation = "close a pull request"
	before, err := f.Get(ctx, number)
	if err != nil || before.State != gitprovider.Open {
		return before, err
	}
	var answer pull
	_, err = f.client.Do(ctx, rest.Request{
		Operation: operation,
		Method:    http.MethodPatch,
		Path:      f.pathOf("pulls", number),
		Body:      map[string]string{"state": "closed"},
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
		Path:      f.pathOf("issues", number) + "/comments",
		Body:      map[string]string{"body": text},
	})
	return err
}

func (f *provider) pathOf(kind string, number int64) string {
	return f.path + "/" + kind + "/" + strconv.FormatInt(number, 10)
}
