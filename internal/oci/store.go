// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Media types of manifests. Docker's are read like those of OCI.
const (
	MediaTypeManifest       = ocispec.MediaTypeImageManifest
	MediaTypeIndex          = ocispec.MediaTypeImageIndex
	MediaTypeDockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	MediaTypeDockerIndex    = "application/vnd.docker.distribution.manifest.list.v2+json"
)

// Descriptor names content by its digest, with its size and media type.
type Descriptor = ocispec.Descriptor

// Store has repositories of artifacts. A repository is a path such as team/image, without a host. It must be safe for concurrent use. The
// error for missing content has class NotFound.
type Store interface {
	// Manifest returns the manifest, or index, of a tag or digest.
	Manifest(ctx context.Context, repository, reference string) (Manifest, error)
	// Blob returns the content of a blob, which is verified against its digest. A size of zero means unknown. The caller must read to the end
	// without an error before using the content, and must close it.
	Blob(ctx context.Context, repository string, blob Descriptor) (io.ReadCloser, error)
	// PushBlob stores a blob and returns its descriptor.
	PushBlob(ctx context.Context, repository, mediaType string, content []byte) (Descriptor, error)
	// PushManifest stores a manifest whose blobs already exist, under a tag unless that is empty.
	PushManifest(ctx context.Context, repository, tag string, manifest Manifest) error
	// String names the store for messages.
	String() string
}

// Limits bound the sizes of content that is read.
type Limits struct {
	// Manifest is the size of a manifest.
	Manifest int64
	// Blob is the size of a blob.
	Blob int64
}

// DefaultLimits leave room for everything but machine images.
var DefaultLimits = Limits{Manifest: 4 << 20, Blob: 512 << 20}

// Manifest is a manifest or an index as stored.
type Manifest struct {
	Descriptor
	Content []byte
}

// NewManifest returns the manifest with the given content.
func NewManifest(mediaType string, content []byte) Manifest {
	return Manifest{
		Descriptor: Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))},
		Content:    content,
	}
}

// IsIndex reports whether it lists other manifests.
func (m Manifest) IsIndex() bool {
	return m.MediaType == MediaTypeIndex || m.MediaType == MediaTypeDockerIndex
}

// Image returns the parts of a manifest that is not an index.
func (m Manifest) Image() (ocispec.Manifest, error) {
	var image ocispec.Manifest
	if m.IsIndex() {
		return image, malformed("it is an index, not the manifest of a single artifact")
	}
	if err := json.Unmarshal(m.Content, &image); err != nil {
		return image, malformed("the manifest is not well-formed")
	}
	return image, validDescriptors(append([]Descriptor{image.Config}, image.Layers...))
}

// Index returns the manifests that an index lists.
func (m Manifest) Index() ([]Descriptor, error) {
	var index ocispec.Index
	if !m.IsIndex() {
		return nil, malformed("it is the manifest of an artifact, not an index")
	}
	if err := json.Unmarshal(m.Content, &index); err != nil {
		return nil, malformed("the index is not well-formed")
	}
	return index.Manifests, validDescriptors(index.Manifests)
}

func validDescriptors(descriptors []Descriptor) error {
	for _, d := range descriptors {
		if err := d.Digest.Validate(); err != nil || d.Size < 0 {
			return malformed("the manifest has a descriptor without a valid digest and size")
		}
	}
	return nil
}

// ReadBlob reads a blob into memory, up to a limit.
func ReadBlob(ctx context.Context, from Store, repository string, at BlobLimit) ([]byte, error) {
	if at.Size > at.Most {
		return nil, tooLarge("the blob has %d bytes, which exceeds the limit of %d", at.Size, at.Most)
	}
	blob, err := from.Blob(ctx, repository, at.Descriptor)
	if err != nil {
		return nil, err
	}
	defer func() { _ = blob.Close() }()
	data, err := io.ReadAll(io.LimitReader(blob, at.Most+1))
	if err != nil {
		return nil, fmt.Errorf("read the blob %s: %w", at.Digest, err)
	}
	if int64(len(data)) > at.Most {
		return nil, tooLarge("the blob exceeds the limit of %d bytes", at.Most)
	}
	return data, nil
}

// BlobLimit is a blob, and how much of it to read at most.
type BlobLimit struct {
	Descriptor
	Most int64
}
