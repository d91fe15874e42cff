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

// Place is the repository in which something is proposed, by the two ways in which it is reached.
type Place struct {
	Provider gitprovider.Provider
	Git      gitremote.Settings
}

// Request asks for a revision to be proposed. All attempts of one promotion make the same request.
type Request struct {
	Place
	// Base is the branch that is to hold the revision, Branch the one from which it is proposed. Branch belongs to this promotion
	// alone.
	Base, Branch string
	// Key identifies the promotion.
	Key string
	// Marker says which values are changed.
	Marker marker.Marker
	// Revision is what people call it. Value is what is written into files; if it is empty, the revision is.
	Revision, Value string
	// Run is the number of the run that the promotion belongs to.
	Run int64
	// Expected are the values that marked places may hold before; one that holds another was set by hand since. None means any.
	Expected []string
	// Note is added to the description, in Markdown. It may be empty.
	Note string
	// Time is when the promotion began. It becomes the time of the commit, so that the commit is the same at each attempt.
	Time time.Time
	// UpToDate asks for the branch to be made anew even if the base branch has only moved on without touching the same files, for
	// providers that merge nothing else.
	UpToDate bool
}

func (r Request) value() string {
	if r.Value == "" {
		return r.Revision
	}
	return r.Value
}

// Outcome is what came of a request.
type Outcome string

const (
	// Open means that there is an open pull request.
	Open Outcome = "Open"
	// Merged means that the pull request of this promotion has been merged already.
	Merged Outcome = "Merged"
	// Closed means that the pull request of this promotion has been closed without merging. It is not opened again.
	Closed Outcome = "Closed"
	// AlreadyPresent means that the base branch holds the revision, wherever it came from. If there is a pull request nevertheless, it
	// changes nothing any more and should be withdrawn.
	AlreadyPresent Outcome = "AlreadyPresent"
)

// Proposal is the answer to a request.
type Proposal struct {
	Outcome Outcome
	// PullRequest is the one of this promotion, if there is one.
	PullRequest *gitprovider.PullRequest
	// Adopted says that the pull request was there before.
	Adopted bool
	// Key is the one that the pull request carries, if it is another one than that of the request.
	Key string
	// BaseCommit is the tip of the base branch on which the answer rests, and HeadCommit that of the branch; empty if nobody had to look.
	BaseCommit, HeadCommit string
}

// Reasons of errors that this package finds; all others have those of package gitprovider.
const (
	// ReasonNoMarker means that no file of the base branch carries the marker.
	ReasonNoMarker = "MarkerNotFound"
	// ReasonUnreadable means that a file with the marker cannot be rewritten.
	ReasonUnreadable = "MarkedFileUnreadable"
	// ReasonOverridden means that somebody has set a marked value by hand, which has not arrived yet.
	ReasonOverridden = "BaseOverridden"
	// ReasonNoBase means that the base branch does not exist.
	ReasonNoBase = "BaseBranchNotFound"
	// ReasonForeignBranch means that our branch has commits that are not ours.
	ReasonForeignBranch = "BranchNotOurs"
	// ReasonForeignPullRequest means that there is a pull request from our branch that is not ours.
	ReasonForeignPullRequest = "PullRequestNotOurs"
	// ReasonContended means that others pushed at the same moment, several times in a row.
	ReasonContended = "BranchContended"
)

// Proposer proposes and withdraws. Its methods may be called from many goroutines; in one repository they work one after the other, in
// the order in which they came.
type Proposer struct {
	queue    queue
	verdicts verdicts
}

// New returns a Proposer.
func New() *Proposer { return &Proposer{} }

func (r Request) check() error {
	switch {
	case r.Provider == nil:
		return errors.New("propose: no provider is given")
	case r.Base == "" || r.Branch == "" || r.Key == "":
		return errors.New("propose: base branch, branch and key must be given")
	case r.Base == r.Branch:
		return gitprovider.Misconfiguredf("baseBranch %q has the name of the branch for this promotion: use another", r.Base)
	}
	return marker.CheckRevision(r.value())
}
