// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitremote

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/memory"
)

// Name and e-mail of the author of all commits.
const (
	AuthorName  = "Espalier"
	AuthorEmail = "espalier@espalier.dev"
)

// Change is a commit to create. The same change always results in the same commit, including its hash.
type Change struct {
	// Parent is the fetched commit on which it is based.
	Parent string
	// Files are the new contents of existing files, by path.
	Files   map[string][]byte
	Message string
	Time    time.Time
}

// Built is a commit that can be pushed.
type Built struct {
	// Commit is its hash, Tree that of its files.
	Commit, Tree string

	objects *memory.Storage
	hashes  []plumbing.Hash
}

// Build creates a commit. Names, modes and all other properties of the files remain.
func (o *Objects) Build(change Change) (*Built, error) {
	parent, err := o.Commit(change.Parent)
	if err != nil {
		return nil, err
	}
	built := &Built{objects: memory.NewStorage()}
	tree, err := o.rewrite(built, plumbing.NewHash(parent.Tree), change.Files)
	if err != nil {
		return nil, fmt.Errorf("change the files of commit %s: %w", change.Parent, err)
	}
	who := object.Signature{Name: AuthorName, Email: AuthorEmail, When: change.Time.UTC().Truncate(time.Second)}
	commit := &object.Commit{
		Author:       who,
		Committer:    who,
		Message:      change.Message,
		TreeHash:     tree,
		ParentHashes: []plumbing.Hash{plumbing.NewHash(change.Parent)},
	}
	hash, err := built.add(commit)
	built.Commit, built.Tree = hash.String(), tree.String()
	return built, err
}

// rewrite returns the directory with new contents for some of its files.
func (o *Objects) rewrite(built *Built, hash plumbing.Hash, files map[string][]byte) (plumbing.Hash, error) {
	tree, err := object.GetTree(o.storage, hash)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	below := map[string]map[string][]byte{}
	for name, content := range files {
		first, rest, _ := strings.Cut(name, "/")
		if below[first] == nil {
			below[first] = map[string][]byte{}
		}
		below[first][rest] = content
	}
	next := &object.Tree{Entries: slices.Clone(tree.Entries)}
	for i, entry := range next.Entries {
		wanted, ok := below[entry.Name]
		if !ok {
			continue
		}
		delete(below, entry.Name)
		if next.Entries[i].Hash, err = o.replace(built, entry, wanted); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	for missing := range maps.Keys(below) {
		return plumbing.ZeroHash, fmt.Errorf("%q does not exist", missing)
	}
	return built.add(next)
}

func (o *Objects) replace(built *Built, entry object.TreeEntry, files map[string][]byte) (plumbing.Hash, error) {
	content, isLeaf := files[""]
	if !isLeaf {
		return o.rewrite(built, entry.Hash, files)
	}
	if !isFile(entry.Mode) {
		return plumbing.ZeroHash, fmt.Errorf("%q is not a regular file", path.Base(entry.Name))
	}
	blob := built.objects.NewEncodedObject()
	blob.SetType(plumbing.BlobObject)
	writer, err := blob.Writer()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if _, err := writer.Write(content); err != nil {
		return plumbing.ZeroHash, err
	}
	return built.store(blob, writer.Close())
}

// encodable is a commit or a directory.
type encodable interface {
	Encode(plumbing.EncodedObject) error
}

func (b *Built) add(what encodable) (plumbing.Hash, error) {
	encoded := b.objects.NewEncodedObject()
	return b.store(encoded, what.Encode(encoded))
}

func (b *Built) store(encoded plumbing.EncodedObject, err error) (plumbing.Hash, error) {
	if err != nil {
		return plumbing.ZeroHash, err
	}
	hash, err := b.objects.SetEncodedObject(encoded)
	b.hashes = append(b.hashes, hash)
	return hash, err
}
