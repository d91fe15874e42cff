// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package gitea is the client for pull requests on Gitea and Forgejo.
package gitea

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/rest"
)

const (
	listing  = "list pull requests"
	pageSize = 50 // Gitea's maximum by default
)

type provider struct {
	client     *rest.Client
	repository gitprovider.Repository
	path       string
}

// New returns the repository at an address such as https://codeberg.org/owner/name.
func New(address gitprovider.Address, credentials gitprovider.Credentials, rules dial.Rules) (gitprovider.Provider, error) {
	repository, err := Identify(address)
	if err != nil {
		return nil, err
	}
	place, owner, name := split(address)
	client, err := rest.New(rest.Config{
		Base:       address.Scheme + "://" + address.Host + place + "/api/v1",
		Repository: repository,
		Header:     http.Header{"Authorization": {"token " + credentials.Token}, "Accept": {"application/json"}},
		Secrets:    credentials.Secrets(),
		CA:         credentials.CA,
		Rules:      rules,
	})
	if err != nil {
		return nil, err
	}
	return &provider{
		client:     client,
		repository: repository,
		path:       "/repos/" + url.PathEscape(owner) + "/" + url.PathEscape(name),
	}, nil
}

// Identify returns the repository of an address.
func Identify(address gitprovider.Address) (gitprovider.Repository, error) {
	if len(address.Segments) < 2 {
		return gitprovider.Repository{}, gitprovider.Misconfiguredf(
			"url has only one part after the host, Gitea needs two: use https://HOST/OWNER/REPOSITORY",
		)
	}
	return gitprovider.NewRepository(address.Host, strings.Join(address.Segments, "/")), nil
}

// split returns the path below which Gitea is served, if any, and the names of owner and repository.
func split(address gitprovider.Address) (place, owner, name string) {
	last := len(address.Segments) - 1
	for _, segment := range address.Segments[:last-1] {
		place += "/" + url.PathEscape(segment)
	}
	return place, address.Segments[last-1], address.Segments[last]
}

func (f *provider) Repository() gitprovider.Repository { return f.repository }

func (f *provider) Create(ctx context.Context, wish gitprovider.NewPullRequest) (gitprovider.PullRequest, error) {
	return f.change(ctx, rest.Request{
		Operation: "open a pull request",
		Method:    http.MethodPost,
		Path:      f.path + "/pulls",
		Body:      map[string]string{"title": wish.Title, "head": wish.Head, "base": wish.Base, "body": wish.Body},
		Classify: func(answer rest.Answer) gitprovider.Class {
			if answer.Status == http.StatusConflict {
				return gitprovider.Duplicate
			}
			return ""
		},
	})
}

// FindByHead first queries any pull request between the branches, since listings cannot be filtered by head.
func (f *provider) FindByHead(ctx context.Context, head, base string) ([]gitprovider.PullRequest, error) {
	const operation = "look for pull requests"
	_, err := f.client.Do(ctx, rest.Request{
		Operation: operation,
		Method:    http.MethodGet,
		Path:      f.path + "/pulls/" + url.PathEscape(base) + "/" + url.PathEscape(head),
	})
	if gitprovider.ClassOf(err) == gitprovider.NotFound && err != nil {
		// The response is the same if the repository is invisible.
		_, err = f.client.Do(ctx, rest.Request{Operation: operation, Method: http.MethodGet, Path: f.path})
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	all, err := f.client.All(operation, func(page int) (rest.Page, error) {
		return f.page(ctx, operation, url.Values{"state": {"all"}}, page)
	})
	return rest.From(all, head, base), err
}

func (f *provider) Get(ctx context.Context, number int64) (gitprovider.PullRequest, error) {
	const operation = "read a pull request"
	p, err := f.change(ctx, rest.Request{Operation: operation, Method: http.MethodGet, Path: f.pathOf("pulls", number)})
	if err != nil || p.State != gitprovider.Closed {
		return p, err
	}
	p.ClosedBy, err = f.closer(ctx, operation, p)
	return p, err
}

// closer returns who closed a pull request without merging it. The latest one counts, since it may have been reopened.
func (f *provider) closer(ctx context.Context, operation string, p gitprovider.PullRequest) (string, error) {
	var events []struct {
		Type string `json:"type"`
		User *user  `json:"user"`
	}
	_, err := f.client.Do(ctx, rest.Request{
		Operation: operation,
		Method:    http.MethodGet,
		Path:      f.pathOf("issues", p.Number) + "/timeline",
		Query:     url.Values{"since": {p.ClosedTime.UTC().Format(time.RFC3339)}},
		Into:      &events,
	})
	name := ""
	for _, event := range events {
		if event.Type == "close" {
			name = event.User.name()
		}
	}
	return name, rest.Optional(err) // a token for repositories need not permit reading issues
}

func (f *provider) List(ctx context.Context, since gitprovider.Cursor) (gitprovider.Listing, error) {
	return rest.Feed{Client: f.client, Operation: listing, Recent: f.recent, Open: f.open}.List(ctx, since)
}

// recent cannot be conditional: Gitea supports neither entity tags nor times here.
func (f *provider) recent(ctx context.Context, page int, _ gitprovider.Cursor) (rest.Page, error) {
	return f.page(ctx, listing, url.Values{"state": {"all"}, "sort": {"recentupdate"}}, page)
}

func (f *provider) open(ctx context.Context, page int) (rest.Page, error) {
	return f.page(ctx, listing, url.Values{"state": {"open"}}, page)
}

// History relies on the default order of listings in Gitea: the newest first.
func (f *provider) History(ctx context.Context) ([]gitprovider.PullRequest, error) {
	return f.client.History(listing,
		func(page int) (rest.Page, error) { return f.page(ctx, listing, url.Values{"state": {"all"}}, page) },
		func(page int) (rest.Page, error) { return f.open(ctx, page) })
}

func (f *provider) page(ctx context.Context, operation string, query url.Values, number int) (rest.Page, error) {
	query.Set("limit", strconv.Itoa(pageSize))
	query.Set("page", strconv.Itoa(number))
	var found []pull
	answer, err := f.client.Do(ctx, rest.Request{
		Operation: operation,
		Method:    http.MethodGet,
		Path:      f.path + "/pulls",
		Query:     query,
		Into:      &found,
	})
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
		Operation: "close a pull request",
		Method:    http.MethodPatch,
		Path:      f.pathOf("pulls", number),
		Body:      map[string]string{"state": "closed"},
		Classify: func(answer rest.Answer) gitprovider.Class {
			if answer.Status == http.StatusPreconditionFailed {
				return gitprovider.Conflict // merged in the meantime
			}
			return ""
		},
	})
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

// change sends a request that returns one pull request.
func (f *provider) change(ctx context.Context, request rest.Request) (gitprovider.PullRequest, error) {
	var answer pull
	request.Into = &answer
	if _, err := f.client.Do(ctx, request); err != nil {
		return gitprovider.PullRequest{}, err
	}
	return f.client.Checked(request.Operation, answer.common())
}

func (f *provider) pathOf(kind string, number int64) string {
	return f.path + "/" + kind + "/" + strconv.FormatInt(number, 10)
}
