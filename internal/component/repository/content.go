// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/component"
	"espalier.dev/internal/lru"
	"espalier.dev/internal/oci"
)

// content is the target of an access: a blob, or an artifact.
type content struct {
	mediaType string
	// open opens the blob; it is nil for an artifact.
	open func() (io.ReadCloser, error)
	// files is the directory that the blob contains, nil if it contains none.
	files archive.Files
	// artifact is an artifact of a registry, nil for a blob.
	artifact *artifact
}

// Content returns the content behind an access of a component, in memory. For an artifact with a single layer, this is the layer.
func (r *Repositories) Content(ctx context.Context, of component.Coordinates, access component.Access) (component.Content, error) {
	found, err := r.access(ctx, of, access)
	if err == nil && found.artifact != nil {
		found, err = found.artifact.onlyLayer(ctx)
	}
	if err != nil {
		return component.Content{}, about(of, access, err)
	}
	data, err := found.read(r.options.ContentBytes)
	return component.Content{Data: data, MediaType: found.mediaType}, about(of, access, err)
}

// Open returns the content behind an access of a component as a stream. The content is valid only if it was read to its end without an
// error.
func (r *Repositories) Open(ctx context.Context, of component.Coordinates, access component.Access) (io.ReadCloser, error) {
	found, err := r.access(ctx, of, access)
	if err == nil && found.artifact != nil {
		found, err = found.artifact.onlyLayer(ctx)
	}
	if err != nil {
		return nil, about(of, access, err)
	}
	stream, err := found.open()
	return stream, about(of, access, err)
}

// about adds the content that an error is about.
func about(of component.Coordinates, access component.Access, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("component %s, access of type %s: %w", of.ID(), access.Type, err)
}

// read reads a blob into memory.
func (c content) read(most int64) ([]byte, error) {
	stream, err := c.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = stream.Close() }()
	data, err := io.ReadAll(io.LimitReader(stream, most+1))
	if err != nil {
		return nil, fromStore(err)
	}
	if int64(len(data)) > most {
		return nil, invalid(ReasonResourceInvalid, "the content exceeds the limit of %d bytes", most)
	}
	return data, nil
}

// access finds the target of an access of a component.
func (r *Repositories) access(ctx context.Context, of component.Coordinates, access component.Access) (content, error) {
	switch access.Kind() {
	case component.AccessLocalBlob:
		return r.localBlob(ctx, of, access)
	case component.AccessOCIArtifact:
		reference, err := access.ImageReference(of.RepositoryContext)
		if err != nil {
			return content{}, invalid(ReasonResourceInvalid, "%w", err)
		}
		return r.image(ctx, reference, r.plainHosts(of))
	case component.AccessRelativeOCIReference:
		return r.relative(ctx, of, access)
	case component.AccessOCIBlob:
		return r.ociBlob(ctx, of, access)
	}
	return content{}, invalid(ReasonResourceInvalid,
		"content of type %s cannot be read: use localBlob, ociArtifact, ociBlob or relativeOciReference", access.Type)
}

func (r *Repositories) localBlob(ctx context.Context, of component.Coordinates, access component.Access) (content, error) {
	blob, _ := access.Blob()
	if blob.Reference == "" {
		return content{}, invalid(ReasonResourceInvalid, "localReference: is required")
	}
	home, err := r.find(ctx, of)
	if err != nil {
		return content{}, err
	}
	return home.local(ctx, blob)
}

// plainHosts returns the hosts that are accessed over plain HTTP, according to the URLs of registries that may contain the component.
func (r *Repositories) plainHosts(of component.Coordinates) []string {
	contexts, err := r.contexts(of)
	if err != nil {
		return nil
	}
	var hosts []string
	for _, one := range contexts {
		if at, err := oci.ParseAddress(one.BaseURL()); err == nil && at.PlainHTTP {
			hosts = append(hosts, at.Host)
		}
	}
	return hosts
}

// image finds an artifact by an image reference. Its registry is accessed over plain HTTP if the reference or its host requires that.
func (r *Repositories) image(ctx context.Context, reference string, plainHosts []string) (content, error) {
	parsed, at, err := imageAddress(reference)
	if err != nil {
		return content{}, err
	}
	at.PlainHTTP = at.PlainHTTP || slices.Contains(plainHosts, at.Host)
	store, err := r.connect(at, at.Path)
	if err != nil {
		return content{}, err
	}
	key := lru.KeyOf([]byte(at.Scheme()), []byte(at.Host), []byte(at.Path), []byte(parsed.Version()))
	manifest, err := r.images.Get(key, func() (oci.Manifest, int, error) {
		manifest, err := store.Manifest(ctx, at.Path, parsed.Version())
		return manifest, len(manifest.Content), err
	})
	return content{artifact: &artifact{store: store, repository: at.Path, manifest: manifest}}, fromStore(err)
}

// imageAddress returns the registry and repository of an image. A name without a host is on Docker Hub.
func imageAddress(reference string) (component.ImageReference, oci.Address, error) {
	parsed, err := component.ParseImageReference(reference)
	if err != nil {
		return parsed, oci.Address{}, invalid(ReasonResourceInvalid, "%w", err)
	}
	repository := parsed.Repository
	first, _, nested := strings.Cut(repository, "/")
	switch {
	case !nested:
		repository = "docker.io/library/" + repository
	case !strings.ContainsAny(first, ".:") && first != "localhost":
		repository = "docker.io/" + repository
	}
	at, err := oci.ParseAddress(repository)
	at.PlainHTTP = strings.HasPrefix(strings.ToLower(reference), "http://")
	return parsed, at, err
}

// relative finds an artifact in the registry, or archive, of the component.
func (r *Repositories) relative(ctx context.Context, of component.Coordinates, access component.Access) (content, error) {
	reference, _ := access.Fields()["reference"].(string)
	home, err := r.find(ctx, of)
	if err != nil {
		return content{}, err
	}
	if home.store == nil || reference == "" {
		return content{}, invalid(ReasonResourceInvalid,
			"a reference relative to the registry of the component needs the field reference, and a component in a registry or archive")
	}
	if home.at.Host != "" {
		return r.image(ctx, home.at.Host+"/"+strings.TrimPrefix(reference, "/"), r.plainHosts(of))
	}
	parsed, err := component.ParseImageReference(strings.TrimPrefix(reference, "/"))
	if err != nil {
		return content{}, invalid(ReasonResourceInvalid, "%w", err)
	}
	manifest, err := home.store.Manifest(ctx, parsed.Repository, parsed.Version())
	return content{artifact: &artifact{store: home.store, repository: parsed.Repository, manifest: manifest}}, fromStore(err)
}

func (r *Repositories) ociBlob(ctx context.Context, of component.Coordinates, access component.Access) (content, error) {
	blob, _ := access.Blob()
	_, at, err := imageAddress(blob.Repository)
	if err != nil {
		return content{}, err
	}
	at.PlainHTTP = at.PlainHTTP || slices.Contains(r.plainHosts(of), at.Host)
	store, err := r.connect(at, at.Path)
	if err != nil {
		return content{}, err
	}
	wanted := oci.Descriptor{Digest: digest.Digest(blob.Reference)}
	return content{mediaType: blob.MediaType, open: func() (io.ReadCloser, error) {
		stream, err := store.Blob(ctx, at.Path, wanted)
		return stream, fromStore(err)
	}}, nil
}

// layer returns one layer of an artifact as a blob.
func (a *artifact) layer(ctx context.Context, layer oci.Descriptor) content {
	return content{mediaType: layer.MediaType, open: func() (io.ReadCloser, error) {
		stream, err := a.store.Blob(ctx, a.repository, layer)
		return stream, fromStore(err)
	}}
}

func (a *artifact) onlyLayer(ctx context.Context) (content, error) {
	image, err := a.manifest.Image()
	if err != nil {
		return content{}, err
	}
	if len(image.Layers) != 1 {
		return content{}, invalid(ReasonResourceInvalid,
			"the artifact has %d layers: only one with a single layer has a content", len(image.Layers))
	}
	return a.layer(ctx, image.Layers[0]), nil
}
