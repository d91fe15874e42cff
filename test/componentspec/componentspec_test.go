// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package componentspec

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cdv2 "github.com/gardener/component-spec/bindings-go/apis/v2"
	"github.com/gardener/component-spec/bindings-go/apis/v2/signatures"

	"espalier.dev/internal/component"
	"espalier.dev/internal/component/signature"
)

// samples is how many components are compared.
const samples = 300

// author creates random components.
type author struct{ *mathrand.Rand }

// words contain none of the characters <, > and &: the library writes them unescaped, current OCM tools escape them, and those are
// authoritative.
var words = []string{"a", "z", "image", "zürich", "x-y", "A", "10", "9", `quo"te`, "back\\slash", "tab\there", "雪", "e\u0301"}

func (a author) word() string { return words[a.IntN(len(words))] }

func (a author) identity() cdv2.Identity {
	if a.IntN(3) == 0 {
		return nil
	}
	identity := cdv2.Identity{}
	for range a.IntN(4) {
		identity[a.word()] = a.word()
	}
	return identity
}

func (a author) digest(form string) *cdv2.DigestSpec {
	sum := sha256.Sum256([]byte(fmt.Sprint(a.Uint64())))
	return &cdv2.DigestSpec{HashAlgorithm: signatures.SHA256, NormalisationAlgorithm: form, Value: hex.EncodeToString(sum[:])}
}

func (a author) component(t *testing.T) *cdv2.ComponentDescriptor {
	t.Helper()
	cd := &cdv2.ComponentDescriptor{}
	cd.Metadata.Version = cdv2.SchemaVersion
	cd.Name, cd.Version, cd.Provider = "example.org/"+a.word(), fmt.Sprintf("1.%d.0", a.IntN(100)), "acme"
	cd.RepositoryContexts, cd.Sources = []*cdv2.UnstructuredTypedObject{}, []cdv2.Source{}
	cd.ComponentReferences, cd.Resources = []cdv2.ComponentReference{}, []cdv2.Resource{}
	for i := range a.IntN(4) {
		cd.ComponentReferences = append(cd.ComponentReferences, cdv2.ComponentReference{
			Name: fmt.Sprintf("%s-%d", a.word(), i), ComponentName: "example.org/" + a.word(), Version: "2.0.0", ExtraIdentity: a.identity(),
			Digest: a.digest(string(cdv2.JsonNormalisationV1)),
		})
	}
	for i := range a.IntN(5) {
		resource := cdv2.Resource{Relation: cdv2.LocalRelation, Digest: a.digest(string(cdv2.GenericBlobDigestV1))}
		resource.Name, resource.Version, resource.Type = fmt.Sprintf("%s-%d", a.word(), i), "1.0.0", a.word()
		resource.ExtraIdentity = a.identity()
		access := map[string]any{"type": "localBlob", "localReference": "x", "mediaType": "text/plain"}
		switch a.IntN(4) {
		case 0:
			access, resource.Digest = map[string]any{"type": "None"}, nil
		case 1:
			resource.Digest = cdv2.NewExcludeFromSignatureDigest()
		}
		raw, err := json.Marshal(access)
		if err != nil {
			t.Fatal(err)
		}
		resource.Access = &cdv2.UnstructuredTypedObject{}
		if err := resource.Access.UnmarshalJSON(raw); err != nil {
			t.Fatal(err)
		}
		cd.Resources = append(cd.Resources, resource)
	}
	return cd
}

// read converts a component of the library into our own type, as if read from a registry.
func read(t *testing.T, cd *cdv2.ComponentDescriptor) *component.Descriptor {
	t.Helper()
	raw, err := json.Marshal(cd)
	if err != nil {
		t.Fatal(err)
	}
	d, err := component.Parse(raw, component.DefaultLimits)
	if err != nil {
		t.Fatalf("%v\n%s", err, raw)
	}
	return d
}

// The digests of any component agree.
func TestDigestsAgree(t *testing.T) {
	hasher, err := signatures.HasherForName(signatures.SHA256)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(samples) {
		cd := author{mathrand.New(mathrand.NewPCG(seed, 1))}.component(t)
		theirs, err := signatures.HashForComponentDescriptor(*cd, *hasher)
		if err != nil {
			t.Fatal(err)
		}
		d := read(t, cd)
		normal, err := signature.Normalise(d, theirs.NormalisationAlgorithm, signature.StoredDigests(d))
		if err != nil {
			t.Fatalf("component %d: %v", seed, err)
		}
		if ours := sha256.Sum256(normal); hex.EncodeToString(ours[:]) != theirs.Value {
			t.Fatalf("component %d: the digests differ\n%s", seed, normal)
		}
	}
}

// Signatures of the library are accepted, in both of its formats, but not after a change of the signed content.
func TestItsSignaturesAreVerified(t *testing.T) {
	key, file := newKey(t)
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	trust := signature.Trust{PublicKey: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})}
	for _, mediaType := range []string{cdv2.MediaTypeRSASignature, cdv2.MediaTypePEM} {
		signer, err := signatures.CreateRSASignerFromKeyFile(file, mediaType)
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(samples / 10) {
			cd := author{mathrand.New(mathrand.NewPCG(seed, 2))}.component(t)
			cd.ComponentReferences = []cdv2.ComponentReference{}
			hasher, err := signatures.HasherForName(signatures.SHA256)
			if err == nil {
				err = signatures.SignComponentDescriptor(cd, signer, *hasher, "release")
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := signature.Verify(read(t, cd), "release", asStored(), trust); err != nil {
				t.Errorf("%s, component %d: %v", mediaType, seed, err)
			}
			cd.Version += "-changed"
			if err := signature.Verify(read(t, cd), "release", asStored(), trust); err == nil || !strings.Contains(err.Error(), "was changed since") {
				t.Errorf("%s, component %d was changed: %v", mediaType, seed, err)
			}
		}
	}
}

// asStored returns a world in which every resource has its recorded digest.
func asStored() signature.World {
	return signature.World{
		Component: func(*component.Descriptor, *component.Reference) (*component.Descriptor, error) {
			return nil, errors.New("nothing refers to others")
		},
		Resource: func(d *component.Descriptor, r *component.Resource, _ signature.Digest) (signature.Digest, error) {
			at := slices.IndexFunc(d.Resources, func(other component.Resource) bool { return other.Name == r.Name })
			return signature.StoredDigests(d).Resources[at], nil
		},
	}
}

func newKey(t *testing.T) (*rsa.PrivateKey, string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	return key, file
}
