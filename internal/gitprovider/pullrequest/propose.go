// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/gitprovider"
)

// maxCollisions is the number of concurrent pushes in a row after which the attempt is postponed.
const maxCollisions = 3

// Propose ensures that there is exactly one pull request for the promotion, unless the base branch already has the revision. It may take
// minutes. Errors have the kinds of package failure: a terminal one persists until a user changes the repository, the credentials or the
// pipeline.
func (p *Proposer) Propose(ctx context.Context, r Request) (Result, error) {
	if err := r.check(); err != nil {
		return Result{}, err
	}
	leave, err := p.queue.enter(ctx, r.Provider.Repository())
	if err != nil {
		return Result{}, fmt.Errorf("wait for other promotions in %s: %w", r.Provider.Repository(), err)
	}
	defer leave()
	found, err := r.find(ctx)
	if err != nil {
		return Result{}, err
	}
	if ours := found.ours; ours != nil && ours.State != gitprovider.Open {
		return Result{Outcome: ended[ours.State], PullRequest: ours, Adopted: true}, nil
	}
	prepared, err := p.prepare(ctx, r, found)
	if found.ours != nil && failure.KindOf(err) == failure.Terminal {
		// It is open and ours. If its branch cannot be updated, for example because a user works on it, the pull request is still the result.
		return Result{Outcome: Open, PullRequest: found.ours, Adopted: true}, nil
	}
	switch {
	case err != nil:
		return Result{}, err
	case prepared.reclaimed != nil:
		return Result{
			Outcome:     cmp.Or(ended[prepared.reclaimed.State], Open),
			PullRequest: &prepared.reclaimed.PullRequest,
			Key:         prepared.reclaimed.key,
			Adopted:     true,
			BaseCommit:  prepared.baseCommit,
		}, nil
	}
	return r.open(ctx, found, prepared)
}

var ended = map[gitprovider.State]Outcome{gitprovider.Merged: Merged, gitprovider.Closed: Closed}

// findings are the pull requests from our branch.
type findings struct {
	// ours carries the key. An open one is preferred, then a merged one.
	ours *gitprovider.PullRequest
	// doubtful is open, into our base, and does not carry the key: the description may have been edited.
	doubtful *gitprovider.PullRequest
}

func (f findings) open() *gitprovider.PullRequest {
	if f.ours != nil && f.ours.State == gitprovider.Open {
		return f.ours
	}
	return f.doubtful
}

// find finds the pull requests from our branch.
func (r Request) find(ctx context.Context) (findings, error) {
	all, err := r.Provider.FindByHead(ctx, r.Branch, r.Base)
	if err != nil {
		return findings{}, fmt.Errorf("look for the pull request from branch %s: %w", r.Branch, err)
	}
	sortByState(all)
	var found findings
	for i := range all {
		pr := &all[i]
		switch {
		case hasKey(pr.Body, r.Key) && found.ours == nil:
			found.ours = pr
		case pr.State == gitprovider.Open && found.doubtful == nil:
			found.doubtful = pr
		}
	}
	return found, nil
}

// sortByState sorts open pull requests before merged ones, and those before closed ones.
func sortByState(all []gitprovider.PullRequest) {
	order := []gitprovider.State{gitprovider.Open, gitprovider.Merged, gitprovider.Closed}
	slices.SortStableFunc(all, func(a, b gitprovider.PullRequest) int {
		return slices.Index(order, a.State) - slices.Index(order, b.State)
	})
}

// prepare brings the branch into a state in which it can be proposed.
func (p *Proposer) prepare(ctx context.Context, r Request, found findings) (prepared, error) {
	var err error
	for range maxCollisions {
		var result prepared
		result, err = p.attempt(ctx, r, found)
		var known *gitprovider.Error
		if !errors.As(err, &known) || known.Class != gitprovider.Conflict {
			return result, err
		}
	}
	return prepared{}, failure.NewRetryable(failure.Details{Operation: "propose", Reason: ReasonContended}, err)
}

// open opens the pull request if there is none.
func (r Request) open(ctx context.Context, found findings, done prepared) (Result, error) {
	result := Result{Outcome: Open, BaseCommit: done.baseCommit, HeadCommit: done.headCommit}
	if done.present {
		// The caller decides whether to use a doubtful one.
		result.Outcome, result.PullRequest, result.Adopted = AlreadyPresent, found.ours, found.ours != nil
		return result, nil
	}
	if existing := found.open(); existing != nil {
		result.PullRequest, result.Adopted = existing, true
		return result, nil
	}
	created, err := r.Provider.Create(ctx, gitprovider.NewPullRequest{
		Head:  r.Branch,
		Base:  r.Base,
		Title: r.title(),
		Body:  r.body(done.files),
	})
	if err == nil {
		result.PullRequest = &created
		return result, nil
	}
	err = fmt.Errorf("open a pull request from branch %s: %w", r.Branch, err)
	if gitprovider.ClassOf(err) != gitprovider.Duplicate {
		return Result{}, err
	}
	// Another attempt, perhaps one of ours whose response was lost, was faster.
	again, findErr := r.find(ctx)
	if findErr != nil {
		return Result{}, findErr
	}
	if result.PullRequest = again.open(); result.PullRequest == nil {
		return Result{}, failure.NewRetryable(failure.Details{Operation: "propose", Reason: string(gitprovider.Duplicate)}, err)
	}
	result.Adopted = true
	return result, nil
}
