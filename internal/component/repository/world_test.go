// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/catalog"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/component/resolve"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit/registry"
)

// The catalog of the controllers can be given what is here.
var (
	_ catalog.Resources = (*Repositories)(nil)
	_ resolve.Source    = (*Repositories)(nil)
)

func client(t testing.TB) *oci.Client {
	t.Helper()
	cache, err := oci.OpenCache(t.TempDir(), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	return oci.NewClient(oci.Options{Rules: dial.Rules{AllowLoopback: true}, Cache: cache, Pause: time.Millisecond})
}

func store(t testing.TB, c *oci.Client, server *registry.Registry) oci.Store {
	t.Helper()
	at, err := oci.ParseAddress(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Registry(at, oci.Credential{CA: server.CA})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func contextOf(t testing.TB, fields map[string]any) component.RepositoryContext {
	t.Helper()
	c, err := component.NewRepositoryContext(fields)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// written is a component that the tests lay out themselves, as the specification defines it.
type written struct {
	name, version, resources, references string
	// signatures is JSON.
	signatures string
	// configType and layerType are the media types of config and descriptor; the current ones if empty.
	configType, layerType string
	// repository is the repository of the component; the usual one if empty.
	repository string
	layers     []blob
	// swapped puts the descriptor after the other layers.
	swapped bool
	// docker gives the manifests the media types of Docker.
	docker bool
	// index wraps the component in an index, beside other artifacts.
	index []oci.Descriptor
}

type blob struct {
	mediaType, content string
}

func (b blob) digest() string { return digest.FromString(b.content).String() }

const (
	configType = "application/vnd.ocm.software.component.config.v1+json"
	layerType  = "application/vnd.ocm.software.component-descriptor.v2+yaml+tar"
)

func (w written) text() string {
	signatures := w.signatures
	if signatures == "" {
		signatures = "[]"
	}
	return fmt.Sprintf("signatures: "+strings.ReplaceAll(signatures, "%", "%%")+"\nmeta: {schemaVersion: v2}\ncomponent: {name: %q, version: %q, provider: acme, repositoryContexts: [], sources: [], resources: [%s], componentReferences: [%s]}", w.name, w.version, w.resources, w.references)
}

// push lays a component out in a store.
func (w written) push(t testing.TB, into oci.Store) {
	t.Helper()
	ctx := t.Context()
	put := func(mediaType string, content []byte) map[string]any {
		d, err := into.PushBlob(ctx, w.repository, mediaType, content)
		if err != nil {
			t.Fatal(err)
		}
		return map[string]any{"mediaType": mediaType, "digest": d.Digest.String(), "size": d.Size}
	}
	if w.repository == "" {
		w.repository = "component-descriptors/" + w.name
	}
	if w.configType == "" {
		w.configType = configType
	}
	if w.layerType == "" {
		w.layerType = layerType
	}
	text := []byte(w.text())
	if strings.HasSuffix(w.layerType, "+tar") {
		text = tarOf(t, archive.Files{descriptorFile: text})
	}
	descriptor := put(w.layerType, text)
	config, _ := json.Marshal(map[string]any{"componentDescriptorLayer": descriptor})
	layers := []any{descriptor}
	for _, layer := range w.layers {
		layers = append(layers, put(layer.mediaType, []byte(layer.content)))
	}
	if w.swapped {
		layers[0], layers[len(layers)-1] = layers[len(layers)-1], layers[0]
	}
	manifestType, indexType := oci.MediaTypeManifest, oci.MediaTypeIndex
	if w.docker {
		manifestType, indexType = oci.MediaTypeDockerManifest, oci.MediaTypeDockerIndex
	}
	manifest := manifestOf(t, map[string]any{"schemaVersion": 2, "mediaType": manifestType, "config": put(w.configType, config), "layers": layers})
	tag := strings.ReplaceAll(w.version, "+", ".build-")
	if w.index != nil {
		if err := into.PushManifest(ctx, w.repository, "", manifest); err != nil {
			t.Fatal(err)
		}
		manifest = manifestOf(t, map[string]any{
			"schemaVersion": 2, "mediaType": indexType, "manifests": append([]oci.Descriptor{manifest.Descriptor}, w.index...),
		})
	}
	if err := into.PushManifest(ctx, w.repository, tag, manifest); err != nil {
		t.Fatal(err)
	}
}

func manifestOf(t testing.TB, fields map[string]any) oci.Manifest {
	t.Helper()
	text, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	mediaType, _ := fields["mediaType"].(string)
	return oci.NewManifest(mediaType, text)
}

// artifactOf stores an artifact and returns its manifest.
func artifactOf(t testing.TB, into oci.Store, repository, tag string, configType string, layers ...blob) oci.Manifest {
	t.Helper()
	return typedArtifactOf(t, oci.MediaTypeManifest, into, repository, tag, configType, layers...)
}

// typedArtifactOf is artifactOf for a manifest of any media type.
func typedArtifactOf(t testing.TB, mediaType string, into oci.Store, repository, tag, configType string, layers ...blob) oci.Manifest {
	t.Helper()
	var descriptors []oci.Descriptor
	for _, layer := range layers {
		d, err := into.PushBlob(t.Context(), repository, layer.mediaType, []byte(layer.content))
		if err != nil {
			t.Fatal(err)
		}
		descriptors = append(descriptors, d)
	}
	config, err := into.PushBlob(t.Context(), repository, configType, []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := manifestOf(t, map[string]any{"schemaVersion": 2, "mediaType": mediaType, "config": config, "layers": descriptors})
	if err := into.PushManifest(t.Context(), repository, tag, manifest); err != nil {
		t.Fatal(err)
	}
	return manifest
}

func tarOf(t testing.TB, files archive.Files) []byte {
	t.Helper()
	data, err := archive.Tar(files)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func gzipOf(t testing.TB, data []byte) []byte {
	t.Helper()
	packed, err := archive.Gzip(data)
	if err != nil {
		t.Fatal(err)
	}
	return packed
}

func blueprintFiles() archive.Files {
	return archive.Files{"blueprint.yaml": []byte("kind: Blueprint"), "deep/file": []byte("x")}
}

func wantError(t testing.TB, name string, err error, kind failure.Kind, texts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: there is no error", name)
		return
	}
	if failure.KindOf(err) != kind {
		t.Errorf("%s: the error is %s: %v", name, failure.KindOf(err), err)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %q does not contain %q", name, err, text)
		}
	}
}

func wantMissing(t testing.TB, name string, err error, texts ...string) {
	t.Helper()
	wantError(t, name, err, failure.Retryable, texts...)
	if !errors.Is(err, resolve.ErrNotFound) {
		t.Errorf("%s: %v does not count as not found", name, err)
	}
}

// resource returns a resource of a component that must exist.
func resource(t testing.TB, r *Repositories, at component.Coordinates, name string) *component.Resource {
	t.Helper()
	d, err := r.Descriptor(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	found, err := d.Resource(component.Named(name))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// read returns the content of a resource as text.
func read(ctx context.Context, t testing.TB, r *Repositories, at component.Coordinates, name string) (component.Content, error) {
	t.Helper()
	return r.Content(ctx, at, resource(t, r, at, name).Access)
}

func resolver(baseURL, prefix string) credentials.Resolver {
	return credentials.Resolver{Repository: map[string]any{"type": "OCIRegistry", "baseUrl": baseURL}, Prefix: prefix}
}
