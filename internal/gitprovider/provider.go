// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitprovider

import (
	"context"
	"time"
)

// Provider is one repository at a Git server. Its methods may be called at the same time from several goroutines. All errors of its
// methods carry a Class, and a kind of package failure.
type Provider interface {
	// Repository tells which repository it is.
	Repository() Repository

	// Create opens a pull request. If there is already an open one with the same head and base, the error has the class
	// Duplicate, and FindByHead returns it.
	Create(ctx context.Context, wish NewPullRequest) (PullRequest, error)

	// FindByHead returns all pull requests from the branch head of this repository into its branch base, in any state, the
	// newest first. Those from branches of the same name in forks are not among them. Their bodies are complete.
	FindByHead(ctx context.Context, head, base string) ([]PullRequest, error)

	// Get returns one pull request, with all that the provider tells about its end. If there is none of this number, the error has
	// the class NotFound.
	Get(ctx context.Context, number int64) (PullRequest, error)

	// List returns what has become of the pull requests since the listing that the cursor comes from. The zero cursor begins
	// anew. See Listing.
	List(ctx context.Context, since Cursor) (Listing, error)

	// History is for somebody without any memory: it returns all pull requests that are open, and of the others those that were opened
	// last, some HistoryLength of them. Bodies may be cut; see BodyCut.
	History(ctx context.Context) ([]PullRequest, error)

	// Close closes a pull request without merging it, and returns it as it is afterwards. One that is not open any more is
	// returned as it is, so look at its state: it may have been merged in the meantime.
	Close(ctx context.Context, number int64) (PullRequest, error)

	// Checks returns what others say of the head commit of a pull request that is open. What the credentials do not permit to see is not
	// known, and no error: then they are not said to have passed.
	Checks(ctx context.Context, of PullRequest) (Checks, error)

	// Comment adds a comment to the conversation of a pull request, whatever its state.
	Comment(ctx context.Context, number int64, text string) error
}

// HistoryLength is how far back History goes, in pull requests of any state.
const HistoryLength = 1000

// State of a pull request.
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
	// URL is the page for people.
	URL   string
	State State
	Title string
	// Body is the description. Some providers cut it in listings; BodyCut says that they may have, and that Get returns it whole.
	Body    string
	BodyCut bool

	// Head is the branch with the changes, without refs/heads/.
	Head string
	// HeadCommit is the last commit of Head that the provider has seen.
	HeadCommit string
	// Fork says that Head is a branch of another repository.
	Fork bool
	// Base is the branch that it is to be merged into, without refs/heads/.
	Base string

	// MergeCommit is the commit on the base branch that came from merging; empty unless State is Merged.
	MergeCommit string
	// ClosedBy is the login of whoever merged or closed it. Not every provider tells it, and some only by way of Get.
	ClosedBy string
	// ClosedTime is when it was merged or closed; zero while it is open.
	ClosedTime time.Time
	// CreatedTime is when it was opened.
	CreatedTime time.Time
	// UpdatedTime is when anything about it last changed; zero where the provider does not tell it.
	UpdatedTime time.Time
}

// NewPullRequest is what a pull request is made of. Both branches are branches of the repository.
type NewPullRequest struct {
	Head, Base, Title, Body string
}

// Cursor says what a listing has already told. It is kept by the caller, in memory, and means something only to the provider that
// returned it.
type Cursor struct {
	// Tag is the entity tag of the last answer.
	Tag string
	// Since is the time of the latest change that was told, by the provider's clock.
	Since time.Time
}

// Listing is an answer of List. What it does not contain is unchanged, unless it is Complete.
type Listing struct {
	// PullRequests are those that changed, in any state; or, if Complete, all that are open, and possibly others.
	PullRequests []PullRequest
	// Complete says that every open pull request is among PullRequests, so that one that is not there is not open any more: Get
	// tells how it ended. The answer to the zero cursor is always complete; some providers cannot tell what changed, and all their
	// listings are.
	Complete bool
	// Next is the cursor for the next call.
	Next Cursor
}
