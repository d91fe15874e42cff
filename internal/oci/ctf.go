// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/opencontainers/go-digest"

	"espalier.dev/internal/archive"
)

// IndexFile is the name of the index of an archive.
const IndexFile = "artifact-index.json"

// Names in an archive.
const (
	indexFile   = IndexFile
	blobsFolder = "blobs"

	maxIndexBytes = 4 << 20
)

// archiveLimits are for archives in a single file, which are read into memory. A larger one can be unpacked into a directory; then blobs
// are read on demand.
var archiveLimits = archive.Limits{Bytes: 256 << 20, FileBytes: 256 << 20, Entries: 20_000, Depth: 4}

// artifact is an entry of the index of an archive.
type artifact struct {
	Repository string        `json:"repository"`
	Tag        string        `json:"tag,omitempty"`
	Digest     digest.Digest `json:"digest"`
	MediaType  string        `json:"mediaType,omitempty"`
}

type artifactIndex struct {
	SchemaVersion int        `json:"schemaVersion"`
	Artifacts     []artifact `json:"artifacts"`
}

// Archive is a Store in the common transport format (CTF): an index of artifacts and a folder of blobs.
type Archive struct {
	name   string
	limits Limits

	mutex sync.RWMutex
	index artifactIndex
	// files contains the blobs, added those that were pushed since.
	files fs.FS
	added archive.Files
}

// NewArchive returns an empty archive in memory.
func NewArchive() *Archive {
	return &Archive{
		name:   "a new archive",
		limits: DefaultLimits,
		index:  artifactIndex{SchemaVersion: 1, Artifacts: []artifact{}},
		files:  archive.Files{},
		added:  archive.Files{},
	}
}

// OpenArchive opens an archive in a file system: a directory, or a tar file, with or without gzip.
func OpenArchive(in fs.FS, name string) (*Archive, error) {
	a, err := openArchive(in, name)
	return a, classify("open the archive", name, err)
}

func openArchive(in fs.FS, name string) (*Archive, error) {
	a := NewArchive()
	a.name = name
	info, err := fs.Stat(in, name)
	if err != nil {
		return nil, fileError(err)
	}
	if info.IsDir() {
		if a.files, err = fs.Sub(in, name); err != nil {
			return nil, fileError(err)
		}
	} else if a.files, err = readArchiveFile(in, name); err != nil {
		return nil, err
	}
	return a, a.readIndex()
}

func readArchiveFile(in fs.FS, name string) (archive.Files, error) {
	file, err := in.Open(name)
	if err != nil {
		return nil, fileError(err)
	}
	defer func() { _ = file.Close() }()
	files, err := archive.Read(file, archiveLimits)
	if err != nil {
		return nil, malformed("neither a directory nor a tar archive that can be read: %s", err)
	}
	return files, nil
}

func (a *Archive) readIndex() error {
	file, err := a.files.Open(indexFile)
	if errors.Is(err, fs.ErrNotExist) {
		return malformed("not an archive in the common transport format: file %s is missing", indexFile)
	}
	if err != nil {
		return fileError(err)
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(&bounded{Reader: file, left: maxIndexBytes})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &a.index); err != nil || a.index.SchemaVersion != 1 {
		return malformed("its file %s is not well-formed: schemaVersion 1 and a list of artifacts are expected", indexFile)
	}
	for _, entry := range a.index.Artifacts {
		if err := validDigest(entry.Digest); err != nil {
			return err
		}
	}
	return nil
}

// fileError describes an error of a file without quoting paths of this machine.
func fileError(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return notFound("the file does not exist")
	}
	return fmt.Errorf("read the file: %w", err)
}

// InMemory returns how many bytes of the archive are in memory.
func (a *Archive) InMemory() int {
	a.mutex.RLock()
	defer a.mutex.RUnlock()
	total := 0
	read, _ := a.files.(archive.Files)
	for _, files := range []archive.Files{read, a.added} {
		for _, content := range files {
			total += len(content)
		}
	}
	return total
}

// String names the archive.
func (a *Archive) String() string { return "archive " + a.name }

// Manifest implements Store.
func (a *Archive) Manifest(_ context.Context, repository, reference string) (Manifest, error) {
	manifest, err := a.manifest(repository, reference)
	return manifest, classify("read the manifest "+reference, a.String()+", "+repository, err)
}

func (a *Archive) manifest(repository, reference string) (Manifest, error) {
	entry, err := a.find(repository, reference)
	if err != nil {
		return Manifest{}, err
	}
	blob, err := a.open(entry.Digest)
	if err != nil {
		return Manifest{}, err
	}
	defer func() { _ = blob.Close() }()
	content, err := io.ReadAll(&bounded{Reader: blob, left: a.limits.Manifest})
	if err != nil {
		return Manifest{}, err
	}
	manifest := NewManifest(entry.MediaType, content)
	manifest.Digest = entry.Digest
	if manifest.MediaType == "" {
		manifest.MediaType = mediaTypeOf(content)
	}
	return manifest, nil
}

// find looks up an artifact. A digest may be missing from the index: the manifests of an index artifact are not in it.
func (a *Archive) find(repository, reference string) (artifact, error) {
	a.mutex.RLock()
	defer a.mutex.RUnlock()
	byDigest := digest.Digest(reference).Validate() == nil
	inRepository := false
	for _, entry := range a.index.Artifacts {
		if entry.Repository != repository {
			continue
		}
		if entry.Tag == reference || entry.Digest.String() == reference {
			return entry, nil
		}
		inRepository = true
	}
	if byDigest && inRepository {
		return artifact{Repository: repository, Digest: digest.Digest(reference)}, nil
	}
	return artifact{}, notFound("not in the archive")
}

// mediaTypeOf returns the media type that a manifest contains, or the one that follows from its fields.
func mediaTypeOf(content []byte) string {
	var fields struct {
		MediaType string          `json:"mediaType"`
		Manifests json.RawMessage `json:"manifests"`
	}
	_ = json.Unmarshal(content, &fields)
	switch {
	case fields.MediaType != "":
		return fields.MediaType
	case len(fields.Manifests) > 0:
		return MediaTypeIndex
	default:
		return MediaTypeManifest
	}
}

// Blob implements Store.
func (a *Archive) Blob(_ context.Context, repository string, blob Descriptor) (io.ReadCloser, error) {
	content, err := a.open(blob.Digest)
	return content, classify("read the blob "+blob.Digest.String(), a.String()+", "+repository, err)
}

// open opens a blob. Archives have a dot or a folder between algorithm and digits.
func (a *Archive) open(of digest.Digest) (io.ReadCloser, error) {
	if err := validDigest(of); err != nil {
		return nil, err
	}
	a.mutex.RLock()
	defer a.mutex.RUnlock()
	if content, found := a.added[blobName(of)]; found {
		return io.NopCloser(bytes.NewReader(content)), nil
	}
	for _, name := range []string{blobName(of), strings.Replace(blobName(of), ".", "/", 1)} {
		file, err := a.files.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fileError(err)
		}
		if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
			_ = file.Close()
			return nil, malformed("the blob is not a regular file")
		}
		return verify(file, of, nil), nil
	}
	return nil, notFound("not in the archive")
}

func blobName(of digest.Digest) string {
	return blobsFolder + "/" + of.Algorithm().String() + "." + of.Encoded()
}

// PushBlob implements Store.
func (a *Archive) PushBlob(_ context.Context, _, mediaType string, content []byte) (Descriptor, error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	blob := Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
	a.added[blobName(blob.Digest)] = bytes.Clone(content)
	return blob, nil
}

// PushManifest implements Store.
func (a *Archive) PushManifest(_ context.Context, repository, tag string, manifest Manifest) error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.added[blobName(manifest.Digest)] = bytes.Clone(manifest.Content)
	a.index.Artifacts = slices.DeleteFunc(a.index.Artifacts, func(e artifact) bool {
		return e.Repository == repository && e.Tag == tag && (tag != "" || e.Digest == manifest.Digest)
	})
	a.index.Artifacts = append(a.index.Artifacts, artifact{
		Repository: repository,
		Tag:        tag,
		Digest:     manifest.Digest,
		MediaType:  manifest.MediaType,
	})
	return nil
}

// Files returns the archive as a directory: its original content, and what was pushed since.
func (a *Archive) Files() (archive.Files, error) {
	a.mutex.RLock()
	defer a.mutex.RUnlock()
	files := archive.Files{}
	err := fs.WalkDir(a.files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		files[name], err = fs.ReadFile(a.files, name)
		return err
	})
	if err != nil {
		return nil, classify("copy the archive", a.name, fileError(err))
	}
	changes, err := a.changes()
	if err != nil {
		return nil, err
	}
	maps.Copy(files, changes)
	return files, nil
}

// Changes returns the files that pushes have added to the archive, and its index.
func (a *Archive) Changes() (blobs archive.Files, index []byte, err error) {
	a.mutex.RLock()
	defer a.mutex.RUnlock()
	files, err := a.changes()
	if err != nil {
		return nil, nil, err
	}
	index = files[indexFile]
	delete(files, indexFile)
	return files, index, nil
}

func (a *Archive) changes() (archive.Files, error) {
	files := maps.Clone(a.added)
	index, err := json.MarshalIndent(a.index, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the index of the archive: %w", err)
	}
	files[indexFile] = index
	return files, nil
}
