// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
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

// reclaim finds open pull requests of the same pipeline and environment with other keys: they are left from runs whose numbers were lost,
// for example because an old status was restored. One for the same revision is returned, the others are closed: there must not be two. The
// branches, which are already known, show whether the query is needed.
func (r Request) reclaim(ctx context.Context, remote *gitremote.Remote, found findings) (*reclaimed, error) {
	siblings := r.siblings(remote)
	if len(siblings) == 0 || found.open() != nil {
		return nil, nil
	}
	listing, err := r.Provider.List(ctx, gitprovider.Cursor{})
	if err != nil {
		return nil, fmt.Errorf(
			"look for forgotten pull requests of %s/%s in %s: %w",
			r.Marker.Namespace,
			r.Marker.Pipeline,
			r.Marker.Environment,
			err,
		)
	}
	var same *reclaimed
	for _, pr := range listing.PullRequests {
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
	family := r.Branch[:strings.LastIndex(r.Branch, "-")+1]
	return slices.DeleteFunc(remote.Branches(family), func(name string) bool { return name == r.Branch || len(name) != len(r.Branch) })
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
