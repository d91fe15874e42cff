// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"io"
	"strings"

	"espalier.dev/internal/component"
	"espalier.dev/internal/component/signature"
)

// Digest computes the digest of a resource's content: in the requested way, or in the suitable one if none is requested. For an artifact it
// reads only the manifest; it reads a blob unchanged, even if it is packed. Errors do not name the resource: the caller does.
func (r *Repositories) Digest(
	ctx context.Context, of component.Coordinates, resource *component.Resource, want signature.Digest,
) (signature.Digest, error) {
	found, err := r.access(ctx, of, resource.Access)
	if err != nil {
		return signature.Digest{}, err
	}
	if !want.OfBlob() {
		if found, err = r.unwrap(ctx, found); err != nil {
			return signature.Digest{}, err
		}
	}
	if found.artifact != nil {
		if want.OfBlob() {
			return signature.Digest{}, invalid(ReasonResourceInvalid,
				"the digest %s is for blobs, but the resource is an artifact", signature.BlobDigest)
		}
		return artifactDigest(found.artifact, want)
	}
	if want.OfArtifact() {
		return signature.Digest{}, invalid(ReasonResourceInvalid,
			"the digest %s is for artifacts, but the resource is a blob", want.Normalisation)
	}
	return blobDigest(found, want)
}

// artifactDigest returns the digest under which the registry has the manifest.
func artifactDigest(a *artifact, want signature.Digest) (signature.Digest, error) {
	own := a.manifest.Digest
	computed := signature.Digest{Hash: want.Hash, Normalisation: want.Normalisation, Value: own.Encoded()}
	if computed.Hash == "" {
		computed.Hash = strings.ToUpper(strings.Replace(own.Algorithm().String(), "sha", "SHA-", 1))
	}
	if computed.Normalisation == "" {
		computed.Normalisation = signature.ArtifactDigest
	}
	sum, err := newHash(computed.Hash)
	if err != nil {
		return signature.Digest{}, err
	}
	// The registry may use another algorithm than the requested one for the manifest.
	sum.Write(a.manifest.Content)
	computed.Value = hex.EncodeToString(sum.Sum(nil))
	return computed, nil
}

func blobDigest(found content, want signature.Digest) (signature.Digest, error) {
	computed := signature.Digest{Hash: want.Hash, Normalisation: signature.BlobDigest}
	if computed.Hash == "" {
		computed.Hash = signature.SHA256
	}
	sum, err := newHash(computed.Hash)
	if err != nil {
		return signature.Digest{}, err
	}
	stream, err := found.open()
	if err != nil {
		return signature.Digest{}, err
	}
	defer func() { _ = stream.Close() }()
	if _, err := io.Copy(sum, stream); err != nil {
		return signature.Digest{}, fromStore(err)
	}
	computed.Value = hex.EncodeToString(sum.Sum(nil))
	return computed, nil
}

func newHash(name string) (hash.Hash, error) {
	switch {
	case signature.IsSHA256(name):
		return sha256.New(), nil
	case signature.IsSHA512(name):
		return sha512.New(), nil
	}
	return nil, invalid(ReasonResourceInvalid, "unknown hash algorithm %q: use %s or %s", name, signature.SHA256, signature.SHA512)
}
