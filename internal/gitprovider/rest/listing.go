// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"espalier.dev/internal/gitprovider"
)

const maxPages = 500

// Page is a part of a listing.
type Page struct {
	PullRequests []gitprovider.PullRequest
	// More reports whether there is another page.
	More bool
	// Tag is the entity tag of the page, if the provider sends one.
	Tag string
	// Unchanged reports that the page equals the one that returned the cursor. It then has no pull requests.
	Unchanged bool
}

// EachPage fetches the pages 1, 2 and so on, until there are no more or visit returns false.
func (c *Client) EachPage(operation string, fetch func(page int) (Page, error), visit func(Page) bool) error {
	for number := 1; number <= maxPages; number++ {
		page, err := fetch(number)
		if err != nil {
			return err
		}
		if !visit(page) || !page.More {
			return nil
		}
	}
	return c.Malformed(operation, "the listing has more than %d pages", maxPages)
}

// All returns the pull requests of all pages.
func (c *Client) All(operation string, fetch func(page int) (Page, error)) ([]gitprovider.PullRequest, error) {
	var all []gitprovider.PullRequest
	err := c.EachPage(operation, fetch, func(page Page) bool {
		all = append(all, page.PullRequests...)
		return true
	})
	return all, err
}

// History implements Provider.History. Both functions return pages with the newest pull request first: that order does not change while the
// pages are read, so that none is missed.
func (c *Client) History(operation string, everything, open func(page int) (Page, error)) ([]gitprovider.PullRequest, error) {
	var found []gitprovider.PullRequest
	more := false
	err := c.EachPage(operation, everything, func(page Page) bool {
		found, more = append(found, page.PullRequests...), page.More
		return len(found) < gitprovider.HistoryLength
	})
	if err != nil || !more {
		return found, err
	}
	older, err := c.All(operation, open)
	if err != nil {
		return nil, err
	}
	known := map[int64]bool{}
	for _, p := range found {
		known[p.Number] = true
	}
	return append(found, slices.DeleteFunc(older, func(p gitprovider.PullRequest) bool { return known[p.Number] })...), nil
}

// HasNext reports whether a response names a next page. The address of that page is not used, because the server could name any address.
func HasNext(header http.Header) bool {
	for _, links := range header.Values("Link") {
		for link := range strings.SplitSeq(links, ",") {
			if strings.Contains(link, `rel="next"`) {
				return true
			}
		}
	}
	return header.Get("X-Next-Page") != ""
}

// Checked returns a pull request from the provider if it is plausible.
func (c *Client) Checked(operation string, p gitprovider.PullRequest) (gitprovider.PullRequest, error) {
	switch {
	case p.Number <= 0:
		return gitprovider.PullRequest{}, c.Malformed(operation, "the answer contains a pull request without a number")
	case p.State != gitprovider.Open && p.State != gitprovider.Merged && p.State != gitprovider.Closed:
		return gitprovider.PullRequest{}, c.Malformed(operation, "pull request %d has an unknown state", p.Number)
	case p.Base == "":
		return gitprovider.PullRequest{}, c.Malformed(operation, "pull request %d has no target branch", p.Number)
	}
	if !strings.HasPrefix(p.URL, "https://") && !strings.HasPrefix(p.URL, "http://") {
		p.URL = "" // it is shown as a link
	}
	if p.State != gitprovider.Merged {
		p.MergeCommit = ""
	}
	if p.State == gitprovider.Open {
		p.ClosedBy, p.ClosedTime = "", time.Time{}
	}
	return p, nil
}

// NoList is the error for a response without its list, which must not count as an empty one.
func (c *Client) NoList(operation string) error {
	return c.Malformed(operation, "the answer contains no list")
}

// From returns the pull requests from one branch of the repository into another.
func From(all []gitprovider.PullRequest, head, base string) []gitprovider.PullRequest {
	return slices.DeleteFunc(all, func(p gitprovider.PullRequest) bool {
		return p.Fork || p.Head != head || p.Base != base
	})
}

// overlap is how far a listing reaches back before the last reported change: providers store whole seconds, and their replicas may lag
// behind.
const overlap = time.Minute

// Feed lists the pull requests of a provider that can sort them by their last change.
type Feed struct {
	Client    *Client
	Operation string
	// Recent returns a page of all pull requests, in any state, the last changed first. It may omit those that did not change after the time
	// of the cursor.
	Recent func(ctx context.Context, page int, since gitprovider.Cursor) (Page, error)
	// Open returns a page of those that are open.
	Open func(ctx context.Context, page int) (Page, error)
}

// List implements Provider.List.
func (f Feed) List(ctx context.Context, since gitprovider.Cursor) (gitprovider.Listing, error) {
	if since.Since.IsZero() {
		return f.begin(ctx, since)
	}
	listing := gitprovider.Listing{Next: since}
	first := true
	asked := gitprovider.Cursor{Tag: since.Tag, Since: since.Since.Add(-overlap)}
	fetch := func(number int) (Page, error) { return f.Recent(ctx, number, asked) }
	err := f.Client.EachPage(f.Operation, fetch, func(page Page) bool {
		if first && !page.Unchanged {
			listing.Next = page.cursor(since)
		}
		first = false
		for _, p := range page.PullRequests {
			if p.UpdatedTime.Before(asked.Since) {
				return false
			}
			listing.PullRequests = append(listing.PullRequests, p)
		}
		return true
	})
	if err != nil {
		return gitprovider.Listing{}, err
	}
	return listing, nil
}

// begin records the last change before it lists the open pull requests, so that no change in between is lost.
func (f Feed) begin(ctx context.Context, since gitprovider.Cursor) (gitprovider.Listing, error) {
	newest, err := f.Recent(ctx, 1, gitprovider.Cursor{Tag: since.Tag})
	if err != nil {
		return gitprovider.Listing{}, err
	}
	if newest.Unchanged {
		return gitprovider.Listing{Next: since}, nil
	}
	listing := gitprovider.Listing{PullRequests: newest.PullRequests, Complete: true, Next: newest.cursor(since)}
	if !newest.More {
		return listing, nil
	}
	open, err := f.Client.All(f.Operation, func(number int) (Page, error) { return f.Open(ctx, number) })
	if err != nil {
		return gitprovider.Listing{}, err
	}
	listing.PullRequests = open
	return listing, nil
}

// cursor returns the cursor after a page that starts with the last change.
func (p Page) cursor(before gitprovider.Cursor) gitprovider.Cursor {
	next := gitprovider.Cursor{Tag: p.Tag, Since: before.Since}
	for _, one := range p.PullRequests {
		if one.UpdatedTime.After(next.Since) {
			next.Since = one.UpdatedTime
		}
	}
	return next
}
