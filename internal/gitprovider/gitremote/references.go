// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitremote

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
)

// advertisement is the start of a server's response: its capabilities and references.
type advertisement struct {
	can  *capability.List
	tips map[string]plumbing.Hash
	// peeled are the commits of annotated tags.
	peeled map[string]plumbing.Hash
}

// named returns the commit of a tag or a branch, in Git's order of precedence; the zero hash if neither exists.
func (a *advertisement) named(revision string) plumbing.Hash {
	for _, reference := range []string{revision, "refs/tags/" + revision, "refs/heads/" + revision} {
		if commit, found := a.peeled[reference]; found {
			return commit
		}
		if tip, found := a.tips[reference]; found && strings.HasPrefix(reference, "refs/") {
			return tip
		}
	}
	return plumbing.ZeroHash
}

// tip returns the commit of a branch; the zero hash if there is no such branch.
func (a *advertisement) tip(branch string) plumbing.Hash {
	return a.tips[plumbing.NewBranchReferenceName(branch).String()]
}

// Tips returns the newest commit of each of the branches that exist. It costs one small request and must precede a Fetch.
func (r *Remote) Tips(ctx context.Context, branches ...string) (map[string]string, error) {
	known, err := r.advertised(ctx, uploadPack, "look up branches")
	if err != nil {
		return nil, err
	}
	r.known = known
	tips := map[string]string{}
	for _, branch := range branches {
		if tip := known.tip(branch); !tip.IsZero() {
			tips[branch] = tip.String()
		}
	}
	return tips, nil
}

// Resolve returns the commit of a revision: a tag, a branch, a full reference, or a commit hash, which need not exist. It is empty if there
// is no such tag or branch. It costs one small request and must precede a Fetch.
func (r *Remote) Resolve(ctx context.Context, revision string) (string, error) {
	known, err := r.advertised(ctx, uploadPack, "look up revision "+revision)
	if err != nil {
		return "", err
	}
	r.known = known
	if commit := known.named(revision); !commit.IsZero() {
		return commit.String(), nil
	}
	if plumbing.IsHash(revision) {
		return revision, nil
	}
	return "", nil
}

// Branches returns the names of all branches with a prefix, as of the last call of Tips.
func (r *Remote) Branches(prefix string) []string {
	if r.known == nil {
		return nil
	}
	var names []string
	for reference := range r.known.tips {
		if name, isBranch := strings.CutPrefix(reference, "refs/heads/"); isBranch && strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (r *Remote) advertised(ctx context.Context, service, operation string) (*advertisement, error) {
	ctx, cancel := context.WithTimeout(ctx, r.settings.Limits.Time)
	defer cancel()
	answer, err := r.do(ctx, exchange{
		operation: operation,
		method:    http.MethodGet,
		path:      "/info/refs?service=" + service,
		accept:    "application/x-" + service + "-advertisement",
	})
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	r.follow(answer.Request.URL)
	references := packp.NewAdvRefs()
	err = references.Decode(bound(answer.Body, r.settings.Limits.References, "the list of branches and tags"))
	switch {
	case errors.Is(err, packp.ErrEmptyAdvRefs), errors.Is(err, packp.ErrEmptyInput):
		err = nil // a repository without commits
	case err != nil:
		return nil, r.failed(operation, malformed(err))
	}
	return &advertisement{can: references.Capabilities, tips: references.References, peeled: references.Peeled}, err
}

// follow sends later requests to the address of the list of branches: servers redirect from former names of a repository.
func (r *Remote) follow(found *url.URL) {
	if base, ok := strings.CutSuffix(found.Path, "/info/refs"); ok && found.RawPath == "" {
		moved := *r.base
		moved.Path, moved.RawPath = base, ""
		r.base = &moved
	}
}
