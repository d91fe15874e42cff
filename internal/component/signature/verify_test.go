// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"
	"time"

	"espalier.dev/internal/component"
	"espalier.dev/internal/failure"
)

// All tests but those that need a second key share one.
var keys = sync.OnceValue(func() [2]*rsa.PrivateKey {
	var pair [2]*rsa.PrivateKey
	for i := range pair {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			panic(err)
		}
		pair[i] = key
	}
	return pair
})

func publicPEM(key *rsa.PrivateKey) []byte {
	bytes, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		panic(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: bytes})
}

// sign creates a signature as OCM does, with the variations of a test.
func sign(t testing.TB, text string, with signing) string {
	t.Helper()
	d := parse(t, text)
	form := with.form
	if form == "" {
		form = NormalisationV3
	}
	digests := StoredDigests(d)
	if with.digests != nil {
		digests = *with.digests
	}
	normal, err := Normalise(d, form, digests)
	if err != nil {
		t.Fatal(err)
	}
	hash, digest := crypto.SHA256, sha256Of(normal)
	if with.hash == "SHA-512" {
		hash, digest = crypto.SHA512, sha512Of(normal)
	}
	if with.hash == "" {
		with.hash = "SHA-256"
	}
	key := keys()[0]
	algorithm, mediaType := algorithmPKCS1, mediaTypePKCS1
	value, err := rsa.SignPKCS1v15(rand.Reader, key, hash, digest)
	if with.pss {
		algorithm, mediaType = algorithmPSS, mediaTypePSS
		value, err = rsa.SignPSS(rand.Reader, key, hash, digest, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	written := hex.EncodeToString(value)
	if with.chain != nil {
		mediaType = mediaTypePEM
		written = string(pem.EncodeToMemory(&pem.Block{Type: pemSignature, Headers: map[string]string{pemAlgorithmHeader: algorithm}, Bytes: value})) + string(with.chain)
	}
	signatures, err := json.Marshal([]any{map[string]any{
		"name":      "release",
		"digest":    map[string]any{"hashAlgorithm": with.hash, "normalisationAlgorithm": form, "value": hex.EncodeToString(digest)},
		"signature": map[string]any{"algorithm": algorithm, "mediaType": mediaType, "value": written, "issuer": with.issuer},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return "signatures: " + string(signatures) + "\n" + text
}

func sha256Of(data []byte) []byte { sum := sha256.Sum256(data); return sum[:] }
func sha512Of(data []byte) []byte { sum := sha512.Sum512(data); return sum[:] }

type signing struct {
	form, hash, issuer string
	pss                bool
	chain              []byte
	digests            *Digests
}

// world returns a World with the contents of resources, and components by name.
func world(contents map[string]string, components ...*component.Descriptor) World {
	return World{
		Component: func(_ *component.Descriptor, r *component.Reference) (*component.Descriptor, error) {
			for _, d := range components {
				if d.ID() == r.Target() {
					return d, nil
				}
			}
			return nil, errors.New("the registry is down")
		},
		Resource: func(_ *component.Descriptor, r *component.Resource, want Digest) (Digest, error) {
			content, found := contents[r.Name]
			if !found {
				return Digest{}, errors.New("the registry is down")
			}
			if want == (Digest{}) {
				want = Digest{Hash: SHA256, Normalisation: BlobDigest}
			}
			value, err := hashOf(want.Hash, []byte(content))
			want.Value = hex.EncodeToString(value)
			return want, err
		},
	}
}

func expect(t testing.TB, name string, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: got %v, want %q", name, err, want)
	case want != "" && want != "the registry is down" && failure.KindOf(err) != failure.Terminal:
		t.Errorf("%s: the error is %s", name, failure.KindOf(err))
	case want == "the registry is down" && failure.KindOf(err) != failure.Retryable:
		t.Errorf("%s: the error is %s", name, failure.KindOf(err))
	}
}

func TestVerify(t *testing.T) {
	trust := Trust{PublicKey: publicPEM(keys()[0])}
	good := world(map[string]string{"txt": "hello"})
	pkcs1 := Trust{PublicKey: pem.EncodeToMemory(&pem.Block{Type: "RSA PUBLIC KEY", Bytes: x509.MarshalPKCS1PublicKey(&keys()[0].PublicKey)})}
	legacy := StoredDigests(parse(t, hello))
	legacy.Resources[0].Hash = "sha256"
	edit := func(old, new string) string {
		signed := sign(t, hello, signing{})
		if !strings.Contains(signed, old) {
			t.Fatalf("%q is not there", old)
		}
		return strings.Replace(signed, old, new, 1)
	}
	for name, test := range map[string]struct {
		text  string
		world World
		trust Trust
		want  string
	}{
		"as it should be":           {sign(t, hello, signing{}), good, trust, ""},
		"form v1":                   {sign(t, hello, signing{form: NormalisationV1}), good, trust, ""},
		"form v2":                   {sign(t, hello, signing{form: NormalisationV2}), good, trust, ""},
		"form v4":                   {sign(t, hello, signing{form: normalisationV4}), good, trust, ""},
		"PSS":                       {sign(t, hello, signing{pss: true}), good, trust, ""},
		"SHA-512":                   {sign(t, hello, signing{hash: "SHA-512"}), good, trust, ""},
		"PEM with a key":            {sign(t, hello, signing{chain: []byte("\n")}), good, trust, ""},
		"PSS in PEM":                {sign(t, hello, signing{chain: []byte("\n"), pss: true}), good, trust, ""},
		"a key in PKCS #1":          {sign(t, hello, signing{}), good, pkcs1, ""},
		"the old name of the hash":  {sign(t, hello, signing{hash: "sha256", digests: &legacy}), good, trust, ""},
		"another content":           {sign(t, hello, signing{}), world(map[string]string{"txt": "hallo"}), trust, "resource txt: its content was changed"},
		"another digest":            {edit("2cf24dba", "3cf24dba"), good, trust, "resource txt: its content was changed"},
		"both changed":              {strings.Replace(edit("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", sum([]byte("hallo"))), "x", "x", 1), world(map[string]string{"txt": "hallo"}), trust, "the component was changed since it was signed"},
		"a changed version":         {edit("relation: local", "relation: external"), good, trust, "the component was changed since it was signed"},
		"an edited signature":       {edit(`"algorithm":"RSASSA-PKCS1-V1_5"`, `"algorithm":"RSASSA-PSS"`), good, trust, "not made with the trusted key"},
		"an unknown algorithm":      {edit(`RSASSA-PKCS1-V1_5`, `none`), good, trust, `unknown signature algorithm "none"`},
		"an unknown media type":     {edit(`vnd.ocm.signature.rsa`, `x`), good, trust, "media type"},
		"an unknown form":           {edit(`jsonNormalisation/v3`, `jsonNormalisation/v7`), good, trust, "unknown normalisation"},
		"an unknown hash":           {edit(`"hashAlgorithm":"SHA-256","normalisationAlgorithm":"json`, `"hashAlgorithm":"MD5","normalisationAlgorithm":"json`), good, trust, `unknown hash algorithm "MD5"`},
		"another key":               {sign(t, hello, signing{}), good, Trust{PublicKey: publicPEM(keys()[1])}, "not made with the trusted key"},
		"no key":                    {sign(t, hello, signing{}), good, Trust{}, "neither a public key nor"},
		"no PEM":                    {sign(t, hello, signing{}), good, Trust{PublicKey: []byte("key")}, "not in PEM format"},
		"no RSA":                    {sign(t, hello, signing{}), good, Trust{PublicKey: pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: []byte("x")})}, "not an RSA key"},
		"an authority for hex":      {sign(t, hello, signing{}), good, Trust{CA: newAuthority(t, keys()[1]).pem}, "has no certificate"},
		"no such signature":         {strings.Replace(sign(t, hello, signing{}), `"release"`, `"other"`, 1), good, trust, `no signature "release"; it has other`},
		"no signature":              {hello, good, trust, "not signed"},
		"a registry that is down":   {sign(t, hello, signing{}), world(nil), trust, "the registry is down"},
		"a resource that is exempt": {sign(t, exempt, signing{}), world(nil), trust, ""},
		"a resource without any":    {sign(t, strings.Replace(hello, "{type: localBlob, localReference: x, mediaType: text/plain}", "{type: none}", 1), signing{}), world(nil), trust, ""},
	} {
		expect(t, name, Verify(parse(t, test.text), "release", test.world, test.trust), test.want)
	}
	certificate := Trust{PublicKey: newAuthority(t, keys()[1]).pem}
	expect(t, "a certificate as key", Verify(parse(t, sign(t, hello, signing{})), "release", good, certificate), "is a certificate")
}

var exempt = strings.NewReplacer("hashAlgorithm: SHA-256", "hashAlgorithm: NO-DIGEST", "genericBlobDigest/v1", "EXCLUDE-FROM-SIGNATURE",
	"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", "NO-DIGEST").Replace(hello)

type authority struct {
	certificate *x509.Certificate
	key         *rsa.PrivateKey
	pem         []byte
}

func newAuthority(t testing.TB, key *rsa.PrivateKey) authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().AddDate(-10, 0, 0), NotAfter: time.Now().AddDate(10, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return authority{certificate: certificate, key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})}
}

// issue issues a certificate for the first key.
func (a authority) issue(t testing.TB, change func(*x509.Certificate)) []byte {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "signer", Organization: []string{"acme"}},
		NotBefore: time.Now().AddDate(-2, 0, 0), NotAfter: time.Now().AddDate(-1, 0, 0), // expired
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	}
	if change != nil {
		change(template)
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &keys()[0].PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

func TestChains(t *testing.T) {
	a := newAuthority(t, keys()[1])
	other := newAuthority(t, keys()[0])
	good := world(map[string]string{"txt": "hello"})
	leaf := a.issue(t, nil)
	for name, test := range map[string]struct {
		with  signing
		trust Trust
		want  string
	}{
		"an expired leaf":          {signing{chain: leaf}, Trust{CA: a.pem}, ""},
		"the issuer":               {signing{chain: leaf, issuer: "O=acme,CN=signer"}, Trust{CA: a.pem}, ""},
		"the issuer's common name": {signing{chain: leaf, issuer: "signer"}, Trust{CA: a.pem}, ""},
		"another issuer":           {signing{chain: leaf, issuer: "CN=somebody"}, Trust{CA: a.pem}, "issuer is not the one"},
		"another authority":        {signing{chain: leaf}, Trust{CA: other.pem}, "was not issued by the authority"},
		"no authority":             {signing{chain: leaf}, Trust{CA: []byte("x")}, "no certificates in PEM"},
		"no right to sign code": {signing{chain: a.issue(t, func(c *x509.Certificate) {
			c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		})}, Trust{CA: a.pem}, "was not issued by the authority"},
		"not yet valid root": {signing{chain: a.issue(t, func(c *x509.Certificate) { c.NotBefore = time.Now().AddDate(-20, 0, 0) })}, Trust{CA: a.pem}, "was not issued by the authority"},
		"a key counts first": {signing{chain: leaf}, Trust{CA: other.pem, PublicKey: publicPEM(keys()[0])}, ""},
		"garbage":            {signing{chain: []byte("-----BEGIN CERTIFICATE-----\neA==\n-----END CERTIFICATE-----\n")}, Trust{CA: a.pem}, "certificates at the most"},
	} {
		expect(t, name, Verify(parse(t, sign(t, hello, test.with)), "release", good, test.trust), test.want)
	}
}

// parent refers to the component hello.
func parent(digest string) string {
	return fmt.Sprintf(`
meta: {schemaVersion: v2}
component:
  name: example.org/parent
  version: 1.0.0
  provider: acme
  resources: []
  sources: []
  repositoryContexts: []
  componentReferences:
  - {name: a, componentName: example.org/a, version: 1.0.0%s}
`, digest)
}

const helloDigest = "3d875b8ce1fd9ba17c43a4d69b9f675b3cdcbd7cebf37b3086ef401587337eee"

func digestText(value string) string {
	return "{hashAlgorithm: SHA-256, normalisationAlgorithm: jsonNormalisation/v3, value: " + value + "}"
}

func TestNestedComponents(t *testing.T) {
	trust := Trust{PublicKey: publicPEM(keys()[0])}
	contents := map[string]string{"txt": "hello"}
	child := parse(t, hello)
	computed := Digests{References: []Digest{{Hash: SHA256, Normalisation: NormalisationV3, Value: helloDigest}}}
	local := sign(t, parent(", digest: "+digestText(helloDigest)), signing{})
	without := sign(t, parent(""), signing{digests: &computed})
	list := func(digest, resource string) string {
		return fmt.Sprintf("nestedDigests: [{name: example.org/a, version: 1.0.0, digest: %s, resourceDigests: [{name: txt, version: 1.0.0, digest: {hashAlgorithm: SHA-256, normalisationAlgorithm: genericBlobDigest/v1, value: %s}}]}]\n", digestText(digest), resource)
	}
	const helloSum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
	bare := parse(t, hello[:strings.Index(hello, "    digest:")])
	changed := parse(t, strings.Replace(hello, "relation: local", "relation: external", 1))
	loop := parse(t, strings.NewReplacer("example.org/parent", "example.org/a").Replace(parent("")))
	for name, test := range map[string]struct {
		text  string
		world World
		want  string
	}{
		"local mode":               {local, world(contents, child), ""},
		"no digest stored":         {without, world(contents, child), ""},
		"a changed child":          {local, world(contents, changed), "component example.org/a:1.0.0 was changed"},
		"a changed child, unknown": {without, world(contents, changed), "example.org/parent:1.0.0: the component was changed"},
		"changed content below":    {local, world(map[string]string{"txt": "x"}, child), `signature "release" of component example.org/parent:1.0.0: reference a to component example.org/a:1.0.0: resource txt: its content`},
		"a child that is missing":  {local, world(contents), "the registry is down"},
		"a circle":                 {without, world(contents, loop), "form a cycle"},
		"top mode":                 {list(helloDigest, helloSum) + without, world(contents, bare), ""},
		"top mode, stored as well": {list(helloDigest, helloSum) + without, world(contents, child), ""},
		"top mode, other content":  {list(helloDigest, helloSum) + without, world(map[string]string{"txt": "x"}, bare), "its content was changed"},
		"top mode, other resource": {list(helloDigest, sum([]byte("x"))) + without, world(contents, bare), "its content was changed"},
		"top mode, other child":    {list(sum([]byte("x")), helloSum) + without, world(contents, bare), "was changed since it was signed"},
		"top mode, none listed":    {strings.Replace(list(helloDigest, helloSum), "example.org/a", "example.org/b", 1) + without, world(contents, bare), "lacks example.org/a:1.0.0"},
	} {
		expect(t, name, Verify(parse(t, test.text), "release", test.world, trust), test.want)
	}
}
