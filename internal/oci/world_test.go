// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit/registry"
)

const canary = "canary-0123456789"

func newCache(t testing.TB, limit int64) *Cache {
	t.Helper()
	cache, err := OpenCache(t.TempDir(), limit)
	if err != nil {
		t.Fatal(err)
	}
	return cache
}

func newClient(t testing.TB, change ...func(*Options)) *Client {
	t.Helper()
	options := Options{Rules: dial.Rules{AllowLoopback: true}, Cache: newCache(t, 64<<20), Pause: time.Millisecond}
	for _, apply := range change {
		apply(&options)
	}
	return NewClient(options)
}

func open(t testing.TB, c *Client, url string, with Credential) *Registry {
	t.Helper()
	at, err := ParseAddress(url)
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Registry(at, with)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// push stores an artifact with one layer and returns its manifest.
func push(t testing.TB, into Store, repository, tag, layer string) Manifest {
	t.Helper()
	ctx := t.Context()
	config, err := into.PushBlob(ctx, repository, "application/vnd.example.config", []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	blob, err := into.PushBlob(ctx, repository, "application/vnd.example.layer", []byte(layer))
	if err != nil {
		t.Fatal(err)
	}
	image := ocispec.Manifest{MediaType: MediaTypeManifest, Config: config, Layers: []Descriptor{blob}}
	image.SchemaVersion = 2
	content, err := json.Marshal(image)
	if err != nil {
		t.Fatal(err)
	}
	manifest := NewManifest(MediaTypeManifest, content)
	if err := into.PushManifest(ctx, repository, tag, manifest); err != nil {
		t.Fatal(err)
	}
	return manifest
}

func layerOf(t testing.TB, m Manifest) Descriptor {
	t.Helper()
	image, err := m.Image()
	if err != nil || len(image.Layers) == 0 {
		t.Fatal(image, err)
	}
	return image.Layers[0]
}

func readLayer(ctx context.Context, from Store, repository string, layer Descriptor) (string, error) {
	data, err := ReadBlob(ctx, from, repository, BlobLimit{Descriptor: layer, Most: 1 << 20})
	return string(data), err
}

// expect checks the class and kind of an error, and that it contains no secret.
func expect(t testing.TB, err error, class Class, texts ...string) {
	t.Helper()
	if ClassOf(err) != class {
		t.Fatalf("got %v (%s), want the class %s", err, ClassOf(err), class)
	}
	if (failure.KindOf(err) == failure.Terminal) != class.Permanent() || failure.DetailsOf(err).Reason != string(class) {
		t.Errorf("the kind is %s, the reason %s", failure.KindOf(err), failure.DetailsOf(err).Reason)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("%q does not contain %q", err, text)
		}
	}
	if strings.Contains(err.Error(), canary) || strings.Contains(err.Error(), "http://127") || strings.Contains(err.Error(), "https://127") {
		t.Errorf("the error tells too much: %v", err)
	}
}

func started(t testing.TB, options registry.Options) *registry.Registry {
	return registry.Start(t, options)
}

func drain(t testing.TB, content io.ReadCloser) string {
	t.Helper()
	defer func() { _ = content.Close() }()
	data, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
