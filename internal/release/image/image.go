// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package image makes container images of single static programs, as OCI layouts: an index with a manifest for each architecture, and one
// layer in each. Nothing else is in them but a folder for temporary files and the name of the user. The same programs give the same bytes.
package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"espalier.dev/internal/release/bundle"
)

// User runs the program in the images: an unprivileged user.
const User = "65532"

// containerdName is the annotation with the name of an image that containerd imports.
const containerdName = "io.containerd.image.name"

// temporary is the mode of a folder in which everybody may write, and delete only their own files.
const temporary = fs.ModeDir | fs.ModeSticky | 0o777

// passwd and group name the user, for libraries that need a name.
const (
	passwd = "root:x:0:0:root:/:/sbin/nologin\nespalier:x:" + User + ":" + User + ":espalier:/tmp:/sbin/nologin\n"
	group  = "root:x:0:\nespalier:x:" + User + ":\n"
)

// Image is one program for several architectures.
type Image struct {
	// Repository and Tag are the name of the image.
	Repository, Tag string
	// Program is the name of the program, which is at the root and is the entry point.
	Program string
	// Title and Source are shown to users.
	Title, Source string
	// Revision is the commit of the build, Created the time of the commit.
	Revision string
	Created  time.Time
	// Builds are the programs by architecture, named as in Go; the system is Linux.
	Builds map[string][]byte
}

// Layout is an OCI layout in memory.
type Layout struct {
	// Files are the files of the layout, by name.
	Files map[string][]byte
	// Index is the digest of the index of all architectures, which can pin the image.
	Index digest.Digest
}

// New returns the layout of an image.
func New(image Image) (*Layout, error) {
	if len(image.Builds) == 0 {
		return nil, fmt.Errorf("image %s has no programs", image.Repository)
	}
	if image.Repository == "" || image.Tag == "" || image.Program == "" {
		return nil, errors.New("an image needs a repository, a tag and a program")
	}
	layout := &Layout{Files: map[string][]byte{}}
	index := ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Annotations: image.annotations(),
	}
	for _, architecture := range slices.Sorted(maps.Keys(image.Builds)) {
		manifest, err := layout.addPlatform(image, architecture)
		if err != nil {
			return nil, fmt.Errorf("image %s for %s: %w", image.Repository, architecture, err)
		}
		index.Manifests = append(index.Manifests, manifest)
	}
	descriptor, err := layout.addJSON(ocispec.MediaTypeImageIndex, index)
	if err != nil {
		return nil, err
	}
	layout.Index = descriptor.Digest
	descriptor.Annotations = map[string]string{
		ocispec.AnnotationRefName: image.Tag, containerdName: image.Repository + ":" + image.Tag,
	}
	return layout, layout.addEntry(descriptor)
}

// addPlatform adds the layer, the configuration and the manifest for one architecture.
func (l *Layout) addPlatform(image Image, architecture string) (ocispec.Descriptor, error) {
	plain, err := bundle.Tar(filesOf(image, architecture), image.Created)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	packed, err := bundle.Gzip(plain)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	layer := l.add(ocispec.MediaTypeImageLayerGzip, packed)
	platform := ocispec.Platform{OS: "linux", Architecture: architecture}
	created := image.Created.UTC()
	config, err := l.addJSON(ocispec.MediaTypeImageConfig, ocispec.Image{
		Created:  &created,
		Platform: platform,
		Config: ocispec.ImageConfig{
			User: User + ":" + User, Entrypoint: []string{"/" + image.Program}, WorkingDir: "/", Env: []string{"PATH=/", "HOME=/tmp"},
			Labels: image.annotations(),
		},
		RootFS:  ocispec.RootFS{Type: "layers", DiffIDs: []digest.Digest{digest.FromBytes(plain)}},
		History: []ocispec.History{{Created: &created, CreatedBy: "make release", Comment: image.Program}},
	})
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	manifest, err := l.addJSON(ocispec.MediaTypeImageManifest, ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest,
		Config: config, Layers: []ocispec.Descriptor{layer}, Annotations: image.annotations(),
	})
	manifest.Platform = &platform
	return manifest, err
}

func filesOf(image Image, architecture string) []bundle.File {
	return []bundle.File{
		{Name: image.Program, Mode: 0o555, Content: image.Builds[architecture]},
		{Name: "etc", Mode: bundle.Folder},
		{Name: "etc/passwd", Mode: bundle.Text, Content: []byte(passwd)},
		{Name: "etc/group", Mode: bundle.Text, Content: []byte(group)},
		{Name: "tmp", Mode: temporary},
	}
}

func (i Image) annotations() map[string]string {
	annotations := map[string]string{
		ocispec.AnnotationTitle:    i.Title,
		ocispec.AnnotationVersion:  i.Tag,
		ocispec.AnnotationCreated:  i.Created.UTC().Format(time.RFC3339),
		ocispec.AnnotationRevision: i.Revision,
		ocispec.AnnotationSource:   i.Source,
		ocispec.AnnotationLicenses: "Apache-2.0",
	}
	maps.DeleteFunc(annotations, func(_, value string) bool { return value == "" })
	return annotations
}

// add stores a blob.
func (l *Layout) add(mediaType string, content []byte) ocispec.Descriptor {
	descriptor := ocispec.Descriptor{MediaType: mediaType, Digest: digest.FromBytes(content), Size: int64(len(content))}
	l.Files["blobs/sha256/"+descriptor.Digest.Encoded()] = content
	return descriptor
}

func (l *Layout) addJSON(mediaType string, value any) (ocispec.Descriptor, error) {
	content, err := json.Marshal(value)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return l.add(mediaType, content), nil
}

// addEntry adds the files that identify a layout and are its entry point.
func (l *Layout) addEntry(image ocispec.Descriptor) error {
	version, err := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	if err != nil {
		return err
	}
	index, err := json.Marshal(ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{image},
	})
	if err != nil {
		return err
	}
	l.Files[ocispec.ImageLayoutFile] = version
	l.Files[ocispec.ImageIndexFile] = index
	return nil
}

// Archive returns the layout as one file, in the format that image tools read.
func (l *Layout) Archive(at time.Time) ([]byte, error) {
	files := []bundle.File{{Name: "blobs", Mode: bundle.Folder}, {Name: "blobs/sha256", Mode: bundle.Folder}}
	for name, content := range l.Files {
		files = append(files, bundle.File{Name: name, Mode: bundle.Text, Content: content})
	}
	return bundle.Tar(files, at)
}
