// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package gitremote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// Objects are fetched commits with their files.
type Objects struct {
	directory string
	storage   *filesystem.Storage
	limits    Limits
}

// Close removes everything that was fetched.
func (o *Objects) Close() error {
	if o.storage != nil {
		_ = o.storage.Close()
	}
	return os.RemoveAll(o.directory)
}

// Commit is the content of a commit.
type Commit struct {
	Hash, Tree string
	Parents    []string
	Message    string
	// Author and Committer, each as "name <e-mail>".
	Author, Committer string
	Time              time.Time
}

// Commit returns one of the fetched commits.
func (o *Objects) Commit(hash string) (Commit, error) {
	c, err := object.GetCommit(o.storage, plumbing.NewHash(hash))
	if err != nil {
		return Commit{}, fmt.Errorf("read commit %s: %w", hash, err)
	}
	result := Commit{
		Hash:      hash,
		Tree:      c.TreeHash.String(),
		Message:   c.Message,
		Author:    person(c.Author),
		Committer: person(c.Committer),
		Time:      c.Committer.When,
	}
	for _, parent := range c.ParentHashes {
		result.Parents = append(result.Parents, parent.String())
	}
	return result, nil
}

func person(s object.Signature) string { return s.Name + " <" + s.Email + ">" }

// Trailer returns the value of a line "name: value" in the last paragraph of the message; empty if there is none, or more than one.
func (c Commit) Trailer(name string) string {
	message := strings.TrimRight(c.Message, "\n")
	last := message[strings.LastIndex(message, "\n\n")+1:]
	found := ""
	for line := range strings.SplitSeq(last, "\n") {
		key, value, ok := strings.Cut(line, ":")
		if !ok || !strings.EqualFold(key, name) {
			continue
		}
		if found != "" {
			return ""
		}
		found = strings.TrimSpace(value)
	}
	return found
}

// maxDepth is the maximum depth of directories. Deeper nesting can exhaust the stack.
const maxDepth = 128

// Files calls visit for each regular file of a commit that is wanted, by its path, and not too large to be searched. It skips symbolic
// links and submodules.
func (o *Objects) Files(
	ctx context.Context,
	commit string,
	wanted func(path string) bool,
	visit func(path string, content []byte) error,
) error {
	c, err := o.Commit(commit)
	if err != nil {
		return err
	}
	w := walk{objects: o, wanted: wanted, visit: visit, left: o.limits.Entries}
	return w.tree(ctx, plumbing.NewHash(c.Tree), "", 0)
}

type walk struct {
	objects *Objects
	wanted  func(string) bool
	visit   func(string, []byte) error
	left    int
}

func (w *walk) tree(ctx context.Context, hash plumbing.Hash, directory string, depth int) error {
	if depth > maxDepth {
		return tooLarge("the depth of directories", maxDepth)
	}
	tree, err := object.GetTree(w.objects.storage, hash)
	if err != nil {
		return fmt.Errorf("read directory %q: %w", directory, err)
	}
	for _, entry := range tree.Entries {
		if w.left--; w.left < 0 {
			return tooLarge("the number of files and directories", int64(w.objects.limits.Entries))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.entry(ctx, entry, path.Join(directory, entry.Name), depth); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) entry(ctx context.Context, entry object.TreeEntry, name string, depth int) error {
	switch {
	case entry.Mode == filemode.Dir:
		return w.tree(ctx, entry.Hash, name, depth+1)
	case !isFile(entry.Mode) || !w.wanted(name):
		return nil
	}
	content, ok, err := w.objects.blob(entry.Hash)
	if err != nil {
		return fmt.Errorf("read file %q: %w", name, err)
	}
	if !ok {
		return nil
	}
	return w.visit(name, content)
}

func isFile(mode filemode.FileMode) bool {
	return mode == filemode.Regular || mode == filemode.Executable || mode == filemode.Deprecated
}

// blob returns the content of a file, unless it is too large to be read; the server may not even have sent it.
func (o *Objects) blob(hash plumbing.Hash) ([]byte, bool, error) {
	size, err := o.storage.EncodedObjectSize(hash)
	if errors.Is(err, plumbing.ErrObjectNotFound) {
		return nil, false, nil
	}
	if err != nil || size >= o.limits.Searched {
		return nil, false, err
	}
	blob, err := object.GetBlob(o.storage, hash)
	if err != nil {
		return nil, false, err
	}
	reader, err := blob.Reader()
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = reader.Close() }()
	content, err := io.ReadAll(io.LimitReader(reader, size))
	return content, err == nil, err
}
