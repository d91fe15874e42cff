// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"errors"
	"time"

	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/gitremote"
	"espalier.dev/internal/gitprovider/marker"
)

// Place is the repository of a pull request, with the two ways to reach it.
type Place struct {
	Provider gitprovider.Provider
	Git      gitremote.Settings
}

// Request is a request to propose a revision. All attempts of one promotion use the same request.
type Request struct {
	Place
	// Base is the branch that gets the revision, Branch the one from which it is proposed. Branch belongs to this promotion alone.
	Base, Branch string
	// Key identifies the promotion.
	Key string
	// Marker marks the values to change.
	Marker marker.Marker
	// Revision is the name for display. Value is written into files; if empty, Revision is.
	Revision, Value string
	// Run is the number of the run that the promotion belongs to.
	Run int64
	// Retry reports that the revision is proposed again, although users may have closed an earlier pull request for it.
	Retry bool
	// Expected are the values that marked places may hold before; another value was set by hand in the meantime. None means any.
	Expected []string
	// Note is added to the description, in Markdown. It may be empty.
	Note string
	// Time is when the promotion started. It becomes the time of the commit, so that every attempt creates the same commit.
	Time time.Time
	// UpToDate recreates the branch even if the base branch has changed only in other files, for providers that merge
	// only branches that are up to date.
	UpToDate bool
}

func (r Request) value() string {
	if r.Value == "" {
		return r.Revision
	}
	return r.Value
}

// Outcome is the result of a request.
type Outcome string

const (
	// Open means that there is an open pull request.
	Open Outcome = "Open"
	// Merged means that the pull request of this promotion has already been merged.
	Merged Outcome = "Merged"
	// Closed means that the pull request of this promotion has been closed without merging. It is not reopened.
	Closed Outcome = "Closed"
	// AlreadyPresent means that the base branch holds the revision, whatever its origin. If there is a pull request nevertheless, it no longer
	// changes anything and should be withdrawn.
	AlreadyPresent Outcome = "AlreadyPresent"
)

// Result is the result of a request.
type Result struct {
	Outcome Outcome
	// PullRequest is the one of this promotion, if there is one.
	PullRequest *gitprovider.PullRequest
	// Adopted reports whether the pull request already existed.
	Adopted bool
	// Key is the one that the pull request carries, if it differs from that of the request.
	Key string
	// BaseCommit is the tip of the base branch on which the result is based, and HeadCommit that of the branch; empty if they were not read.
	BaseCommit, HeadCommit string
}

// Reasons of errors that this package finds; all others have those of package gitprovider.
const (
	// ReasonNoMarker means that no file of the base branch carries the marker.
	ReasonNoMarker = "MarkerNotFound"
	// ReasonUnreadable means that a file with the marker cannot be rewritten.
	ReasonUnreadable = "MarkedFileUnreadable"
	// ReasonOverridden means that a marked value was set by hand and is not deployed yet.
	ReasonOverridden = "BaseOverridden"
	// ReasonNoBase means that the base branch does not exist.
	ReasonNoBase = "BaseBranchNotFound"
	// ReasonForeignBranch means that our branch has commits that are not ours.
	ReasonForeignBranch = "BranchNotOurs"
	// ReasonForeignPullRequest means that there is a pull request from our branch that is not ours.
	ReasonForeignPullRequest = "PullRequestNotOurs"
	// ReasonContended means that there were several concurrent pushes in a row.
	ReasonContended = "BranchContended"
)

// Proposer proposes and withdraws. Its methods are safe for concurrent use; within one repository, calls run one after another, in the
// order in which they arrive.
type Proposer struct {
	queue    queue
	verdicts verdicts
}

// New returns a Proposer.
func New() *Proposer { return &Proposer{} }

func (r Request) check() error {
	switch {
	case r.Provider == nil:
		return errors.New("propose: no provider")
	case r.Base == "" || r.Branch == "" || r.Key == "":
		return errors.New("propose: base branch, branch and key must be set")
	case r.Base == r.Branch:
		return gitprovider.Misconfiguredf("baseBranch %q is the branch for this promotion: use another", r.Base)
	}
	return marker.CheckRevision(r.value())
}
