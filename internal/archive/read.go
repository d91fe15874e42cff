// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package archive

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
)

// Read reads a tar archive into memory. It detects gzip from the content.
func Read(from io.Reader, limits Limits) (Files, error) {
	plain, err := unpacked(from, limits.Bytes)
	if err != nil {
		return nil, err
	}
	r := reading{limits: limits, left: limits.Bytes, files: Files{}, directories: map[string]bool{}}
	if err := r.all(tar.NewReader(plain)); err != nil {
		return nil, plain.explain(err)
	}
	if err := onlyPadding(plain); err != nil {
		return nil, plain.explain(err)
	}
	return r.files, nil
}

// reading is an archive that is being read.
type reading struct {
	limits  Limits
	left    int64
	entries int
	files   Files
	// directories are the named directories and those that contain files.
	directories map[string]bool
}

func (r *reading) all(archive *tar.Reader) error {
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if r.entries++; r.entries > r.limits.Entries {
			return fmt.Errorf("%w: it has more than %d files and directories", errTooLarge, r.limits.Entries)
		}
		if err := r.entry(header, archive); err != nil {
			return fmt.Errorf("%q: %w", shortened(header.Name), err)
		}
	}
}

func (r *reading) entry(header *tar.Header, content io.Reader) error {
	switch header.Typeflag {
	case tar.TypeXGlobalHeader: // of git archive: it has no content
		return nil
	case tar.TypeReg, tar.TypeDir:
	default:
		return errors.New("only files and directories are allowed, no links or devices")
	}
	name, err := cleanName(header.Name, r.limits.Depth)
	if err != nil {
		return err
	}
	if header.Typeflag == tar.TypeDir {
		return r.directory(name)
	}
	if name == "." {
		return errors.New("a file needs a name")
	}
	return r.file(name, header.Size, content)
}

func (r *reading) file(name string, size int64, content io.Reader) error {
	if _, taken := r.files[name]; taken || r.directories[name] {
		return errors.New("it occurs twice")
	}
	// A sparse file is larger than its data in the archive, so its size is checked before it is read.
	if size > r.limits.FileBytes || size > r.left {
		return fmt.Errorf(
			"%w: the file has %d bytes; a file may have %d, all of them together %d", errTooLarge, size, r.limits.FileBytes, r.limits.Bytes)
	}
	if err := r.directory(path.Dir(name)); err != nil {
		return err
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	r.left -= size
	r.files[name] = data
	return nil
}

// directory records a directory and its parents, none of which may be a file.
func (r *reading) directory(name string) error {
	for ; name != "." && !r.directories[name]; name = path.Dir(name) {
		if _, taken := r.files[name]; taken {
			return fmt.Errorf("%q is a file already, and cannot be a directory", shortened(name))
		}
		r.directories[name] = true
	}
	return nil
}

// cleanName returns the path of an entry without the prefixes that some programs add: a slash, or a dot with a slash.
func cleanName(name string, depth int) (string, error) {
	name = strings.TrimSuffix(strings.TrimLeft(name, "/"), "/")
	for strings.HasPrefix(name, "./") {
		name = strings.TrimLeft(name[2:], "/")
	}
	if name == "" || name == "." {
		return ".", nil
	}
	parts := strings.Split(name, "/")
	for _, part := range parts {
		if part == ".." {
			return "", errors.New("the name leads out of its directory")
		}
	}
	switch {
	case !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00"):
		return "", errors.New("the name is not a clean path")
	case len(parts)-1 > depth:
		return "", fmt.Errorf("it is nested in more than %d directories", depth)
	}
	return name, nil
}

// onlyPadding reads what follows the end of the archive. Programs pad it with zeros; anything else is an error.
func onlyPadding(rest io.Reader) error {
	buffer := make([]byte, 32<<10)
	for {
		n, err := rest.Read(buffer)
		for _, b := range buffer[:n] {
			if b != 0 {
				return errors.New("there is data after the end of the archive")
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read to the end: %w", err)
		}
	}
}

// shortened truncates a long name for an error message.
func shortened(name string) string {
	const most = 120
	if len(name) > most {
		return name[:most] + "..."
	}
	return name
}
