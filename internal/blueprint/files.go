// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Limits of a blueprint's directory.
const (
	maxFiles     = 10_000
	maxFileBytes = 4 << 20
	maxBytes     = 32 << 20
	maxDepth     = 64
)

// Files is a directory in memory: contents by clean, relative path. It is an fs.FS that cannot lead anywhere else.
type Files map[string][]byte

// InlineFiles reads a directory that is written as a tree: a text is a file, an object is a directory.
func InlineFiles(tree lsv1alpha1.AnyJSON) (Files, error) {
	var root map[string]json.RawMessage
	if err := tree.Decode(&root); err != nil || root == nil {
		return nil, fmt.Errorf("the filesystem must be an object whose keys are the names of files and directories")
	}
	r := inlineReader{files: Files{}}
	if err := r.directory("", root, 0); err != nil {
		return nil, err
	}
	return r.files, nil
}

type inlineReader struct {
	files Files
	bytes int
}

func (r *inlineReader) directory(at string, entries map[string]json.RawMessage, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: directories are nested deeper than %d", at, maxDepth)
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		where := path.Join(at, name)
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\\\x00") {
			return fmt.Errorf("%q is not a name for a file or directory", where)
		}
		if err := r.entry(where, entries[name], depth); err != nil {
			return err
		}
	}
	return nil
}

func (r *inlineReader) entry(where string, content json.RawMessage, depth int) error {
	if trimmed := bytes.TrimSpace(content); len(trimmed) > 0 && trimmed[0] == '{' {
		var entries map[string]json.RawMessage
		if err := json.Unmarshal(trimmed, &entries); err != nil {
			return fmt.Errorf("%s: %w", where, err)
		}
		return r.directory(where, entries, depth+1)
	}
	var text string
	if err := json.Unmarshal(content, &text); err != nil {
		return fmt.Errorf("%s: the content of a file must be a text, that of a directory an object", where)
	}
	return r.add(where, []byte(text))
}

func (r *inlineReader) add(where string, content []byte) error {
	r.bytes += len(content)
	switch {
	case len(content) > maxFileBytes:
		return fmt.Errorf("%s: the file has %d bytes, at most %d are allowed", where, len(content), maxFileBytes)
	case r.bytes > maxBytes:
		return fmt.Errorf("%s: the files have more than %d bytes together", where, maxBytes)
	case len(r.files) >= maxFiles:
		return fmt.Errorf("%s: there are more than %d files", where, maxFiles)
	}
	r.files[where] = content
	return nil
}

// CopyFiles reads a whole directory into memory, within the limits of a blueprint.
func CopyFiles(from fs.FS) (Files, error) {
	r := inlineReader{files: Files{}}
	err := fs.WalkDir(from, ".", func(where string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%s: only files and directories are allowed, no links or devices", where)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Size() > maxFileBytes {
			return fmt.Errorf("%s: the file has %d bytes, at most %d are allowed", where, info.Size(), maxFileBytes)
		}
		content, err := fs.ReadFile(from, where)
		if err != nil {
			return err
		}
		return r.add(where, content)
	})
	return r.files, err
}

// read returns a file by a path as blueprints write it: relative to the directory, with or without a slash in front.
func (f Files) read(name string) ([]byte, error) {
	clean := path.Clean(strings.TrimLeft(name, "/"))
	content, found := f[clean]
	if !found {
		return nil, fmt.Errorf("there is no file %q in the blueprint; it has %s", name, f.list())
	}
	return content, nil
}

// list names the files for an error message.
func (f Files) list() string {
	const most = 10
	names := slices.Sorted(maps.Keys(f))
	if len(names) == 0 {
		return "no files"
	}
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// Open implements fs.FS.
func (f Files) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if content, found := f[name]; found {
		return &openFile{Reader: bytes.NewReader(content), info: fileInfo{name: path.Base(name), size: int64(len(content))}}, nil
	}
	entries := f.entries(name)
	if entries == nil && name != "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openDir{info: fileInfo{name: path.Base(name), dir: true}, entries: entries}, nil
}

// entries lists a directory in order of names, nil if it is not there.
func (f Files) entries(dir string) []fs.DirEntry {
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	found := map[string]fileInfo{}
	for name, content := range f {
		rest, inside := strings.CutPrefix(name, prefix)
		if !inside {
			continue
		}
		if first, _, nested := strings.Cut(rest, "/"); nested {
			found[first] = fileInfo{name: first, dir: true}
		} else {
			found[rest] = fileInfo{name: rest, size: int64(len(content))}
		}
	}
	var entries []fs.DirEntry
	for _, name := range slices.Sorted(maps.Keys(found)) {
		entries = append(entries, fs.FileInfoToDirEntry(found[name]))
	}
	return entries
}

type fileInfo struct {
	name string
	size int64
	dir  bool
}

func (i fileInfo) Name() string       { return i.name }
func (i fileInfo) Size() int64        { return i.size }
func (i fileInfo) ModTime() time.Time { return time.Time{} }
func (i fileInfo) IsDir() bool        { return i.dir }
func (i fileInfo) Sys() any           { return nil }
func (i fileInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

type openFile struct {
	*bytes.Reader
	info fileInfo
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFile) Close() error               { return nil }

type openDir struct {
	info    fileInfo
	entries []fs.DirEntry
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *openDir) Close() error               { return nil }
func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.info.name, Err: fs.ErrInvalid}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 && len(d.entries) == 0 {
		return nil, io.EOF
	}
	if n <= 0 || n > len(d.entries) {
		n = len(d.entries)
	}
	taken := d.entries[:n]
	d.entries = d.entries[n:]
	return taken, nil
}
