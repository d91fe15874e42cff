// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/component"
	"espalier.dev/internal/oci"
)

// Media types of blueprints.
const (
	mediaTypeTar             = "application/x-tar"
	MediaTypeBlueprintConfig = "application/vnd.gardener.landscaper.blueprint.config.v1"
	MediaTypeBlueprintLayer  = "application/vnd.gardener.landscaper.blueprint.v1+tar+gzip"
)

// blueprintLayers are the media types of blueprints.
var blueprintLayers = []string{
	MediaTypeBlueprintLayer,
	"application/vnd.gardener.landscaper.blueprint.v1+tar",
	"application/vnd.gardener.landscaper.blueprint.layer.v1.tar",
	"application/vnd.gardener.landscaper.blueprint.layer.v1.tar+gzip",
}

// plainArchives are the media types of arbitrary archives.
var plainArchives = []string{
	mediaTypeTar, "application/tar", "application/gzip", "application/x-gzip", "application/x-tgz", "application/x-gtar",
	"application/tar+gzip", "application/x-tar+gzip",
}

// Blueprint returns the directory of a blueprint that is a resource of a component: an archive, a directory, or an artifact with an archive
// as its first layer. Compression with gzip is detected from the content.
func (r *Repositories) Blueprint(ctx context.Context, of component.Coordinates, resource *component.Resource) (archive.Files, error) {
	found, err := r.access(ctx, of, resource.Access)
	var files archive.Files
	if err == nil {
		files, err = r.blueprint(ctx, found)
	}
	if err != nil {
		return nil, fmt.Errorf("blueprint %s of component %s: %w", resource.Name, of.ID(), err)
	}
	return files, nil
}

// BlueprintArtifact returns the directory of a blueprint that is an artifact of a registry, named by an image reference, and the digest of
// the artifact. If a digest is given, it returns that artifact, regardless of the reference's tag.
func (r *Repositories) BlueprintArtifact(ctx context.Context, reference, digest string) (archive.Files, string, error) {
	if digest != "" {
		name, _, _ := strings.Cut(reference, "@")
		reference = name + "@" + digest
	}
	found, err := r.image(ctx, reference, nil)
	var files archive.Files
	if err == nil {
		files, err = r.blueprint(ctx, found)
	}
	if err != nil {
		return nil, "", fmt.Errorf("blueprint: %w", err)
	}
	return files, found.artifact.manifest.Digest.String(), nil
}

// BlueprintIn returns the directory of a blueprint that is an artifact of an archive, and the digest of the artifact. The version is its
// tag or digest.
func (r *Repositories) BlueprintIn(ctx context.Context, store *oci.Archive, repository, version string) (archive.Files, string, error) {
	manifest, err := store.Manifest(ctx, repository, version)
	if err != nil {
		return nil, "", fmt.Errorf("blueprint: %w", fromStore(err))
	}
	files, err := r.blueprint(ctx, content{artifact: &artifact{store: store, repository: repository, manifest: manifest}})
	if err != nil {
		return nil, "", fmt.Errorf("blueprint: %w", err)
	}
	return files, manifest.Digest.String(), nil
}

func (r *Repositories) blueprint(ctx context.Context, found content) (archive.Files, error) {
	found, err := r.unwrap(ctx, found)
	if err != nil {
		return nil, err
	}
	if found.files != nil {
		return found.files, nil
	}
	if found.artifact != nil {
		if found, err = found.artifact.blueprintLayer(ctx); err != nil {
			return nil, err
		}
	} else if !slices.Contains(blueprintLayers, found.mediaType) && !slices.Contains(plainArchives, found.mediaType) {
		return nil, invalid(ReasonResourceInvalid,
			"the media type %q is not that of a blueprint: set mediaType of the access to %s", found.mediaType, MediaTypeBlueprintLayer)
	}
	stream, err := found.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }()
	files, err := archive.Read(stream, r.options.ArchiveLimits)
	if oci.ClassOf(err) != "" {
		return nil, fromStore(err)
	}
	if err != nil {
		return nil, invalid(ReasonResourceInvalid, "unpack it: %w", err)
	}
	return files, nil
}

// blueprintLayer returns the first layer of an artifact, if that or the config has a media type of blueprints.
func (a *artifact) blueprintLayer(ctx context.Context) (content, error) {
	image, err := a.manifest.Image()
	if err != nil {
		return content{}, err
	}
	byConfig := image.Config.MediaType == MediaTypeBlueprintConfig
	if len(image.Layers) == 0 || !byConfig && !slices.Contains(blueprintLayers, image.Layers[0].MediaType) {
		return content{}, invalid(ReasonResourceInvalid,
			"the artifact is not a blueprint: neither is the media type of its config %s nor that of its first layer %s",
			MediaTypeBlueprintConfig, MediaTypeBlueprintLayer)
	}
	return a.layer(ctx, image.Layers[0]), nil
}

// unwrap replaces a blob that is the archive of an artifact by that artifact.
func (r *Repositories) unwrap(ctx context.Context, found content) (content, error) {
	if found.artifact != nil || !isArtifactSet(found.mediaType) {
		return found, nil
	}
	stream, err := found.open()
	if err != nil {
		return content{}, err
	}
	defer func() { _ = stream.Close() }()
	limits := r.options.ArchiveLimits
	limits.Bytes, limits.FileBytes = max(limits.Bytes, r.options.ContentBytes), max(limits.FileBytes, r.options.ContentBytes)
	set, err := oci.ReadArtifactSet(stream, limits)
	if err != nil {
		return content{}, err
	}
	manifest, err := set.Manifest(ctx, set.Repository, set.Main.Digest.String())
	return content{artifact: &artifact{store: set, repository: set.Repository, manifest: manifest}}, fromStore(err)
}

// isArtifactSet reports whether a media type is that of the archive of an artifact.
func isArtifactSet(mediaType string) bool {
	base, packed := strings.CutSuffix(strings.TrimSuffix(mediaType, "+gzip"), "+tar")
	if !packed {
		return false
	}
	switch base {
	case "application/vnd.oci.image.manifest.v1", "application/vnd.oci.image.index.v1",
		"application/vnd.docker.distribution.manifest.v2", "application/vnd.docker.distribution.manifest.list.v2":
		return true
	}
	return false
}
