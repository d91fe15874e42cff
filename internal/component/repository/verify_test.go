// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/resolve"
	"espalier.dev/internal/component/signature"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/oci"
	"espalier.dev/internal/testkit/registry"
)

// signed adds a signature to a component, as a tool does before it pushes it.
func signed(t testing.TB, w written, key *rsa.PrivateKey) string {
	t.Helper()
	d, err := component.Parse([]byte(w.text()), component.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	digests := signature.StoredDigests(d)
	normal, err := signature.Normalise(d, signature.NormalisationV3, digests)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(normal)
	value, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal([]any{map[string]any{
		"name":      "release",
		"digest":    map[string]any{"hashAlgorithm": "SHA-256", "normalisationAlgorithm": signature.NormalisationV3, "value": hex.EncodeToString(sum[:])},
		"signature": map[string]any{"algorithm": "RSASSA-PKCS1-V1_5", "mediaType": "application/vnd.ocm.signature.rsa", "value": hex.EncodeToString(value)},
	}})
	return string(text)
}

func digestField(kind, value string) string {
	return "digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: " + kind + ", value: " + value + "}"
}

// A product with a blob, an artifact and a component below it is signed, pushed and verified; then each of them is changed.
func TestVerify(t *testing.T) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	trust := signature.Trust{PublicKey: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})}
	server := registry.Start(t, registry.Options{})
	c := client(t)
	s := store(t, c, server)
	hello := blob{"text/plain", "hello"}
	image := artifactOf(t, s, "images/x", "1", "application/vnd.example", blob{"text/plain", "layer"})

	child := written{name: "child", version: "1.0.0", layers: []blob{hello}, resources: `{name: txt, type: t, version: 1.0.0, relation: local, access: {type: localBlob, localReference: "` +
		hello.digest() + `"}, ` + digestField(signature.BlobDigest, hello.digest()[len("sha256:"):]) + `}`}
	child.push(t, s)
	childDigest := digestOfComponent(t, child)
	root := written{
		name: "root", version: "1.0.0",
		resources: `{name: image, type: ociImage, version: 1.0.0, relation: external, access: {type: ociArtifact, imageReference: "` + server.Host + `/images/x:1"}, ` +
			digestField(signature.ArtifactDigest, image.Digest.Encoded()) + `}`,
		references: `{name: c, componentName: child, version: 1.0.0, ` + digestField(signature.NormalisationV3, childDigest) + `}`,
	}
	root.signatures = signed(t, root, key)
	root.push(t, s)
	verify := func(overwrites ...lsv1alpha1.ComponentVersionOverwrite) error {
		r := New(Options{Client: c})
		at := component.Coordinates{RepositoryContext: contextOf(t, map[string]any{"type": "oci", "baseUrl": server.URL}), Name: "root", Version: "1.0.0"}
		options := component.ClosureOptions{Root: at}
		if len(overwrites) > 0 {
			rules, err := component.NewOverwrites(overwrites)
			if err != nil {
				t.Fatal(err)
			}
			options.Overwrites = rules
		}
		set, err := resolve.Closure(t.Context(), r, options)
		if err != nil {
			t.Fatal(err)
		}
		return r.Verify(t.Context(), set, "release", trust)
	}
	if err := verify(); err != nil {
		t.Fatal(err)
	}
	other := child
	other.version = "2.0.0"
	other.push(t, s)
	err = verify(lsv1alpha1.ComponentVersionOverwrite{
		Source:       lsv1alpha1.ComponentVersionOverwriteReference{ComponentName: "child"},
		Substitution: lsv1alpha1.ComponentVersionOverwriteReference{Version: "2.0.0"},
	})
	wantError(t, "overwritten", err, failure.Terminal, "reference c: component child:2.0.0 was changed")

	artifactOf(t, s, "images/x", "1", "application/vnd.example", blob{"text/plain", "another layer"})
	wantError(t, "another image", verify(), failure.Terminal, "component root:1.0.0: resource image: its content was changed")
	artifactOf(t, s, "images/x", "1", "application/vnd.example", blob{"text/plain", "layer"})

	server.Break(registry.On("/images/x/", registry.Status(503)))
	wantError(t, "a registry that fails", verify(), failure.Retryable, "fails (status 503)")
	server.Break(nil)

	changed := child
	changed.layers = []blob{hello, {"text/plain", "more"}}
	changed.resources += `, {name: more, type: t, version: 1.0.0, relation: local, access: {type: localBlob, localReference: "` + changed.layers[1].digest() + `"}}`
	changed.push(t, s)
	wantError(t, "another child", verify(), failure.Terminal, "reference c: component child:1.0.0 was changed since it was signed")
}

func digestOfComponent(t testing.TB, w written) string {
	t.Helper()
	d, err := component.Parse([]byte(w.text()), component.DefaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signature.Normalise(d, signature.NormalisationV3, signature.StoredDigests(d))
	if err != nil {
		t.Fatal(err)
	}
	return oci.NewManifest("", text).Digest.Encoded()
}
