// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/lru"
	"espalier.dev/internal/oci"
)

const (
	descriptorsFolder = "component-descriptors"
	descriptorFile    = "component-descriptor.yaml"
	maxConfigBytes    = 64 << 10
)

// configTypes are the media types of the config of an artifact that is a component.
var configTypes = []string{
	"application/vnd.ocm.software.component.config.v1+json",
	"application/vnd.gardener.cloud.cnudie.component.config.v1+json",
	"application/vnd.oci.gardener.cloud.cnudie.component-descriptor-metadata.config.v2+json",
}

// descriptorTypes are the media types of descriptors, and whether each is an archive.
var descriptorTypes = map[string]bool{
	"application/vnd.ocm.software.component-descriptor.v2+yaml+tar":                     true,
	"application/vnd.gardener.cloud.cnudie.component-descriptor.v2+yaml+tar":            true,
	"application/vnd.oci.gardener.cloud.cnudie.component-descriptor.config.v2+yaml+tar": true,
	"application/vnd.ocm.software.component-descriptor.v2+json":                         false,
	"application/vnd.ocm.software.component-descriptor.v2+yaml":                         false,
	"application/vnd.gardener.cloud.cnudie.component-descriptor.v2+json":                false,
	"application/vnd.gardener.cloud.cnudie.component-descriptor.v2+yaml":                false,
}

// shelf is a repository of components in a store of artifacts.
type shelf struct {
	store oci.Store
	at    oci.Address
	// repository returns the repository of a component in the store.
	repository func(component string) string
}

// registry parses the context of a registry.
func (r *Repositories) registry(fields fieldsOf) (place, error) {
	at, err := oci.ParseAddress(fields.text("baseUrl"))
	if err != nil {
		return nil, fmt.Errorf("repository context: baseUrl: %w", err)
	}
	at.Path = strings.Trim(path.Join(at.Path, fields.text("subPath")), "/")
	naming, err := mapping(fields.text("componentNameMapping"), at.Path)
	if err != nil {
		return nil, err
	}
	return &lazyShelf{repositories: r, at: at, repository: naming}, nil
}

// mapping returns the function from a component to its repository.
func mapping(name, below string) (func(string) string, error) {
	switch name {
	case "", "urlPath":
		return func(component string) string { return path.Join(below, descriptorsFolder, component) }, nil
	case "sha256-digest":
		return func(component string) string {
			sum := sha256.Sum256([]byte(component))
			return path.Join(below, hex.EncodeToString(sum[:]))
		}, nil
	}
	return nil, invalid(ReasonRepositoryInvalid, "repository context: componentNameMapping: must be urlPath or sha256-digest")
}

// lazyShelf is a shelf whose credentials depend on the component.
type lazyShelf struct {
	repositories *Repositories
	at           oci.Address
	repository   func(component string) string
}

func (l *lazyShelf) find(ctx context.Context, id component.ID) (*version, error) {
	store, err := l.repositories.connect(l.at, l.repository(id.Name))
	if err != nil {
		return nil, err
	}
	return (&shelf{store: store, at: l.at, repository: l.repository}).find(ctx, id)
}

// connect returns a registry with the credential for one of its repositories.
func (r *Repositories) connect(at oci.Address, repository string) (oci.Store, error) {
	if r.options.Client == nil {
		return nil, invalid(ReasonRepositoryInvalid, "registry %s: registries cannot be read here", at.Host)
	}
	known, _ := r.options.Credentials.Find(credentials.Address{
		Type:   credentials.TypeOCIRegistry,
		Scheme: at.Scheme(),
		Host:   at.Name(),
		Port:   at.Port(),
		Path:   repository,
	})
	return r.options.Client.Registry(at, oci.Credential{
		Username:      known.Username,
		Password:      known.Password,
		IdentityToken: known.IdentityToken,
		CA:            []byte(known.CertificateAuthority),
		Certificate:   []byte(known.Certificate),
		PrivateKey:    []byte(known.PrivateKey),
	})
}

// archive parses the context of an archive.
func (r *Repositories) archive(fields fieldsOf) (place, error) {
	name, err := r.pathOf(fields)
	if err != nil {
		return nil, err
	}
	opened, err := r.archives.Get(lru.KeyOf([]byte(name)), func() (*oci.Archive, int, error) {
		opened, err := r.options.Archives.open(r.options.Files, name)
		if err != nil {
			return nil, 0, err
		}
		return opened, opened.InMemory(), nil
	})
	if err != nil {
		return nil, fromStore(fmt.Errorf("repository context: filePath: %w", err))
	}
	naming, err := mapping("", "")
	return &shelf{store: opened, repository: naming}, err
}

// tagOf and versionOf convert between versions and tags, which must not contain a plus sign.
func tagOf(version string) string { return strings.ReplaceAll(version, "+", ".build-") }

// VersionOf returns the version of a tag.
func VersionOf(tag string) string {
	if i := strings.LastIndex(tag, ".build-"); i >= 0 {
		return tag[:i] + "+" + tag[i+len(".build-"):]
	}
	return tag
}

func (s *shelf) find(ctx context.Context, id component.ID) (*version, error) {
	repository := s.repository(id.Name)
	manifest, err := s.store.Manifest(ctx, repository, tagOf(id.Version))
	if err != nil {
		return nil, fromStore(err)
	}
	a := &artifact{store: s.store, repository: repository, manifest: manifest}
	nested, err := a.enterIndex(ctx)
	if err != nil {
		return nil, err
	}
	text, err := a.descriptor(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s/%s: %w", s.store, repository, err)
	}
	parsed, err := component.Parse(text, component.DefaultLimits)
	if err != nil {
		return nil, invalid(ReasonComponentInvalid, "%s/%s: %w", s.store, repository, err)
	}
	return &version{descriptor: parsed, local: a.local(nested), store: s.store, at: s.at}, nil
}

// artifact is an artifact in a store.
type artifact struct {
	store      oci.Store
	repository string
	manifest   oci.Manifest
}

// enterIndex replaces an index by the first of its manifests, which is the component, and returns all of them.
func (a *artifact) enterIndex(ctx context.Context) ([]oci.Descriptor, error) {
	if !a.manifest.IsIndex() {
		return nil, nil
	}
	nested, err := a.manifest.Index()
	if err != nil {
		return nil, err
	}
	if len(nested) == 0 {
		return nil, invalid(ReasonComponentInvalid, "%s/%s: the index is empty", a.store, a.repository)
	}
	a.manifest, err = a.store.Manifest(ctx, a.repository, nested[0].Digest.String())
	return nested, fromStore(err)
}

// descriptor reads the component descriptor of an artifact.
func (a *artifact) descriptor(ctx context.Context) ([]byte, error) {
	image, err := a.manifest.Image()
	if err != nil {
		return nil, err
	}
	if !slices.Contains(configTypes, image.Config.MediaType) {
		return nil, invalid(ReasonComponentInvalid, "the artifact is not a component: its config has the media type %q", image.Config.MediaType)
	}
	layer, err := a.descriptorLayer(ctx, image.Config, image.Layers)
	if err != nil {
		return nil, err
	}
	isArchive, known := descriptorTypes[layer.MediaType]
	if !known {
		return nil, invalid(ReasonComponentInvalid, "the component descriptor has the unknown media type %q", layer.MediaType)
	}
	// An archive is larger than its content.
	const overhead = 64 << 10
	limited := oci.BlobLimit{Descriptor: layer, Most: int64(component.DefaultLimits.Bytes) + overhead}
	text, err := oci.ReadBlob(ctx, a.store, a.repository, limited)
	if err != nil || !isArchive {
		return text, fromStore(err)
	}
	files, err := archive.Read(bytes.NewReader(text), archive.Default)
	if err != nil {
		return nil, invalid(ReasonComponentInvalid, "the archive of the component descriptor: %w", err)
	}
	if _, found := files[descriptorFile]; !found {
		return nil, invalid(ReasonComponentInvalid, "the archive of the component descriptor has no file %s", descriptorFile)
	}
	return files[descriptorFile], nil
}

// descriptorLayer returns the layer that the config names, or else the first layer that can be a descriptor.
func (a *artifact) descriptorLayer(ctx context.Context, config oci.Descriptor, layers []oci.Descriptor) (oci.Descriptor, error) {
	text, err := oci.ReadBlob(ctx, a.store, a.repository, oci.BlobLimit{Descriptor: config, Most: maxConfigBytes})
	if err != nil {
		return oci.Descriptor{}, fromStore(err)
	}
	var content struct {
		Layer oci.Descriptor `json:"componentDescriptorLayer"`
	}
	if err := json.Unmarshal(text, &content); err != nil {
		return oci.Descriptor{}, invalid(ReasonComponentInvalid, "the config of the component is not well-formed")
	}
	for _, layer := range layers {
		_, known := descriptorTypes[layer.MediaType]
		if layer.Digest == content.Layer.Digest || content.Layer.Digest == "" && known {
			if content.Layer.MediaType != "" {
				layer.MediaType = content.Layer.MediaType
			}
			return layer, nil
		}
	}
	if content.Layer.Digest.Validate() != nil {
		return oci.Descriptor{}, invalid(ReasonComponentInvalid, "the artifact has no layer with a component descriptor")
	}
	return content.Layer, nil
}

// local opens layers of the component's artifact, and the artifacts beside it in its index.
func (a *artifact) local(nested []oci.Descriptor) func(context.Context, component.Blob) (content, error) {
	return func(ctx context.Context, blob component.Blob) (content, error) {
		for _, one := range nested {
			if one.Digest.String() == blob.Reference {
				manifest, err := a.store.Manifest(ctx, a.repository, blob.Reference)
				return content{artifact: &artifact{store: a.store, repository: a.repository, manifest: manifest}}, fromStore(err)
			}
		}
		image, err := a.manifest.Image()
		if err != nil {
			return content{}, err
		}
		return a.layers(ctx, image.Layers, blob)
	}
}

// layers opens a blob that is one layer, or a concatenation of several.
func (a *artifact) layers(ctx context.Context, layers []oci.Descriptor, blob component.Blob) (content, error) {
	var wanted []oci.Descriptor
	result := content{mediaType: blob.MediaType}
	for part := range strings.SplitSeq(blob.Reference, ",") {
		layer := oci.Descriptor{Digest: digest.Digest(strings.TrimSpace(part))}
		if layer.Digest.Validate() != nil {
			return content{}, invalid(ReasonResourceInvalid, "the reference of a local blob in a registry must be a digest")
		}
		if i := slices.IndexFunc(layers, func(l oci.Descriptor) bool { return l.Digest == layer.Digest }); i >= 0 {
			layer = layers[i]
		}
		if result.mediaType == "" {
			result.mediaType = layer.MediaType
		}
		wanted = append(wanted, layer)
	}
	result.open = func() (io.ReadCloser, error) { return a.concatenated(ctx, wanted) }
	return result, nil
}

func (a *artifact) concatenated(ctx context.Context, wanted []oci.Descriptor) (io.ReadCloser, error) {
	var all chain
	for _, one := range wanted {
		blob, err := a.store.Blob(ctx, a.repository, one)
		if err != nil {
			_ = all.Close()
			return nil, fromStore(err)
		}
		all = append(all, blob)
	}
	return &joined{Reader: all.reader(), chain: all}, nil
}

// chain concatenates content.
type chain []io.ReadCloser

func (c chain) Close() error {
	for _, part := range c {
		_ = part.Close()
	}
	return nil
}

func (c chain) reader() io.Reader {
	readers := make([]io.Reader, len(c))
	for i, part := range c {
		readers[i] = part
	}
	return io.MultiReader(readers...)
}

type joined struct {
	io.Reader
	chain
}
