// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"context"
	"fmt"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/gitremote"
)

// Withdrawal is a request to close a pull request.
type Withdrawal struct {
	Place
	// Base, Branch and Key are those of the promotion.
	Base, Branch, Key string
	// Number of the pull request; zero if unknown, then it is looked up.
	Number int64
	// Comment is the reason, in Markdown; empty leaves no comment.
	Comment string
	// Repeated reports that an earlier attempt may have closed the pull request without commenting.
	Repeated bool
}

// Withdrawn is the result of a withdrawal.
type Withdrawn struct {
	// PullRequest in its current state; nil if there is none. It may have been merged in the meantime.
	PullRequest *gitprovider.PullRequest
	// KeptBranch reports that the branch remains, since it has commits by others.
	KeptBranch bool
}

// Withdraw closes the pull request of a promotion, comments with the reason, and removes the branch unless others have added to it. It may
// be repeated; what is already gone is not an error. If it fails after closing the pull request, it returns that in addition to the error.
// The comment comes after the closing: otherwise, a provider that does not permit closing gets one at each attempt.
func (p *Proposer) Withdraw(ctx context.Context, w Withdrawal) (Withdrawn, error) {
	leave, err := p.queue.enter(ctx, w.Provider.Repository())
	if err != nil {
		return Withdrawn{}, fmt.Errorf("wait for other promotions in %s: %w", w.Provider.Repository(), err)
	}
	defer leave()
	pr, err := w.find(ctx)
	if err == nil && pr != nil {
		pr, err = w.end(ctx, *pr)
	}
	result := Withdrawn{PullRequest: pr}
	if err != nil || pr != nil && pr.State == gitprovider.Merged {
		return result, err
	}
	if result.KeptBranch, err = w.removeBranch(ctx); err != nil {
		err = fmt.Errorf("remove branch %s: %w", w.Branch, err)
	}
	return result, err
}

// end closes the pull request and comments. It returns the resulting pull request, even with an error; nil if it may still be open.
func (w Withdrawal) end(ctx context.Context, pr gitprovider.PullRequest) (*gitprovider.PullRequest, error) {
	silent := w.Repeated
	if pr.State == gitprovider.Open {
		closed, err := w.Provider.Close(ctx, pr.Number)
		if err != nil {
			return nil, err
		}
		pr, silent = closed, true
	}
	if pr.State != gitprovider.Closed || !silent {
		return &pr, nil
	}
	return &pr, w.comment(ctx, pr)
}

// find returns the pull request, or nil if there is none.
func (w Withdrawal) find(ctx context.Context) (*gitprovider.PullRequest, error) {
	if w.Number == 0 {
		all, err := w.Provider.FindByHead(ctx, w.Branch, w.Base)
		sortByState(all)
		for i := range all {
			if hasKey(all[i].Body, w.Key) {
				return &all[i], nil
			}
		}
		return nil, err
	}
	pr, err := w.Provider.Get(ctx, w.Number)
	switch {
	case gitprovider.ClassOf(err) == gitprovider.NotFound && err != nil:
		return nil, nil
	case err != nil:
		return nil, err
	case pr.Head != w.Branch || pr.Fork:
		return nil, failure.Terminalf(failure.Details{Operation: "withdraw", Reason: ReasonForeignPullRequest},
			"pull request %s comes from branch %s, not from %s, and is not closed", pr.URL, pr.Head, w.Branch)
	}
	return &pr, nil
}

// comment gives the reason. If the provider rejects the comment, the branch is still removed.
func (w Withdrawal) comment(ctx context.Context, pr gitprovider.PullRequest) error {
	if w.Comment == "" {
		return nil
	}
	err := w.Provider.Comment(ctx, pr.Number, w.Comment)
	if err != nil && gitprovider.ClassOf(err).Permanent() {
		return nil
	}
	return err
}

// removeBranch removes our branch, or reports that it must stay.
func (w Withdrawal) removeBranch(ctx context.Context) (kept bool, err error) {
	remote, err := gitremote.Connect(w.Git)
	if err != nil {
		return false, err
	}
	defer remote.Close()
	tips, err := remote.Tips(ctx, w.Branch)
	head := tips[w.Branch]
	if err != nil || head == "" {
		return false, err
	}
	objects, err := remote.Fetch(ctx, gitremote.Wish{Commits: []string{head}, Depth: 1, WithoutFiles: true})
	if err != nil {
		return false, err
	}
	defer func() { _ = objects.Close() }()
	commit, err := objects.Commit(head)
	if err != nil {
		return false, err
	}
	if !isOurs(commit, w.Key) {
		return true, nil
	}
	return false, remote.Push(ctx, gitremote.Update{Branch: w.Branch, From: head})
}
