// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"espalier.dev/internal/archive"
)

// Modes of what is written, less what the umask of the user takes away.
const (
	fileMode      = 0o666
	directoryMode = 0o777
)

// WriteFile writes a file atomically: if the function fails, the file stays as it was before.
func WriteFile(name string, write func(io.Writer) error) error {
	beside := besides(name)
	file, err := os.OpenFile(beside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(beside) }()
	if err = write(file); err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return os.Rename(beside, name)
}

// besides returns an unused name in the same directory.
func besides(name string) string { return filepath.Join(filepath.Dir(name), ".espalier-"+rand.Text()) }

// CheckFree says whether a directory can be written: it must not be there, or be empty.
func CheckFree(name string) error {
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(filepath.Clean(name))); err != nil {
			return fmt.Errorf("%s: the parent directory does not exist: create it", name)
		}
		return nil
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is a file: name an empty directory, or one that does not exist", name)
	}
	if here, err := os.Stat("."); err == nil && os.SameFile(here, info) {
		return fmt.Errorf("%s is the current directory, which cannot be replaced: name one in it", name)
	}
	entries, err := os.ReadDir(name)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty: name an empty directory, or one that does not exist", name)
	}
	return err
}

// WriteDirectory writes a directory that must be free: either all of it, or nothing changes.
func WriteDirectory(name string, files archive.Files) error {
	if err := CheckFree(name); err != nil {
		return err
	}
	target, err := filepath.Abs(name)
	if err != nil {
		return err
	}
	if behind, err := filepath.EvalSymlinks(target); err == nil {
		target = behind
	}
	beside := besides(target)
	if err := os.Mkdir(beside, directoryMode); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(beside) }()
	if err := fill(beside, files); err != nil {
		return err
	}
	// Nothing is removed here but an empty directory.
	if err := os.Remove(target); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(beside, target)
}

// fill writes files. None can end up outside of the directory, nor take the place of another one, whatever its name means here.
func fill(directory string, files archive.Files) error {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, name := range files.Names() {
		if err := root.MkdirAll(path.Dir(name), directoryMode); err != nil {
			return err
		}
		if err := create(root, name, files[name]); err != nil {
			return err
		}
	}
	return nil
}

func create(root *os.Root, name string, content []byte) error {
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
