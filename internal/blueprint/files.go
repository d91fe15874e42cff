// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/archive"
)

// Limits of a blueprint's directory.
const (
	maxFiles     = 10_000
	maxFileBytes = 4 << 20
	maxBytes     = 32 << 20
	maxDepth     = 64
)

// Files is the directory of a blueprint in memory.
type Files = archive.Files

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

// readFile returns a file by its path in blueprint notation: relative to the directory, with or without a leading slash.
func readFile(f Files, name string) ([]byte, error) {
	clean := path.Clean(strings.TrimLeft(name, "/"))
	content, found := f[clean]
	if !found {
		return nil, fmt.Errorf("there is no file %q in the blueprint; it has %s", name, listFiles(f))
	}
	return content, nil
}

// listFiles names the files for an error message.
func listFiles(f Files) string {
	const most = 10
	names := f.Names()
	if len(names) == 0 {
		return "no files"
	}
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
