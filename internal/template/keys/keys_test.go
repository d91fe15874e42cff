// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package keys_test

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"testing"
	"time"

	"espalier.dev/internal/template"
	"espalier.dev/internal/template/keys"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func entropy(seed string) *template.Entropy { return template.NewEntropy([]byte(seed), start) }

// makers create a key of every kind.
var makers = map[string]func(*template.Entropy) (crypto.Signer, error){
	"RSA 1024": func(e *template.Entropy) (crypto.Signer, error) { return keys.RSA(e, 1024) },
	"RSA 2048": func(e *template.Entropy) (crypto.Signer, error) { return keys.RSA(e, 2048) },
	"P224":     func(e *template.Entropy) (crypto.Signer, error) { return keys.ECDSA(e, "P224") },
	"P256":     func(e *template.Entropy) (crypto.Signer, error) { return keys.ECDSA(e, "P256") },
	"P384":     func(e *template.Entropy) (crypto.Signer, error) { return keys.ECDSA(e, "P384") },
	"P521":     func(e *template.Entropy) (crypto.Signer, error) { return keys.ECDSA(e, "P521") },
	"Ed25519":  func(e *template.Entropy) (crypto.Signer, error) { return keys.Ed25519(e) },
}

// Every key follows from the seed, survives encoding and parsing, and signs itself and others.
func TestKeysFollowFromTheSeed(t *testing.T) {
	for name, make := range makers {
		var written []string
		for _, seed := range []string{"one", "one", "two"} {
			key, err := make(entropy(seed))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			text, err := keys.PEM(key)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			again, err := keys.ParsePrivate(text)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			public, err := keys.PublicPEM(again.Public(), false)
			if parsed, wrong := keys.ParsePublic(public); err != nil || wrong != nil || fmt.Sprint(parsed) != fmt.Sprint(key.Public()) {
				t.Errorf("%s: the public key is %v: %v, %v", name, parsed, err, wrong)
			}
			checkCertificate(t, name, key)
			written = append(written, text)
		}
		if written[0] != written[1] || written[0] == written[2] {
			t.Errorf("%s: the keys do not follow from the seed", name)
		}
	}
}

func checkCertificate(t *testing.T, name string, key crypto.Signer) {
	t.Helper()
	c := keys.Certificate{
		Subject: pkix.Name{CommonName: "ca"}, Hosts: []string{"example.com", "10.0.0.1", "::1"}, From: start, Until: start.Add(time.Hour),
		IsCA: true, Usage: x509.KeyUsageCertSign, Public: key.Public(), Signer: key,
	}
	text, err := c.Sign(entropy("certificate"))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if again, _ := c.Sign(entropy("certificate")); again != text {
		t.Errorf("%s: the certificate does not follow from the seed", name)
	}
	ca, err := keys.ParseCertificate(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := ca.CheckSignatureFrom(ca); err != nil || !ca.NotBefore.Equal(start) {
		t.Errorf("%s: valid from %s: %v", name, ca.NotBefore, err)
	}
	if hosts := fmt.Sprint(ca.DNSNames, ca.IPAddresses); hosts != "[example.com] [10.0.0.1 ::1]" {
		t.Errorf("%s: the certificate is one of %s", name, hosts)
	}
	digest := sha256.Sum256([]byte(text))
	if ca.SerialNumber.Sign() <= 0 || ca.SerialNumber.BitLen() > 127 {
		t.Errorf("%s: the serial number is %v for %x", name, ca.SerialNumber, digest[:2])
	}
}

func TestKeysRefuse(t *testing.T) {
	for _, bits := range []int{0, -1, 1023, 1022, 4098, 1 << 20} {
		if _, err := keys.RSA(entropy(""), bits); err != keys.ErrSize {
			t.Errorf("%d bits: %v", bits, err)
		}
	}
	if _, err := keys.ECDSA(entropy(""), "P1"); err != keys.ErrCurve {
		t.Errorf("curve: %v", err)
	}
	for _, text := range []string{"", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		_, private := keys.ParsePrivate(text)
		_, public := keys.PublicOf(text)
		_, certificate := keys.ParseCertificate(text)
		if private != keys.ErrPrivateKey || public != keys.ErrPublicKey || certificate != keys.ErrCertificate {
			t.Errorf("%q: %v, %v, %v", text, private, public, certificate)
		}
	}
}

func TestWireGuard(t *testing.T) {
	key, err := keys.WireGuard(entropy("x"))
	if err != nil || len(key) != 32 {
		t.Fatalf("%x, %v", key, err)
	}
	if key[0]&7 != 0 || key[31]&0xc0 != 0x40 {
		t.Errorf("%x has not the bits of a private key", key)
	}
	if public, err := keys.WireGuardPublic(key); err != nil || len(public) != 32 {
		t.Errorf("%x, %v", public, err)
	}
	if _, err := keys.WireGuardPublic([]byte("short")); err != keys.ErrPrivateKey {
		t.Error(err)
	}
}
