// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/oci"
)

// PushBlueprint stores the directory of a blueprint as an artifact under an image reference with a tag, and returns the reference
// with the digest. The same directory gives the same digest.
func (r *Repositories) PushBlueprint(ctx context.Context, reference string, files archive.Files) (string, error) {
	parsed, at, err := imageAddress(reference)
	if err != nil {
		return "", fmt.Errorf("push the blueprint: %w", err)
	}
	if parsed.Tag == "" || parsed.Digest != "" {
		return "", invalid(ReasonResourceInvalid, "push the blueprint: the reference needs a tag, and no digest")
	}
	store, err := r.connect(at, at.Path)
	if err != nil {
		return "", fmt.Errorf("push the blueprint: %w", err)
	}
	manifest, err := StoreBlueprint(ctx, store, StoredAs{Repository: at.Path, Tag: parsed.Tag}, files)
	if err != nil {
		return "", fmt.Errorf("push the blueprint: %w", err)
	}
	parsed.Digest = manifest.Digest.String()
	return parsed.String(), nil
}

// StoredAs is the name under which a store keeps an artifact.
type StoredAs struct {
	Repository string
	Tag        string
}

// StoreBlueprint stores the directory of a blueprint as an artifact of a store.
func StoreBlueprint(ctx context.Context, store oci.Store, at StoredAs, files archive.Files) (oci.Manifest, error) {
	manifest, err := pushBlueprint(ctx, store, at.Repository, files)
	if err != nil {
		return manifest, err
	}
	return manifest, store.PushManifest(ctx, at.Repository, at.Tag, manifest)
}

func pushBlueprint(ctx context.Context, store oci.Store, repository string, files archive.Files) (oci.Manifest, error) {
	tar, err := archive.Tar(files)
	if err != nil {
		return oci.Manifest{}, err
	}
	packed, err := archive.Gzip(tar)
	if err != nil {
		return oci.Manifest{}, err
	}
	// Reject a directory that cannot be unpacked within the limits.
	if _, err := archive.Read(bytes.NewReader(packed), archive.Default); err != nil {
		return oci.Manifest{}, invalid(ReasonResourceInvalid, "the blueprint would not be readable: %w", err)
	}
	image := ocispec.Manifest{MediaType: oci.MediaTypeManifest}
	image.SchemaVersion = 2
	if image.Config, err = store.PushBlob(ctx, repository, MediaTypeBlueprintConfig, []byte("{}")); err != nil {
		return oci.Manifest{}, err
	}
	layer, err := store.PushBlob(ctx, repository, MediaTypeBlueprintLayer, packed)
	if err != nil {
		return oci.Manifest{}, err
	}
	image.Layers = []oci.Descriptor{layer}
	text, err := json.Marshal(image)
	return oci.NewManifest(oci.MediaTypeManifest, text), err
}
