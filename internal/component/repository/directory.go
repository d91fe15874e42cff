// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/component"
)

const (
	blobsFolder    = "blobs"
	maxDescriptors = 10_000

	// Limits of the file systems in inline repository contexts.
	maxTreeBytes = 8 << 20
	maxTreeDepth = 32
)

// folder is a repository in a directory: each file in it is a descriptor.
type folder struct {
	descriptors fs.FS
	blobs       fs.FS
}

// pathOf returns the filePath of a context, below the directory that may be read.
func (r *Repositories) pathOf(fields fieldsOf) (string, error) {
	name := path.Clean(strings.TrimLeft(fields.text("filePath"), "/"))
	if fields.text("filePath") == "" {
		name = "."
	}
	if !fs.ValidPath(name) {
		return "", invalid(ReasonRepositoryInvalid, "repository context: filePath: must lie in the directory of local repositories")
	}
	return name, nil
}

// local parses the context of a directory.
func (r *Repositories) local(fields fieldsOf) (place, error) {
	name, err := r.pathOf(fields)
	if err != nil {
		return nil, err
	}
	return below(r.options.Files, name, path.Join(name, blobsFolder))
}

func below(in fs.FS, descriptors, blobs string) (place, error) {
	at, err := fs.Sub(in, descriptors)
	if err != nil {
		return nil, invalid(ReasonRepositoryInvalid, "repository context: %w", err)
	}
	content, err := fs.Sub(in, blobs)
	if err != nil {
		return nil, invalid(ReasonRepositoryInvalid, "repository context: %w", err)
	}
	return &folder{descriptors: at, blobs: content}, nil
}

// inline parses a context that contains its files.
func (r *Repositories) inline(fields fieldsOf) (place, error) {
	files, given, err := tree(fields, "fileSystem")
	if err != nil {
		return nil, err
	}
	descriptors := r.options.Files
	if given {
		descriptors = files
	}
	blobs, own, err := tree(fields, "blobFs")
	if err != nil {
		return nil, err
	}
	var content fs.FS = blobs
	switch mode := fields.text("blobFsMode"); {
	case own:
	case mode == "" || mode == "filesystem":
		content = descriptors
	case mode == "context":
		content = r.options.Files
	default:
		return nil, invalid(ReasonRepositoryInvalid, "repository context: blobFsMode: must be filesystem or context")
	}
	at := &folder{}
	if at.descriptors, err = subfolder(descriptors, fields, "compDescDirPath"); err == nil {
		at.blobs, err = subfolder(content, fields, "blobDirPath")
	}
	return at, err
}

func subfolder(in fs.FS, fields fieldsOf, name string) (fs.FS, error) {
	folder := path.Clean(strings.TrimLeft(fields.text(name), "/"))
	at, err := fs.Sub(in, folder)
	if err != nil {
		return nil, invalid(ReasonRepositoryInvalid, "repository context: %s: must be a path in its file system", name)
	}
	return at, nil
}

// tree reads an inline file system: a string is a file, an object is a directory.
func tree(fields fieldsOf, name string) (archive.Files, bool, error) {
	value, found := fields[name]
	if !found || value == nil {
		return nil, false, nil
	}
	w := treeReader{files: archive.Files{}}
	root, ok := value.(map[string]any)
	if !ok {
		return nil, false, invalid(ReasonRepositoryInvalid, "repository context: %s: must be an object of files and directories", name)
	}
	if err := w.directory("", root, 0); err != nil {
		return nil, false, invalid(ReasonRepositoryInvalid, "repository context: %s: %w", name, err)
	}
	return w.files, true, nil
}

type treeReader struct {
	files archive.Files
	bytes int
}

func (w *treeReader) directory(at string, entries map[string]any, depth int) error {
	if depth > maxTreeDepth {
		return fmt.Errorf("directories are nested deeper than %d", maxTreeDepth)
	}
	for name, value := range entries {
		where := path.Join(at, name)
		if !fs.ValidPath(name) || strings.Contains(name, "/") || name == "." {
			return fmt.Errorf("%q is not a name for a file or directory", where)
		}
		switch v := value.(type) {
		case map[string]any:
			if err := w.directory(where, v, depth+1); err != nil {
				return err
			}
		case string:
			if w.bytes += len(v); w.bytes > maxTreeBytes {
				return fmt.Errorf("the files have more than %d bytes together", maxTreeBytes)
			}
			w.files[where] = []byte(v)
		default:
			return fmt.Errorf("%q: a file must be a text, a directory an object", where)
		}
	}
	return nil
}

// find reads all descriptors. An invalid one makes the repository fail, because it may be the wanted one.
func (f *folder) find(_ context.Context, id component.ID) (*version, error) {
	entries, err := fs.ReadDir(f.descriptors, ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notFound("the directory of the repository does not exist")
	}
	if err != nil {
		return nil, fmt.Errorf("read the directory of the repository: %w", err)
	}
	if len(entries) > maxDescriptors {
		return nil, invalid(ReasonComponentInvalid, "the directory of the repository has more than %d entries", maxDescriptors)
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue
		}
		found, err := f.read(entry.Name())
		if err != nil {
			return nil, invalid(ReasonComponentInvalid, "%s: %w", entry.Name(), err)
		}
		if found.ID() == id {
			return &version{descriptor: found, local: f.local}, nil
		}
	}
	return nil, notFound("no descriptor in the directory of the repository is of it")
}

func (f *folder) read(name string) (*component.Descriptor, error) {
	text, err := readFile(f.descriptors, name, int64(component.DefaultLimits.Bytes))
	if err != nil {
		return nil, err
	}
	return component.Parse(text, component.DefaultLimits)
}

// readFile reads a file up to a number of bytes.
func readFile(in fs.FS, name string, most int64) ([]byte, error) {
	file, err := in.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("the file has more than %d bytes", most)
	}
	return data, err
}

// local opens a blob: a file, or a directory, which counts as an archive of its content. File names have a dot where digests have a colon.
func (f *folder) local(_ context.Context, blob component.Blob) (content, error) {
	for _, name := range []string{blob.Reference, strings.Replace(blob.Reference, ":", ".", 1)} {
		name = path.Clean(strings.TrimLeft(name, "/"))
		if !fs.ValidPath(name) || name == "." {
			continue
		}
		info, err := fs.Stat(f.blobs, name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return content{}, fmt.Errorf("open the blob: %w", err)
		}
		if info.IsDir() {
			return f.directory(name)
		}
		return content{mediaType: blob.MediaType, open: func() (io.ReadCloser, error) { return f.blobs.Open(name) }}, nil
	}
	return content{}, notFound("the blob is not in the directory of the repository")
}

func (f *folder) directory(name string) (content, error) {
	at, err := fs.Sub(f.blobs, name)
	if err != nil {
		return content{}, err
	}
	files, err := copyFiles(at)
	if err != nil {
		return content{}, fmt.Errorf("read the directory of the blob: %w", err)
	}
	tar, err := archive.Tar(files)
	return content{
		mediaType: mediaTypeTar,
		files:     files,
		open:      func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(tar)), nil },
	}, err
}

// copyFiles reads a directory within the limits of an archive.
func copyFiles(from fs.FS) (archive.Files, error) {
	files := archive.Files{}
	left := archive.Default.Bytes
	err := fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !entry.Type().IsRegular() || len(files) == archive.Default.Entries {
			return fmt.Errorf("%s: only regular files are allowed, and %d at the most", name, archive.Default.Entries)
		}
		files[name], err = readFile(from, name, left)
		left -= int64(len(files[name]))
		return err
	})
	return files, err
}
