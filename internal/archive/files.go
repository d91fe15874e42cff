// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"bytes"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"
)

// Files is a directory in memory: contents by clean, relative path. It is an fs.FS that cannot lead anywhere else. A directory exists while
// it contains a file, at whatever depth.
type Files map[string][]byte

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

// Below returns the files of a directory, by their path in it; nil if it does not exist.
func (f Files) Below(dir string) Files {
	if dir = path.Clean(dir); dir == "." {
		return f
	}
	var below Files
	for name, content := range f {
		if rest, inside := strings.CutPrefix(name, dir+"/"); inside {
			if below == nil {
				below = Files{}
			}
			below[rest] = content
		}
	}
	return below
}

// Names returns the paths of all files in order.
func (f Files) Names() []string { return slices.Sorted(maps.Keys(f)) }

// entries lists a directory in order of names, nil if it does not exist.
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
