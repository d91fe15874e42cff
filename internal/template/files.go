// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Files gives a template the files of its blueprint, and no others.
type Files struct {
	root  fs.FS
	meter *Meter
}

// Entry is a file or a directory in a directory.
type Entry struct {
	// Name is the name without its directory.
	Name string
	// IsDir distinguishes directories from files.
	IsDir bool
	// Size is the length of a file in bytes.
	Size int64
}

// NewFiles returns the files below root; none if root is nil.
func NewFiles(root fs.FS, meter *Meter) Files {
	return Files{root: root, meter: meter}
}

// Read returns the content of a file. Paths start at the root of the blueprint, with or without a leading slash.
func (f Files) Read(name string) (string, error) {
	clean, err := f.locate(name)
	if err != nil {
		return "", err
	}
	file, err := f.root.Open(clean)
	if err != nil {
		return "", unreadable(err, "file")
	}
	defer file.Close()
	limit := int64(f.meter.limits.Output)
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return "", unreadable(err, "file")
	}
	if int64(len(content)) > limit {
		return "", Problemf("the file is longer than %d bytes", limit)
	}
	if err := f.meter.Build(int64(len(content))); err != nil {
		return "", err
	}
	return string(content), nil
}

// Has reports whether a file, or a directory, exists. A path that leads out of the blueprint does not.
func (f Files) Has(name string, directory bool) (bool, error) {
	clean, err := f.locate(name)
	if err != nil {
		return false, f.meter.Reached()
	}
	info, err := fs.Stat(f.root, clean)
	return err == nil && info.IsDir() == directory, nil
}

// List returns the entries of a directory, sorted by name.
func (f Files) List(name string) ([]Entry, error) {
	clean, err := f.locate(name)
	if err != nil {
		return nil, err
	}
	listed, err := fs.ReadDir(f.root, clean)
	if err != nil {
		return nil, unreadable(err, "directory")
	}
	if err := f.meter.Build(int64(len(listed)) * sizeOfEntry); err != nil {
		return nil, err
	}
	entries := make([]Entry, len(listed))
	for i, entry := range listed {
		entries[i] = Entry{Name: entry.Name(), IsDir: entry.IsDir()}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			entries[i].Size = info.Size()
		}
	}
	return entries, nil
}

// locate converts a path of a template to a path of the file system. A path that leads out of the blueprint is rejected, not
// shortened, because its author expects a file that cannot exist.
func (f Files) locate(name string) (string, error) {
	if err := f.meter.Step(1 + int64(len(name))/bytesPerStep); err != nil {
		return "", err
	}
	if f.root == nil {
		return "", Problemf("there are no files here")
	}
	clean := path.Clean(strings.TrimLeft(name, "/"))
	if !fs.ValidPath(clean) {
		return "", Problemf("the path leads out of the blueprint or is not valid")
	}
	return clean, nil
}

func unreadable(err error, kind string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return Problemf("there is no such %s in the blueprint", kind)
	}
	return Problemf("the %s cannot be read", kind)
}
