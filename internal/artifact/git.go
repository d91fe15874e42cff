// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/component/resolve"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/gitprovider"
	"espalier.dev/internal/gitprovider/gitremote"
	"espalier.dev/internal/lru"
	"espalier.dev/internal/masking"
)

// gitCacheBytes has room for a few hundred blueprints.
const gitCacheBytes = 64 << 20

// gitLimits suit repositories that hold blueprints: text, of one commit.
var gitLimits = gitremote.Limits{Pack: 128 << 20, Unpacked: 1 << 30, Object: 16 << 20, Objects: 200_000, Entries: 200_000}

// Git reads blueprints from Git repositories. It is safe for concurrent use.
type Git struct {
	rules dial.Rules
	read  *lru.Cache[blueprint.Files]
}

// NewGit returns a reader that dials by the rules.
func NewGit(rules dial.Rules) *Git {
	return &Git{rules: rules, read: lru.NewCache[blueprint.Files](gitCacheBytes)}
}

// Read returns the blueprint in a repository, at a known commit, or at the one that its revision currently refers to.
func (g *Git) Read(
	ctx context.Context,
	at lsv1alpha1.GitBlueprint,
	credentials gitprovider.Credentials,
	commit string,
) (catalog.Artifact, error) {
	directory, err := directoryOf(at.Path)
	if err != nil {
		return catalog.Artifact{}, catalog.Invalid(catalog.ReasonBlueprintInvalid, err)
	}
	remote, err := gitremote.Connect(gitremote.Settings{URL: at.URL, Credentials: credentials, Rules: g.rules, Limits: gitLimits})
	if err != nil {
		return catalog.Artifact{}, classified(err)
	}
	defer remote.Close()
	// Which commits may be read depends on the credentials, so they are part of the cache key.
	fingerprint := credentials.Fingerprint()
	remembered := func(commit string) lru.Key {
		return lru.KeyOf([]byte(at.URL), fingerprint[:], []byte(directory), []byte(commit))
	}
	fetch := fetching{remote: remote, at: at, directory: directory}
	if commit == "" {
		if commit, err = fetch.resolve(ctx); err != nil {
			return catalog.Artifact{}, err
		}
	}
	files, err := g.read.Get(remembered(commit), func() (blueprint.Files, int, error) { return fetch.files(ctx, commit) })
	return catalog.Artifact{Files: files, Revision: commit}, err
}

// directoryOf returns the directory in the form of Git's objects, empty for the whole repository.
func directoryOf(name string) (string, error) {
	directory := strings.Trim(name, "/")
	if directory != "" && (directory == "." || !fs.ValidPath(directory)) {
		return "", fmt.Errorf("path %q is not a directory of the repository: use it without \".\" and \"..\"", name)
	}
	return directory, nil
}

// fetching is one conversation with a server.
type fetching struct {
	remote    *gitremote.Remote
	at        lsv1alpha1.GitBlueprint
	directory string
	asked     bool
}

// address returns the URL as errors name it: its user may be a token.
func (f *fetching) address() string {
	bare, _ := masking.WithoutUser(f.at.URL)
	return bare
}

// resolve resolves the revision.
func (f *fetching) resolve(ctx context.Context) (string, error) {
	f.asked = true
	commit, err := f.remote.Resolve(ctx, f.at.Revision)
	if err != nil {
		return "", classified(err)
	}
	if commit == "" {
		return "", catalog.NotFoundf("revision %q is neither a branch nor a tag of %s, nor the hash of a commit", f.at.Revision, f.address())
	}
	return commit, nil
}

// files reads the directory of a commit, and estimates its size.
func (f *fetching) files(ctx context.Context, commit string) (blueprint.Files, int, error) {
	if !f.asked {
		// The server announces its capabilities when it lists its branches.
		if _, err := f.resolve(ctx); err != nil && !errors.Is(err, resolve.ErrNotFound) {
			return nil, 0, err
		}
	}
	objects, err := f.remote.Fetch(ctx, gitremote.Wish{Commits: []string{commit}, Depth: 1})
	if err != nil {
		return nil, 0, classified(err)
	}
	defer func() { _ = objects.Close() }()
	files, size, prefix := blueprint.Files{}, 0, ""
	if f.directory != "" {
		prefix = f.directory + "/"
	}
	wanted := func(name string) bool { return strings.HasPrefix(name, prefix) }
	err = objects.Files(ctx, commit, wanted, func(name string, content []byte) error {
		size += len(name) + len(content)
		files[strings.TrimPrefix(name, prefix)] = content
		return nil
	})
	if err != nil {
		return nil, 0, classified(err)
	}
	if len(files) == 0 {
		return nil, 0, catalog.Invalid(catalog.ReasonBlueprintInvalid,
			fmt.Errorf("there is no directory %q in commit %s of %s", f.at.Path, commit, f.address()))
	}
	checked, err := blueprint.CopyFiles(files)
	if err != nil {
		return nil, 0, catalog.Invalid(catalog.ReasonBlueprintInvalid, err)
	}
	return checked, size, nil
}

// classified classifies an error of a server for an installation. Most may pass: a server comes back, a user corrects a Secret.
func classified(err error) error {
	var of *gitprovider.Error
	if !errors.As(err, &of) {
		return err
	}
	switch of.Class {
	case gitprovider.Misconfigured:
		return catalog.Invalid(catalog.ReasonBlueprintInvalid, err)
	case gitprovider.NotFound:
		return catalog.Absent(catalog.ReasonBlueprintNotFound, err)
	default:
		return catalog.Absent(catalog.ReasonRepositoryUnavailable, err)
	}
}
