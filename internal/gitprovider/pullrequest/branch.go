// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package pullrequest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"espalier.dev/internal/failure"
	"espalier.dev/internal/gitprovider/gitremote"
	"espalier.dev/internal/gitprovider/marker"
)

// prepared is a branch that can be proposed, or the result that there is nothing to propose.
type prepared struct {
	present                bool
	baseCommit, headCommit string
	// files that the branch changes; empty if they did not need to be read.
	files []string
	// reclaimed is a pull request for the same revision with another key, open or closed by a user; nil if there is none.
	reclaimed *reclaimed
}

// attempt reads both branches, and creates or recreates ours if necessary. An error with the class Conflict means that there was a
// concurrent push.
func (p *Proposer) attempt(ctx context.Context, r Request, found findings) (prepared, error) {
	remote, err := gitremote.Connect(r.Git)
	if err != nil {
		return prepared{}, err
	}
	defer remote.Close()
	tips, err := remote.Tips(ctx, r.Base, r.Branch)
	if err != nil {
		return prepared{}, err
	}
	base, head := tips[r.Base], tips[r.Branch]
	if base == "" {
		return prepared{}, failure.Terminalf(failure.Details{Operation: "propose", Reason: ReasonNoBase},
			"repository %s has no branch %q: create it, or correct baseBranch", r.Provider.Repository(), r.Base)
	}
	q := question{
		repository: r.Provider.Repository(),
		baseCommit: base,
		branch:     r.Branch,
		marker:     r.Marker,
		value:      r.value(),
		upToDate:   r.UpToDate,
	}
	if known, ok := p.verdicts.get(q); ok {
		if known.present || known.problem != nil {
			return prepared{present: known.present, baseCommit: base, headCommit: head}, known.problem
		}
		if known.branchCommit == head && found.open() != nil {
			return prepared{baseCommit: base, headCommit: head}, nil
		}
	}
	if reclaimed, err := r.reclaim(ctx, remote, found); reclaimed != nil || err != nil {
		return prepared{reclaimed: reclaimed, baseCommit: base}, err
	}
	work := branchWork{request: r, remote: remote, base: base, head: head, found: found}
	result, err := work.do(ctx)
	p.verdicts.learn(q, result, err)
	return result, err
}

// isVerdict reports whether an error depends only on the base commit.
func isVerdict(err error) bool {
	reason := failure.DetailsOf(err).Reason
	return failure.KindOf(err) == failure.Terminal && (reason == ReasonNoMarker || reason == ReasonUnreadable)
}

// branchWork is one attempt to update our branch.
type branchWork struct {
	request Request
	remote  *gitremote.Remote
	// base and head are the tips of the base branch and of ours; head is empty if ours does not exist.
	base, head string
	found      findings
	objects    *gitremote.Objects
}

func (w *branchWork) do(ctx context.Context) (prepared, error) {
	wish := gitremote.Wish{Commits: []string{w.base}, Depth: 1}
	if w.head != "" {
		wish = gitremote.Wish{Commits: []string{w.base, w.head}, Depth: 2} // with the commit that ours is based on
	}
	var err error
	if w.objects, err = w.remote.Fetch(ctx, wish); err != nil {
		return prepared{}, err
	}
	defer func() { _ = w.objects.Close() }()
	wanted, err := w.changeOf(ctx, w.base)
	if err != nil {
		return prepared{}, err
	}
	result := prepared{baseCommit: w.base, headCommit: w.head}
	if len(wanted.files) == 0 {
		result.present = true
		return result, nil
	}
	if err := w.respect(wanted); err != nil {
		return prepared{}, err
	}
	result.files = slices.Collect(maps.Keys(wanted.files))
	built, err := w.build(w.base, wanted)
	if err != nil {
		return prepared{}, err
	}
	replace, err := w.mustReplace(ctx, built, wanted)
	if err != nil || !replace {
		return result, err
	}
	result.headCommit = built.Commit
	return result, w.remote.Push(ctx, gitremote.Update{Branch: w.request.Branch, From: w.head, To: built})
}

// respect returns an error instead of overwriting a manual change. It is not called for an open pull request, which users can review.
func (w *branchWork) respect(wanted change) error {
	if len(w.request.Expected) == 0 || w.found.open() != nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(wanted.previous)) {
		for _, value := range wanted.previous[name] {
			if !slices.Contains(w.request.Expected, value) {
				return failure.NewRetryable(failure.Details{Operation: "propose", Reason: ReasonOverridden}, fmt.Errorf(
					"file %s in branch %s of %s has the value %q, which was neither promoted nor deployed, so it was set by hand. Wait until it has arrived, or promote now to replace it",
					name,
					w.request.Base,
					w.request.Provider.Repository(),
					value,
				))
			}
		}
	}
	return nil
}

// change is the necessary change to the files of a commit.
type change struct {
	files map[string][]byte
	// before are the current files, and previous the values in them to replace.
	before   map[string][]byte
	previous map[string][]string
}

// changeOf finds the marked values of a commit. It returns an error if nothing is marked, but not if nothing must change.
func (w *branchWork) changeOf(ctx context.Context, commit string) (change, error) {
	result := change{files: map[string][]byte{}, before: map[string][]byte{}, previous: map[string][]string{}}
	places := 0
	err := w.objects.Files(ctx, commit, marker.Applies, func(name string, content []byte) error {
		rewritten, err := w.request.Marker.Rewrite(name, content, w.request.value())
		if err != nil {
			return failure.NewTerminal(failure.Details{Operation: "propose", Reason: ReasonUnreadable}, err)
		}
		places += rewritten.Places
		if rewritten.Changed() {
			result.files[name], result.before[name], result.previous[name] = rewritten.Content, content, rewritten.Previous
		}
		return nil
	})
	if err != nil {
		return change{}, fmt.Errorf("search branch %s of %s for the marker: %w", w.request.Base, w.request.Provider.Repository(), err)
	}
	if places == 0 {
		return change{}, failure.Terminalf(failure.Details{Operation: "propose", Reason: ReasonNoMarker},
			"no YAML file in branch %s of %s has a value with the comment # %s: add the comment after the value of the revision",
			w.request.Base, w.request.Provider.Repository(), w.request.Marker)
	}
	return result, nil
}

func (w *branchWork) build(parent string, c change) (*gitremote.Built, error) {
	return w.objects.Build(gitremote.Change{Parent: parent, Files: c.files, Message: w.request.message(parent), Time: w.request.Time})
}

// mustReplace reports whether our branch must be pushed. It returns an error if the branch must not be touched.
func (w *branchWork) mustReplace(ctx context.Context, built *gitremote.Built, wanted change) (bool, error) {
	if w.head == "" || w.head == built.Commit {
		return w.head == "", nil
	}
	before, ours, err := w.inspect(ctx)
	switch {
	case err != nil:
		return false, err
	case !ours:
		return false, w.foreign()
	}
	sameFiles := maps.EqualFunc(before.before, wanted.before, slices.Equal)
	return !sameFiles || w.request.UpToDate, nil
}

func (w *branchWork) foreign() error {
	if pr := w.found.doubtful; pr != nil {
		return failure.Terminalf(
			failure.Details{Operation: "propose", Reason: ReasonForeignPullRequest},
			"pull request %s comes from branch %s, which is reserved for this promotion, but neither its description nor commit %s has the key of the promotion: close it and remove the branch, then retry the promotion",
			pr.URL,
			w.request.Branch,
			w.head,
		)
	}
	return failure.Terminalf(
		failure.Details{Operation: "propose", Reason: ReasonForeignBranch},
		"branch %s of %s is reserved for this promotion, but commit %s on it is not ours and is not overwritten: remove the branch, then retry the promotion",
		w.request.Branch,
		w.request.Provider.Repository(),
		w.head,
	)
}

// inspect reports whether our branch is one commit of ours that changes only marked values, and what it changed.
func (w *branchWork) inspect(ctx context.Context) (change, bool, error) {
	commit, err := w.objects.Commit(w.head)
	if err != nil {
		return change{}, false, err
	}
	if !isOurs(commit, w.request.Key) {
		return change{}, false, nil
	}
	before, err := w.changeOf(ctx, commit.Parents[0])
	var problem *marker.Problem
	if failure.DetailsOf(err).Reason == ReasonNoMarker || errors.As(err, &problem) {
		return change{}, false, nil // we would not have created it
	}
	if err != nil {
		return change{}, false, err
	}
	again, err := w.build(commit.Parents[0], before)
	if err != nil {
		return change{}, false, err
	}
	return before, again.Tree == commit.Tree, nil
}

// isOurs reports whether this package created a commit for the promotion, and the commit has not been rebased or amended since.
func isOurs(c gitremote.Commit, key string) bool {
	us := gitremote.AuthorName + " <" + gitremote.AuthorEmail + ">"
	return c.Author == us && c.Committer == us && len(c.Parents) == 1 && c.Trailer(BaseTrailer) == c.Parents[0] &&
		c.Trailer(KeyTrailer) == key
}
