// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package components fills registries with components, as the Open Component Model stores them.
package components

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/signature"
	"espalier.dev/internal/dial"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit/registry"
)

// Component is a version of a component as OCM stores it, with all its resources beside its descriptor.
type Component struct {
	Name, Version string
	// Below is the path in the registry where the component repository starts, if it is not the whole registry.
	Below     string
	Resources []Resource
	// References are the components that it refers to, each named by the last part of its name.
	References []Component
	// More are further references, to components that are pushed separately, or not at all.
	More []Reference
	// Key signs the component with the signature SignatureName, if set.
	Key *rsa.PrivateKey
}

// Reference is a reference to a component.
type Reference struct {
	Name, Component, Version string
	// Identity distinguishes references of the same name.
	Identity map[string]string
}

// SignatureName is the name of signatures.
const SignatureName = "release"

// Resource is a resource of a component.
type Resource struct {
	Name, Type, MediaType string
	Content               []byte
	// Access is the access of the content; nil means beside the descriptor.
	Access map[string]any
}

// Blueprint returns a blueprint as a resource.
func Blueprint(t testing.TB, name string, files map[string]string) Resource {
	t.Helper()
	content := archive.Files{}
	for path, text := range files {
		content[path] = []byte(text)
	}
	data, err := archive.Tar(content)
	if err != nil {
		t.Fatal(err)
	}
	return Resource{
		Name:      name,
		Type:      "landscaper.gardener.cloud/blueprint",
		MediaType: "application/vnd.gardener.landscaper.blueprint.v1+tar",
		Content:   data,
	}
}

// Store returns a registry as a store, for writing.
func Store(t testing.TB, r *registry.Registry, with oci.Credential) oci.Store {
	t.Helper()
	cache, err := oci.OpenCache(t.TempDir(), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	at, err := oci.ParseAddress(r.URL)
	if err != nil {
		t.Fatal(err)
	}
	with.CA = r.CA
	store, err := oci.NewClient(oci.Options{Rules: dial.Rules{AllowLoopback: true}, Cache: cache}).Registry(at, with)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// Push stores a component, and those that it refers to.
func (c Component) Push(t testing.TB, into oci.Store) {
	t.Helper()
	for _, reference := range c.References {
		reference.Push(t, into)
	}
	repository := path.Join(c.Below, "component-descriptors", c.Name)
	put := func(mediaType string, content []byte) oci.Descriptor {
		d, err := into.PushBlob(t.Context(), repository, mediaType, content)
		if err != nil {
			t.Fatal(err)
		}
		d.MediaType = mediaType
		return d
	}
	var layers []oci.Descriptor
	for _, resource := range c.Resources {
		if resource.Access == nil {
			layers = append(layers, put(resource.MediaType, resource.Content))
		}
	}
	text, err := archive.Tar(archive.Files{"component-descriptor.yaml": c.document(t)})
	if err != nil {
		t.Fatal(err)
	}
	descriptor := put("application/vnd.ocm.software.component-descriptor.v2+yaml+tar", text)
	config := put("application/vnd.ocm.software.component.config.v1+json", marshal(t, map[string]any{"componentDescriptorLayer": descriptor}))
	manifest := oci.NewManifest(oci.MediaTypeManifest, marshal(t, map[string]any{
		"schemaVersion": 2, "mediaType": oci.MediaTypeManifest, "config": config, "layers": append([]oci.Descriptor{descriptor}, layers...),
	}))
	if err := into.PushManifest(t.Context(), repository, strings.ReplaceAll(c.Version, "+", ".build-"), manifest); err != nil {
		t.Fatal(err)
	}
}

// document returns the text of the descriptor.
func (c Component) document(t testing.TB) []byte {
	t.Helper()
	descriptor := c.descriptor(t)
	if c.Key != nil {
		descriptor["signatures"] = []any{c.sign(t, descriptor)}
	}
	return marshal(t, descriptor)
}

func (c Component) descriptor(t testing.TB) map[string]any {
	t.Helper()
	resources, references := []any{}, []any{}
	for _, resource := range c.Resources {
		fields := map[string]any{
			"name": resource.Name, "version": c.Version, "type": resource.Type, "relation": "local", "access": resource.Access,
		}
		if resource.Access == nil {
			sum := sha256.Sum256(resource.Content)
			value := hex.EncodeToString(sum[:])
			fields["access"] = map[string]any{"type": "localBlob", "localReference": "sha256:" + value, "mediaType": resource.MediaType}
			fields["digest"] = digest(signature.BlobDigest, value)
		}
		resources = append(resources, fields)
	}
	for _, reference := range c.References {
		references = append(references, map[string]any{
			"name":          reference.Name[strings.LastIndex(reference.Name, "/")+1:],
			"componentName": reference.Name, "version": reference.Version,
			"digest": digest(signature.NormalisationV3, reference.digest(t, reference.descriptor(t))),
		})
	}
	for _, reference := range c.More {
		references = append(references, map[string]any{
			"name": reference.Name, "componentName": reference.Component, "version": reference.Version, "extraIdentity": reference.Identity,
		})
	}
	return map[string]any{
		"meta": map[string]any{"schemaVersion": "v2"},
		"component": map[string]any{
			"name": c.Name, "version": c.Version, "provider": "acme", "sources": []any{},
			"repositoryContexts":  []any{map[string]any{"type": "ociRegistry", "baseUrl": "registry.example.com"}},
			"componentReferences": references, "resources": resources,
		},
	}
}

func digest(kind, value string) map[string]any {
	return map[string]any{"hashAlgorithm": "SHA-256", "normalisationAlgorithm": kind, "value": value}
}

// digest returns the digest of a descriptor, as signatures use it.
func (c Component) digest(t testing.TB, descriptor map[string]any) string {
	t.Helper()
	parsed, err := component.Parse(marshal(t, descriptor), component.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	normal, err := signature.Normalise(parsed, signature.NormalisationV3, signature.StoredDigests(parsed))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(normal)
	return hex.EncodeToString(sum[:])
}

func (c Component) sign(t testing.TB, descriptor map[string]any) map[string]any {
	t.Helper()
	value := c.digest(t, descriptor)
	sum, err := hex.DecodeString(value)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := rsa.SignPKCS1v15(nil, c.Key, crypto.SHA256, sum)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{
		"name":   SignatureName,
		"digest": digest(signature.NormalisationV3, value),
		"signature": map[string]any{
			"algorithm": "RSASSA-PKCS1-V1_5", "mediaType": "application/vnd.ocm.signature.rsa", "value": hex.EncodeToString(signed),
		},
	}
}

// NewKey returns a key to sign components, and its public part in the form for verification.
func NewKey(t testing.TB) (key *rsa.PrivateKey, public []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key, []byte(PublicKey(t, key))
}

// PublicKey returns the public part of a key in the form for verification.
func PublicKey(t testing.TB, key *rsa.PrivateKey) string {
	t.Helper()
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
}

// Archive writes components into an archive: a directory, or a file that is compressed or not, depending on its extension.
func Archive(t testing.TB, name string, components ...Component) {
	t.Helper()
	store := oci.NewArchive()
	for _, c := range components {
		c.Push(t, store)
	}
	files, err := store.Files()
	if err != nil {
		t.Fatal(err)
	}
	switch filepath.Ext(name) {
	case ".tar", ".tgz":
		text, err := archive.Tar(files)
		if err == nil && filepath.Ext(name) == ".tgz" {
			text, err = archive.Gzip(text)
		}
		if err == nil {
			err = os.WriteFile(name, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	default:
		if err := os.CopyFS(name, files); err != nil {
			t.Fatal(err)
		}
	}
}

func marshal(t testing.TB, value any) []byte {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
