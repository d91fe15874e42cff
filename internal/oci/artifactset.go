// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"encoding/json"
	"io"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"espalier.dev/internal/archive"
)

const (
	layoutIndex = "index.json"
	// legacyIndex is the name of the index in old archives.
	legacyIndex = "artifact-descriptor.json"
	// mainAnnotation of the index names the main manifest of the archive.
	mainAnnotation = "software.ocm/main"
	// setRepository is the only repository of an artifact set.
	setRepository = "set"
)

// ArtifactSet is a single artifact with all its blobs, as one archive: the format of artifacts that are blobs of components.
type ArtifactSet struct {
	*Archive
	// Repository is the repository of the artifact in the archive.
	Repository string
	// Main is the artifact.
	Main Descriptor
}

// ReadArtifactSet reads an artifact set into memory.
func ReadArtifactSet(from io.Reader, limits archive.Limits) (*ArtifactSet, error) {
	files, err := archive.Read(from, limits)
	if err != nil {
		return nil, malformed("the archive of the artifact cannot be read: %s", err)
	}
	text, found := files[layoutIndex]
	if !found {
		text, found = files[legacyIndex]
	}
	var index ocispec.Index
	if err := json.Unmarshal(text, &index); !found || err != nil {
		return nil, malformed("the archive of the artifact has no index in its file %s", layoutIndex)
	}
	if err := validDescriptors(index.Manifests); err != nil {
		return nil, err
	}
	main, err := mainOf(index)
	if err != nil {
		return nil, err
	}
	set := &ArtifactSet{Archive: NewArchive(), Repository: setRepository, Main: main}
	set.name, set.files = "of the artifact", files
	for _, one := range index.Manifests {
		set.index.Artifacts = append(set.index.Artifacts, artifact{Repository: setRepository, Digest: one.Digest, MediaType: one.MediaType})
	}
	return set, nil
}

func mainOf(index ocispec.Index) (Descriptor, error) {
	named := index.Annotations[mainAnnotation]
	for _, one := range index.Manifests {
		if one.Digest.String() == named || named == "" && len(index.Manifests) == 1 {
			return one, nil
		}
	}
	return Descriptor{}, malformed("the archive of the artifact does not indicate which of its %d manifests to use", len(index.Manifests))
}
