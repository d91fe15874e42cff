// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/component/repository"
	"espalier.dev/internal/oci"
)

// Push stores a blueprint, and returns the digest of the artifact. An archive is extended, or created.
func (s *Session) Push(ctx context.Context, to Reference, files archive.Files) (digest string, err error) {
	if to.Archive == "" {
		pushed, err := s.PushBlueprint(ctx, to.Image, files)
		_, digest, _ := strings.Cut(pushed, "@")
		return digest, err
	}
	store := oci.NewArchive()
	if to.exists {
		if store, err = openArchive(to.Archive); err != nil {
			return "", err
		}
	}
	manifest, err := repository.StoreBlueprint(ctx, store, repository.StoredAs{Repository: to.Repository, Tag: to.Tag}, files)
	if err == nil {
		err = save(store, to)
	}
	if err != nil {
		return "", fmt.Errorf("push the blueprint: %w", err)
	}
	return manifest.Digest.String(), nil
}

// Pull returns a blueprint, and the digest of its artifact.
func (s *Session) Pull(ctx context.Context, from Reference) (files archive.Files, digest string, err error) {
	switch {
	case from.Archive == "":
		return s.BlueprintArtifact(ctx, from.Image, "")
	case !from.exists:
		return nil, "", fmt.Errorf("there is no archive %s", filepath.Base(from.Archive))
	}
	store, err := openArchive(from.Archive)
	if err != nil {
		return nil, "", err
	}
	return s.BlueprintIn(ctx, store, from.Repository, from.Version())
}

func openArchive(file string) (*oci.Archive, error) {
	return oci.OpenArchive(os.DirFS(filepath.Dir(file)), filepath.Base(file))
}

// IsArchive reports whether a file or directory is an archive in the common transport format, as far as its form tells.
func IsArchive(name string) bool {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		_, err = os.Stat(filepath.Join(name, oci.IndexFile))
	}
	return err == nil
}

// save writes an archive atomically: it stays as it was before, or contains all that was pushed.
func save(store *oci.Archive, to Reference) error {
	info, err := os.Stat(to.Archive)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		packed, isFile := ending(to.Archive)
		if isFile {
			return saveFile(store, to.Archive, packed)
		}
		return saveNew(store, to.Archive)
	case err != nil:
		return err
	case info.IsDir():
		return extend(store, to.Archive)
	}
	packed, err := isPacked(to.Archive)
	if err != nil {
		return err
	}
	return saveFile(store, to.Archive, packed)
}

func isPacked(name string) (bool, error) {
	file, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer func() { _ = file.Close() }()
	begin := make([]byte, 2)
	_, err = io.ReadFull(file, begin)
	return archive.IsGzip(begin), err
}

func saveFile(store *oci.Archive, name string, packed bool) error {
	files, err := store.Files()
	if err != nil {
		return err
	}
	text, err := archive.Tar(files)
	if err == nil && packed {
		text, err = archive.Gzip(text)
	}
	if err != nil {
		return err
	}
	return WriteFile(name, writing(text))
}

func saveNew(store *oci.Archive, name string) error {
	files, err := store.Files()
	if err != nil {
		return err
	}
	return WriteDirectory(name, files)
}

// extend adds to a directory. Until the index is replaced, nothing refers to the blobs that are new.
func extend(store *oci.Archive, name string) error {
	blobs, index, err := store.Changes()
	if err != nil {
		return err
	}
	for _, blob := range blobs.Names() {
		file := filepath.Join(name, filepath.FromSlash(blob))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := WriteFile(file, writing(blobs[blob])); err != nil {
			return err
		}
	}
	return WriteFile(filepath.Join(name, oci.IndexFile), writing(index))
}

func writing(text []byte) func(io.Writer) error {
	return func(file io.Writer) error {
		_, err := io.Copy(file, bytes.NewReader(text))
		return err
	}
}
