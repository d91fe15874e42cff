// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/gitremote"
)

// reclaimed is a pull request with its key.
type reclaimed struct {
	gitprovider.PullRequest
	key string
}

// reclaim finds pull requests of the same pipeline and environment with other keys: they are left from runs whose numbers were lost, for
// example because an old status was restored. Of the open ones, that for the same revision is returned and the others are closed: there
// must not be two. If there is none, the last pull request of the environment is returned if users have rejected the revision with it.
//
// The branches, which are already known, show whether the query is needed: those of pull requests that we close are removed, those of pull
// requests that users close stay.
func (r Request) reclaim(ctx context.Context, remote *gitremote.Remote, found findings) (*reclaimed, error) {
	siblings := r.siblings(remote)
	if len(siblings) == 0 || found.open() != nil {
		return nil, nil
	}
	all, err := r.Provider.History(ctx)
	if err != nil {
		return nil, fmt.Errorf(
			"look for forgotten pull requests of %s/%s in %s: %w",
			r.Marker.Namespace,
			r.Marker.Pipeline,
			r.Marker.Environment,
			err,
		)
	}
	newestFirst := func(a, b gitprovider.PullRequest) int { return cmp.Compare(b.Number, a.Number) }
	all = slices.SortedFunc(slices.Values(all), newestFirst)
	same, err := r.reclaimOpen(ctx, siblings, all)
	if same != nil || err != nil {
		return same, err
	}
	return r.reclaimClosed(ctx, all)
}

func (r Request) reclaimOpen(ctx context.Context, siblings []string, all []gitprovider.PullRequest) (*reclaimed, error) {
	var same *reclaimed
	for _, pr := range all {
		if !r.proposesFrom(siblings, pr) {
			continue
		}
		mark, ours, err := r.read(ctx, pr)
		if ours && mark.Revision == r.Revision && same == nil {
			same = &reclaimed{pr, mark.Key}
		} else if ours {
			err = r.dismiss(ctx, pr, mark.Key)
		}
		if err != nil {
			return nil, err
		}
	}
	return same, nil
}

// reclaimClosed returns the last pull request of the environment if it proposed the revision, in a later run than the one that the status
// knows, and was closed. In a run that the status knows, the status also knows the end of its pull requests.
func (r Request) reclaimClosed(ctx context.Context, all []gitprovider.PullRequest) (*reclaimed, error) {
	if r.Retry {
		return nil, nil
	}
	for _, pr := range all {
		if pr.Fork || pr.Base != r.Base || !r.isSibling(pr.Head) {
			continue
		}
		mark, ours, err := r.read(ctx, pr)
		if err != nil {
			return nil, err
		}
		if !ours {
			continue
		}
		if pr.State == gitprovider.Closed && mark.Revision == r.Revision && mark.Run > r.Run {
			return &reclaimed{pr, mark.Key}, nil
		}
		return nil, nil
	}
	return nil, nil
}

// read returns what a pull request is for, and whether that is the same pipeline and environment.
func (r Request) read(ctx context.Context, pr gitprovider.PullRequest) (mark Mark, ours bool, err error) {
	if pr.BodyCut {
		if pr, err = r.Provider.Get(ctx, pr.Number); err != nil {
			return Mark{}, false, err
		}
	}
	mark, ours = Recognise(pr.Body, r.Marker.Namespace, r.Marker.Pipeline)
	named := strings.HasSuffix(pr.Head, "-"+mark.Key[:min(len(mark.Key), shortKey)])
	return mark, ours && named && mark.Environment == r.Marker.Environment, nil
}

// shortKey is the length of the part of a key at the end of a branch name.
const shortKey = 8

// siblings returns the branches whose names equal ours up to the key.
func (r Request) siblings(remote *gitremote.Remote) []string {
	return slices.DeleteFunc(remote.Branches(r.family()), func(name string) bool { return !r.isSibling(name) })
}

// family is what the names of all branches of the environment begin with.
func (r Request) family() string { return r.Branch[:strings.LastIndex(r.Branch, "-")+1] }

func (r Request) isSibling(branch string) bool {
	return branch != r.Branch && len(branch) == len(r.Branch) && strings.HasPrefix(branch, r.family())
}

// proposesFrom reports whether a pull request is open from one of the branches into our base.
func (r Request) proposesFrom(branches []string, pr gitprovider.PullRequest) bool {
	return pr.State == gitprovider.Open && !pr.Fork && pr.Base == r.Base && slices.Contains(branches, pr.Head)
}

// dismiss closes a forgotten pull request of another revision and removes its branch.
func (r Request) dismiss(ctx context.Context, pr gitprovider.PullRequest, key string) error {
	w := Withdrawal{
		Place: r.Place, Base: r.Base, Branch: pr.Head, Key: key, Number: pr.Number, Comment: "revision " + r.Revision + " supersedes it",
	}
	if _, err := w.end(ctx, pr); err != nil {
		return err
	}
	_, err := w.removeBranch(ctx)
	return err
}
