// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitprovider

import (
	"context"
	"time"
)

// Provider is one repository on a Git server. Its methods are safe for concurrent use. All their errors carry a Class, and a kind of
// package failure.
type Provider interface {
	// Repository returns the identity of the repository.
	Repository() Repository

	// Create opens a pull request. If one with the same head and base is already open, the error has the class Duplicate, and FindByHead
	// returns that one.
	Create(ctx context.Context, wish NewPullRequest) (PullRequest, error)

	// FindByHead returns all pull requests from the branch head of this repository into its branch base, in any state, the newest first. Those
	// from branches of the same name in forks are excluded. Their bodies are complete.
	FindByHead(ctx context.Context, head, base string) ([]PullRequest, error)

	// Get returns one pull request, with everything that the provider reports about its end. If the number does not exist, the error has the
	// class NotFound.
	Get(ctx context.Context, number int64) (PullRequest, error)

	// List returns the changes to pull requests since the listing that returned the cursor. The zero cursor starts from scratch. See Listing.
	List(ctx context.Context, since Cursor) (Listing, error)

	// History is for callers without any state: it returns all open pull requests, and of the others the most recently opened ones, about
	// HistoryLength of them. Bodies may be truncated; see BodyCut.
	History(ctx context.Context) ([]PullRequest, error)

	// Close closes a pull request without merging it, and returns its state afterwards. One that is no longer open is returned unchanged, so
	// check its state: it may have been merged in the meantime.
	Close(ctx context.Context, number int64) (PullRequest, error)

	// Checks returns the checks of the head commit of an open pull request. Checks that the credentials do not permit reading are unknown,
	// which is not an error: then the pull request does not count as passed.
	Checks(ctx context.Context, of PullRequest) (Checks, error)

	// Comment adds a comment to the conversation of a pull request in any state.
	Comment(ctx context.Context, number int64, text string) error
}

// HistoryLength is how far back History reaches, in pull requests of any state.
const HistoryLength = 1000

// State is the state of a pull request.
type State string

const (
	// Open means that it can still be merged.
	Open State = "Open"
	// Merged means that its changes are in the base branch.
	Merged State = "Merged"
	// Closed means that it was closed without merging.
	Closed State = "Closed"
)

// PullRequest is a pull request, or merge request, in any state.
type PullRequest struct {
	// Number identifies it within its repository.
	Number int64
	// URL is the web page.
	URL   string
	State State
	Title string
	// Body is the description. Some providers truncate it in listings; BodyCut reports that they may have, and that Get returns all of it.
	Body    string
	BodyCut bool

	// Head is the branch with the changes, without refs/heads/.
	Head string
	// HeadCommit is the last commit of Head that the provider has seen.
	HeadCommit string
	// Fork reports whether Head is a branch of another repository.
	Fork bool
	// Base is the branch to merge into, without refs/heads/.
	Base string

	// MergeCommit is the commit on the base branch that resulted from the merge; empty unless State is Merged.
	MergeCommit string
	// ClosedBy is the login of the user who merged or closed it. Not every provider reports it, and some only through Get.
	ClosedBy string
	// ClosedTime is when it was merged or closed; zero while it is open.
	ClosedTime time.Time
	// CreatedTime is when it was opened.
	CreatedTime time.Time
	// UpdatedTime is when anything about it last changed; zero if the provider does not report it.
	UpdatedTime time.Time
}

// NewPullRequest describes a pull request to open. Both branches are in the repository.
type NewPullRequest struct {
	Head, Base, Title, Body string
}

// Cursor records which changes a listing has already reported. The caller keeps it, in memory, and it is valid only for the provider that
// returned it.
type Cursor struct {
	// Tag is the entity tag of the last response.
	Tag string
	// Since is the time of the latest reported change, by the provider's clock.
	Since time.Time
}

// Listing is the result of List. Pull requests that it does not contain are unchanged, unless it is Complete.
type Listing struct {
	// PullRequests are those that changed, in any state; or, if Complete, all open ones, and possibly others.
	PullRequests []PullRequest
	// Complete reports that PullRequests contains every open pull request, so that a missing one is no longer open: Get returns how it ended.
	// The result for the zero cursor is always complete; some providers cannot list changes only, so all their listings are.
	Complete bool
	// Next is the cursor for the next call.
	Next Cursor
}
