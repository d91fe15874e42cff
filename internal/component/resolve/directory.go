// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"espalier.dev/internal/component"
)

// Names of the files and folders of a directory of components.
const (
	descriptorPrefix = "component-descriptor"
	blobsFolder      = "blobs"
)

// maxFiles is the maximum number of descriptors in a directory.
const maxFiles = 10_000

// ReadDirectory reads all component descriptors in a directory and below it into a source. A descriptor is a file whose
// name starts with component-descriptor and ends with .yaml, .yml or .json, for example
//
//	component-descriptor.yaml              one component, as in a component archive
//	component-descriptor-database.yaml     another one beside it
//	web/component-descriptor.json          a component archive in a separate folder
//	web/blobs/...                          not read: the blobs of that archive
//
// Only the content of a file determines which component it describes. Other files are ignored.
func ReadDirectory(directory fs.FS, limits component.Limits) (*Memory, error) {
	r := directoryReader{directory: directory, limits: limits, files: map[component.ID]string{}}
	if err := fs.WalkDir(directory, ".", r.visit); err != nil {
		return nil, fmt.Errorf("read the component descriptors of a directory: %w", err)
	}
	return NewMemory(r.found...)
}

type directoryReader struct {
	directory fs.FS
	limits    component.Limits
	found     []*component.Descriptor
	// files maps components to the files that describe them.
	files map[component.ID]string
}

func (r *directoryReader) visit(name string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case entry.IsDir() && entry.Name() == blobsFolder:
		return fs.SkipDir
	case entry.IsDir() || !isDescriptorFile(entry.Name()):
		return nil
	case len(r.found) == maxFiles:
		return fmt.Errorf("there are more than %d component descriptors", maxFiles)
	}
	d, err := r.read(name, entry)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if other, taken := r.files[d.ID()]; taken {
		return fmt.Errorf("%s: component %s is described in %s already", name, d.ID(), other)
	}
	r.files[d.ID()] = name
	r.found = append(r.found, d)
	return nil
}

func isDescriptorFile(name string) bool {
	if !strings.HasPrefix(name, descriptorPrefix) {
		return false
	}
	switch path.Ext(name) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// read reads one file. It does not follow links, because they can lead out of the directory.
func (r *directoryReader) read(name string, entry fs.DirEntry) (*component.Descriptor, error) {
	if !entry.Type().IsRegular() {
		return nil, errors.New("a component descriptor must be a regular file")
	}
	info, err := entry.Info()
	if err != nil {
		return nil, err
	}
	if info.Size() > int64(r.limits.Bytes) {
		return nil, fmt.Errorf("the file has %d bytes, at most %d are allowed", info.Size(), r.limits.Bytes)
	}
	text, err := fs.ReadFile(r.directory, name)
	if err != nil {
		return nil, err
	}
	return component.Parse(text, r.limits)
}
