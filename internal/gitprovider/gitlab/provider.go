// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package gitlab is the client for merge requests on GitLab, which are its pull requests.
package gitlab

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/rest"
)

const (
	listing  = "list merge requests"
	pageSize = 100
)

type provider struct {
	client     *rest.Client
	repository gitprovider.Repository
	project    string // path of the project
	path       string // of its merge requests
}

// New returns the project at an address such as https://gitlab.com/group/subgroup/name.
func New(address gitprovider.Address, credentials gitprovider.Credentials, rules dial.Rules) (gitprovider.Provider, error) {
	repository, err := Identify(address)
	if err != nil {
		return nil, err
	}
	client, err := rest.New(rest.Config{
		Base:       address.Scheme + "://" + address.Host + "/api/v4",
		Repository: repository,
		Header:     http.Header{"Authorization": {"Bearer " + credentials.Token}, "Accept": {"application/json"}},
		Secrets:    credentials.Secrets(),
		CA:         credentials.CA,
		Rules:      rules,
	})
	if err != nil {
		return nil, err
	}
	project := "/projects/" + url.PathEscape(strings.Join(address.Segments, "/"))
	return &provider{client: client, repository: repository, project: project, path: project + "/merge_requests"}, nil
}

// Identify returns the project of an address.
func Identify(address gitprovider.Address) (gitprovider.Repository, error) {
	switch {
	case len(address.Segments) < 2:
		return gitprovider.Repository{}, gitprovider.Misconfiguredf(
			"url has only one part after the host, GitLab needs at least two: use https://HOST/GROUP/PROJECT, with subgroups in between",
		)
	case slices.Contains(address.Segments, "-"):
		return gitprovider.Repository{}, gitprovider.Misconfiguredf("url is a page of the project: remove /- and what follows")
	}
	return gitprovider.NewRepository(address.Host, strings.Join(address.Segments, "/")), nil
}

func (f *provider) Repository() gitprovider.Repository { return f.repository }

func (f *provider) Create(ctx context.Context, wish gitprovider.NewPullRequest) (gitprovider.PullRequest, error) {
	return f.change(ctx, rest.Request{
		Operation: "open a merge request",
		Method:    http.MethodPost,
		Path:      f.path,
		Body: map[string]string{
			"title": wish.Title, "source_branch": wish.Head, "target_branch": wish.Base, "description": wish.Body,
		},
		Classify: func(answer rest.Answer) gitprovider.Class {
			if answer.Status == http.StatusConflict {
				return gitprovider.Duplicate
			}
			return ""
		},
	})
}

func (f *provider) FindByHead(ctx context.Context, head, base string) ([]gitprovider.PullRequest, error) {
	const operation = "look for merge requests"
	all, err := f.client.All(operation, func(page int) (rest.Page, error) {
		return f.page(ctx, operation, url.Values{
			"state": {"all"}, "source_branch": {head}, "target_branch": {base}, "order_by": {"created_at"}, "page": {strconv.Itoa(page)},
		})
	})
	return rest.From(all, head, base), err
}

func (f *provider) Get(ctx context.Context, number int64) (gitprovider.PullRequest, error) {
	return f.change(ctx, rest.Request{Operation: "read a merge request", Method: http.MethodGet, Path: f.pathOf(number)})
}

func (f *provider) List(ctx context.Context, since gitprovider.Cursor) (gitprovider.Listing, error) {
	return rest.Feed{Client: f.client, Operation: listing, Recent: f.recent, Open: f.open}.List(ctx, since)
}

// recent makes GitLab omit what did not change. Entity tags save nothing: GitLab computes them from the complete response.
func (f *provider) recent(ctx context.Context, page int, since gitprovider.Cursor) (rest.Page, error) {
	query := url.Values{"state": {"all"}, "order_by": {"updated_at"}, "page": {strconv.Itoa(page)}}
	if !since.Since.IsZero() {
		query.Set("updated_after", since.Since.UTC().Format(time.RFC3339Nano))
	}
	return f.page(ctx, listing, query)
}

func (f *provider) open(ctx context.Context, page int) (rest.Page, error) {
	return f.newest(ctx, "opened", page)
}

func (f *provider) newest(ctx context.Context, state string, page int) (rest.Page, error) {
	return f.page(ctx, listing, url.Values{"state": {state}, "order_by": {"created_at"}, "page": {strconv.Itoa(page)}})
}

func (f *provider) History(ctx context.Context) ([]gitprovider.PullRequest, error) {
	return f.client.History(listing,
		func(page int) (rest.Page, error) { return f.newest(ctx, "all", page) },
		func(page int) (rest.Page, error) { return f.newest(ctx, "opened", page) })
}

func (f *provider) page(ctx context.Context, operation string, query url.Values) (rest.Page, error) {
	query.Set("scope", "all")
	query.Set("sort", "desc")
	query.Set("per_page", strconv.Itoa(pageSize))
	var found []mergeRequest
	answer, err := f.client.Do(ctx, rest.Request{Operation: operation, Method: http.MethodGet, Path: f.path, Query: query, Into: &found})
	if err != nil {
		return rest.Page{}, err
	}
	if found == nil {
		return rest.Page{}, f.client.NoList(operation)
	}
	page := rest.Page{More: rest.HasNext(answer.Header)}
	for _, one := range found {
		p, err := f.client.Checked(operation, one.common())
		if err != nil {
			return rest.Page{}, err
		}
		page.PullRequests = append(page.PullRequests, p)
	}
	return page, nil
}

func (f *provider) Close(ctx context.Context, number int64) (gitprovider.PullRequest, error) {
	before, err := f.Get(ctx, number)
	if err != nil || before.State != gitprovider.Open {
		return before, err
	}
	return f.change(ctx, rest.Request{
		Operation: "close a merge request",
		Method:    http.MethodPut,
		Path:      f.pathOf(number),
		Body:      map[string]string{"state_event": "close"},
	})
}

func (f *provider) Comment(ctx context.Context, number int64, text string) error {
	_, err := f.client.Do(ctx, rest.Request{
		Operation: "comment on a merge request",
		Method:    http.MethodPost,
		Path:      f.pathOf(number) + "/notes",
		Body:      map[string]string{"body": text},
	})
	return err
}

// change sends a request that returns one merge request.
func (f *provider) change(ctx context.Context, request rest.Request) (gitprovider.PullRequest, error) {
	var answer mergeRequest
	request.Into = &answer
	if _, err := f.client.Do(ctx, request); err != nil {
		return gitprovider.PullRequest{}, err
	}
	return f.client.Checked(request.Operation, answer.common())
}

func (f *provider) pathOf(number int64) string { return f.path + "/" + strconv.FormatInt(number, 10) }
