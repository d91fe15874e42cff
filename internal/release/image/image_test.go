// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/content/oci"
	"oras.land/oras-go/v2/registry/remote"

	"espalier.dev/internal/testkit/registry"
)

func example() Image {
	return Image{
		Repository: "espalier.dev/tool", Tag: "v1.2.3", Program: "tool", Title: "A tool", Source: "https://espalier.dev", Revision: "abc",
		Created: time.Unix(1_800_000_000, 0), Builds: map[string][]byte{"arm64": []byte("for arm64"), "amd64": []byte("for amd64")},
	}
}

// opened opens the archive of an image with an independent library.
func opened(t *testing.T, image Image) (*oci.ReadOnlyStore, *Layout) {
	t.Helper()
	layout, err := New(image)
	if err != nil {
		t.Fatal(err)
	}
	archive, err := layout.Archive(image.Created)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := os.WriteFile(path, archive, 0o644); err != nil {
		t.Fatal(err)
	}
	store, err := oci.NewFromTar(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	return store, layout
}

// fetched reads a document and checks its digest and size.
func fetched[T any](t *testing.T, store content.Fetcher, descriptor ocispec.Descriptor) T {
	t.Helper()
	text, err := content.FetchAll(t.Context(), store, descriptor)
	if err != nil {
		t.Fatal(err)
	}
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestAnImageHasEachArchitecture(t *testing.T) {
	image := example()
	store, layout := opened(t, image)
	root, err := store.Resolve(t.Context(), image.Tag)
	if err != nil {
		t.Fatal(err)
	}
	if root.Digest != layout.Index || root.MediaType != ocispec.MediaTypeImageIndex {
		t.Errorf("the tag leads to %+v, the index is %s", root, layout.Index)
	}
	index := fetched[ocispec.Index](t, store, root)
	var found []string
	for _, descriptor := range index.Manifests {
		manifest := fetched[ocispec.Manifest](t, store, descriptor)
		config := fetched[ocispec.Image](t, store, manifest.Config)
		found = append(found, fmt.Sprintf("%s/%s %s %v", config.OS, config.Architecture, config.Config.User, config.Config.Entrypoint))
		if descriptor.Platform.Architecture != config.Architecture || descriptor.Platform.OS != config.OS {
			t.Errorf("the index says %+v, the configuration %+v", descriptor.Platform, config.Platform)
		}
		if !config.Created.Equal(image.Created) || config.Config.Labels[ocispec.AnnotationRevision] != "abc" {
			t.Errorf("the configuration is %+v", config)
		}
		entries, plain := unpacked(t, store, manifest.Layers[0])
		want := []string{"755 0 etc/", "644 0 etc/group", "644 0 etc/passwd", "1777 0 tmp/", "555 0 tool for " + config.Architecture}
		if diff := cmp.Diff(want, entries); diff != "" {
			t.Errorf("%s: %s", config.Architecture, diff)
		}
		if len(manifest.Layers) != 1 || config.RootFS.DiffIDs[0] != plain {
			t.Errorf("the layer is %s when it is unpacked, the configuration says %v", plain, config.RootFS.DiffIDs)
		}
	}
	if diff := cmp.Diff([]string{"linux/amd64 65532:65532 [/tool]", "linux/arm64 65532:65532 [/tool]"}, found); diff != "" {
		t.Error(diff)
	}
}

// unpacked returns the entries of a layer, with mode and owner, and the content of the program; and the digest of the uncompressed archive.
func unpacked(t *testing.T, store content.Fetcher, layer ocispec.Descriptor) (entries []string, plain digest.Digest) {
	t.Helper()
	packed, err := content.FetchAll(t.Context(), store, layer)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(bytes.NewReader(text))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return entries, digest.FromBytes(text)
		}
		if err != nil {
			t.Fatal(err)
		}
		entry := fmt.Sprintf("%o %d %s", header.Mode, header.Uid, header.Name)
		if header.Name == "tool" {
			content, err := io.ReadAll(archive)
			if err != nil {
				t.Fatal(err)
			}
			entry += " " + string(content)
		}
		entries = append(entries, entry)
	}
}

// A registry checks its input: all blobs must exist before the manifests that name them.
func TestARegistryTakesTheImage(t *testing.T) {
	image := example()
	store, layout := opened(t, image)
	server := registry.Start(t, registry.Options{})
	repository, err := remote.NewRepository(server.Host + "/tool")
	if err != nil {
		t.Fatal(err)
	}
	repository.PlainHTTP = true
	if _, err := oras.Copy(t.Context(), store, image.Tag, repository, image.Tag, oras.DefaultCopyOptions); err != nil {
		t.Fatal(err)
	}
	pushed, err := repository.Resolve(t.Context(), image.Tag)
	if err != nil {
		t.Fatal(err)
	}
	if pushed.Digest != layout.Index {
		t.Errorf("the registry has %s, images.txt would say %s", pushed.Digest, layout.Index)
	}
	options := oras.DefaultCopyOptions
	options.WithTargetPlatform(&ocispec.Platform{OS: "linux", Architecture: "arm64"})
	if _, err := oras.Copy(t.Context(), repository, image.Tag, memory.New(), "", options); err != nil {
		t.Errorf("pull for one architecture: %v", err)
	}
}

func TestTheSameProgramsGiveTheSameImage(t *testing.T) {
	first, err := New(example())
	if err != nil {
		t.Fatal(err)
	}
	again := example()
	again.Created = again.Created.In(time.FixedZone("elsewhere", 3600))
	second, err := New(again)
	if err != nil {
		t.Fatal(err)
	}
	if first.Index != second.Index || !cmp.Equal(first.Files, second.Files) {
		t.Errorf("the images differ: %s and %s", first.Index, second.Index)
	}
	for name, change := range map[string]func(*Image){
		"another program": func(i *Image) { i.Builds["arm64"] = []byte("another") },
		"another time":    func(i *Image) { i.Created = i.Created.Add(time.Second) },
		"another version": func(i *Image) { i.Tag = "v1.2.4" },
	} {
		changed := example()
		change(&changed)
		layout, err := New(changed)
		if err != nil {
			t.Fatal(err)
		}
		if layout.Index == first.Index {
			t.Errorf("%s gives the same image", name)
		}
	}
}

func TestImagesThatAreRejected(t *testing.T) {
	for name, change := range map[string]func(*Image){
		"no programs": func(i *Image) { i.Builds = nil },
		"no tag":      func(i *Image) { i.Tag = "" },
	} {
		changed := example()
		change(&changed)
		if _, err := New(changed); err == nil {
			t.Errorf("%s: there was no error", name)
		}
	}
}
