// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"espalier.dev/internal/lru"
)

// smallBlob is the maximum size of a blob that is verified before any part of it is returned.
const smallBlob = 8 << 20

// Registry is a Store behind HTTP.
type Registry struct {
	client *Client
	at     Address
	// scope identifies the host and the credential.
	scope string
	auth  *auth.Client
}

// String returns the host.
func (r *Registry) String() string { return r.at.Host }

func (r *Registry) where(repository string) string { return r.at.Host + "/" + repository }

func (r *Registry) repository(path string) (*remote.Repository, error) {
	if !IsRepository(path) {
		return nil, misconfigured("the name of a repository consists of lower-case letters, digits, dots, dashes, underscores and slashes")
	}
	return &remote.Repository{
		Client:             r.auth,
		Reference:          registry.Reference{Registry: r.at.Host, Repository: path},
		PlainHTTP:          r.at.PlainHTTP,
		ManifestMediaTypes: []string{MediaTypeManifest, MediaTypeIndex, MediaTypeDockerManifest, MediaTypeDockerIndex},
		MaxMetadataBytes:   r.client.options.Limits.Manifest,
	}, nil
}

// Manifest implements Store. It caches manifests named by digest; a tag is resolved each time.
func (r *Registry) Manifest(ctx context.Context, repository, reference string) (Manifest, error) {
	operation := "read the manifest " + reference
	if digest.Digest(reference).Validate() != nil {
		manifest, err := r.fetchManifest(ctx, repository, reference)
		return manifest, classify(operation, r.where(repository), err)
	}
	key := lru.KeyOf([]byte(r.scope), []byte(reference))
	manifest, err := r.client.manifests.Get(key, func() (Manifest, int, error) {
		manifest, err := r.fetchManifest(ctx, repository, reference)
		return manifest, len(manifest.Content), err
	})
	return manifest, classify(operation, r.where(repository), err)
}

func (r *Registry) fetchManifest(ctx context.Context, path, reference string) (Manifest, error) {
	ctx, cancel := context.WithTimeout(ctx, r.client.options.Timeout)
	defer cancel()
	repository, err := r.repository(path)
	if err != nil {
		return Manifest{}, err
	}
	described, body, err := repository.Manifests().FetchReference(ctx, reference)
	if err != nil {
		return Manifest{}, err
	}
	defer func() { _ = body.Close() }()
	most := r.client.options.Limits.Manifest
	if described.Size > most {
		return Manifest{}, tooLarge("the manifest has %d bytes, which exceeds the limit of %d", described.Size, most)
	}
	content, err := io.ReadAll(&bounded{Reader: body, left: most})
	if err != nil {
		return Manifest{}, err
	}
	// The digest is computed from the received content, regardless of the registry's claim.
	manifest := NewManifest(described.MediaType, content)
	want := digest.Digest(reference)
	if want.Validate() != nil {
		want = described.Digest
	}
	if got := want.Algorithm().FromBytes(content); got != want {
		return Manifest{}, wrongDigest(want.String(), got.String())
	}
	manifest.Digest = want
	return manifest, nil
}

// Blob implements Store. Concurrent requests for a blob fetch it once.
func (r *Registry) Blob(ctx context.Context, repository string, blob Descriptor) (io.ReadCloser, error) {
	content, err := r.blob(ctx, repository, blob)
	return content, classify(fmt.Sprintf("read the blob %s", blob.Digest), r.where(repository), err)
}

func (r *Registry) blob(ctx context.Context, repository string, blob Descriptor) (io.ReadCloser, error) {
	if err := validDigest(blob.Digest); err != nil {
		return nil, err
	}
	if most := r.client.options.Limits.Blob; blob.Size > most {
		return nil, tooLarge("the blob has %d bytes, which exceeds the limit of %d", blob.Size, most)
	}
	// Fetched content may be gone before it is opened, because other processes share the cache, or may be damaged.
	for range attempts {
		content, err := r.cached(blob.Digest)
		if !errors.Is(err, fs.ErrNotExist) {
			return content, err
		}
		err = r.client.fetches.do(ctx, r.scope+blob.Digest.String(), r.client.options.BlobTimeout, func(ctx context.Context) error {
			return r.fetchBlob(ctx, repository, blob)
		})
		if err != nil {
			return nil, err
		}
	}
	return nil, errors.New("the content cache loses its content: its disk may be full, or it is too small")
}

// cached returns a blob from the cache. A damaged small one is removed and counts as missing.
func (r *Registry) cached(of digest.Digest) (io.ReadCloser, error) {
	cache := r.client.options.Cache
	file, size, err := cache.open(r.scope, of)
	if err != nil {
		return nil, err
	}
	content := verify(file, of, func() { cache.remove(r.scope, of) })
	if size > smallBlob {
		return content, nil
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(content)
	if ClassOf(err) == WrongDigest {
		return nil, fs.ErrNotExist
	}
	return io.NopCloser(bytes.NewReader(data)), err
}

// fetchBlob fetches a blob into the cache. An interrupted transfer is retried a few times.
func (r *Registry) fetchBlob(ctx context.Context, path string, blob Descriptor) error {
	repository, err := r.repository(path)
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		err := r.transfer(ctx, repository, blob)
		if err == nil || attempt == attempts || !brokenOff(err) {
			return err
		}
		if pauseFor(ctx, r.client.options.Pause<<(attempt-1)) != nil {
			return err
		}
	}
}

func (r *Registry) transfer(ctx context.Context, repository *remote.Repository, blob Descriptor) error {
	described, body, err := repository.Blobs().FetchReference(ctx, blob.Digest.String())
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	if most := r.client.options.Limits.Blob; described.Size > most {
		return tooLarge("the blob has %d bytes, which exceeds the limit of %d", described.Size, most)
	}
	return r.client.options.Cache.add(r.scope, blob.Digest, &bounded{Reader: body, left: r.client.options.Limits.Blob})
}

// brokenOff reports whether a connection ended before the end of the content.
func brokenOff(err error) bool {
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)
}

// PushBlob implements Store.
func (r *Registry) PushBlob(ctx context.Context, path, mediaType string, content []byte) (Descriptor, error) {
	ctx, cancel := context.WithTimeout(ctx, r.client.options.BlobTimeout)
	defer cancel()
	blob := Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
	operation := "push the blob " + blob.Digest.String()
	repository, err := r.repository(path)
	if err != nil {
		return Descriptor{}, classify(operation, r.where(path), err)
	}
	if there, err := repository.Blobs().Exists(ctx, blob); err == nil && there {
		return blob, nil
	}
	return blob, classify(operation, r.where(path), repository.Blobs().Push(ctx, blob, bytes.NewReader(content)))
}

// PushManifest implements Store.
func (r *Registry) PushManifest(ctx context.Context, path, tag string, manifest Manifest) error {
	ctx, cancel := context.WithTimeout(ctx, r.client.options.Timeout)
	defer cancel()
	operation := "push the manifest " + tag
	repository, err := r.repository(path)
	if err == nil && tag != "" {
		err = repository.Manifests().PushReference(ctx, manifest.Descriptor, bytes.NewReader(manifest.Content), tag)
	} else if err == nil {
		err = repository.Manifests().Push(ctx, manifest.Descriptor, bytes.NewReader(manifest.Content))
	}
	return classify(operation, r.where(path), err)
}
