// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"crypto"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Names of signature algorithms and encodings.
const (
	algorithmPKCS1 = "RSASSA-PKCS1-V1_5"
	algorithmPSS   = "RSASSA-PSS"

	mediaTypePKCS1 = "application/vnd.ocm.signature.rsa"
	mediaTypePSS   = "application/vnd.ocm.signature.rsa.pss"
	mediaTypePEM   = "application/x-pem-file"

	pemSignature       = "SIGNATURE"
	pemAlgorithmHeader = "Signature Algorithm"
	maxCertificates    = 20
)

// Trust defines the valid signatures: those of a public key, or those of certificates of an authority. If both are set, the public key
// applies.
type Trust struct {
	// PublicKey is an RSA key in PEM.
	PublicKey []byte
	// CA holds certificates in PEM.
	CA []byte
}

// check verifies a signature against the digest in it.
func (t Trust) check(s Signature) error {
	value, chain, err := s.decode()
	if err != nil {
		return err
	}
	key, err := t.key(s, chain)
	if err != nil {
		return err
	}
	digest, err := hex.DecodeString(s.Digest.Value)
	if err != nil {
		return errors.New("its digest has no hexadecimal digits")
	}
	hash := crypto.SHA256
	if IsSHA512(s.Digest.Hash) {
		hash = crypto.SHA512
	}
	switch s.Algorithm {
	case algorithmPKCS1:
		err = rsa.VerifyPKCS1v15(key, hash, digest, value)
	case algorithmPSS:
		err = rsa.VerifyPSS(key, hash, digest, value, &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthAuto})
	default:
		return fmt.Errorf("unknown signature algorithm %q: it must be %s or %s", s.Algorithm, algorithmPKCS1, algorithmPSS)
	}
	if err != nil {
		return errors.New("it was not made with the trusted key")
	}
	return nil
}

// decode returns the bytes of a signature, and its certificates, that of the signer first.
func (s Signature) decode() ([]byte, []*x509.Certificate, error) {
	switch s.MediaType {
	case mediaTypePKCS1, mediaTypePSS:
		value, err := hex.DecodeString(strings.TrimSpace(s.Value))
		if err != nil {
			return nil, nil, errors.New("its value has no hexadecimal digits")
		}
		return value, nil, nil
	case mediaTypePEM:
		return s.decodePEM()
	}
	return nil, nil, fmt.Errorf(
		"unknown media type %q of the signature: it must be %s, %s or %s", s.MediaType, mediaTypePKCS1, mediaTypePSS, mediaTypePEM)
}

func (s Signature) decodePEM() ([]byte, []*x509.Certificate, error) {
	block, rest := pem.Decode([]byte(s.Value))
	if block == nil || block.Type != pemSignature {
		return nil, nil, fmt.Errorf("its value does not start with a PEM block %s", pemSignature)
	}
	if named := block.Headers[pemAlgorithmHeader]; named != "" && named != s.Algorithm {
		return nil, nil, fmt.Errorf("its value was made by %q, but its algorithm is %q", named, s.Algorithm)
	}
	chain, err := certificates(rest)
	return block.Bytes, chain, err
}

func certificates(text []byte) ([]*x509.Certificate, error) {
	var all []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if block.Type != "CERTIFICATE" || err != nil || len(all) == maxCertificates {
			return nil, fmt.Errorf("something other than %d certificates at the most in PEM format", maxCertificates)
		}
		all = append(all, certificate)
	}
	return all, nil
}

// key returns the trusted key.
func (t Trust) key(s Signature, chain []*x509.Certificate) (*rsa.PublicKey, error) {
	if len(t.PublicKey) > 0 {
		return publicKey(t.PublicKey)
	}
	if len(t.CA) == 0 {
		return nil, errors.New("neither a public key nor a certificate authority is given to check it with")
	}
	if len(chain) == 0 {
		return nil, errors.New("it has no certificate, so it cannot be checked with an authority: set the public key")
	}
	return t.keyOfChain(s, chain)
}

func publicKey(text []byte) (*rsa.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the public key is not in PEM format")
	}
	if block.Type == "CERTIFICATE" {
		return nil, errors.New("the public key is a certificate: set a public key, or the certificate of the authority as such")
	}
	if key, err := x509.ParsePKCS1PublicKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	key, isRSA := parsed.(*rsa.PublicKey)
	if err != nil || !isRSA {
		return nil, errors.New("the public key is not an RSA key (PKIX or PKCS #1)")
	}
	return key, nil
}

// keyOfChain returns the key of the signer if it has a valid certificate of the authority. It validates at the start of the certificate's
// validity: a later expiry does not invalidate a signature.
func (t Trust) keyOfChain(s Signature, chain []*x509.Certificate) (*rsa.PublicKey, error) {
	roots, err := certificates(t.CA)
	if err != nil || len(roots) == 0 {
		return nil, errors.New("the certificate authority holds no certificates in PEM format")
	}
	signer := chain[0]
	options := x509.VerifyOptions{
		Roots:         x509.NewCertPool(),
		Intermediates: x509.NewCertPool(),
		CurrentTime:   signer.NotBefore,
		KeyUsages:     []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning},
	}
	for _, root := range roots {
		options.Roots.AddCert(root)
	}
	for _, between := range chain[1:] {
		options.Intermediates.AddCert(between)
	}
	if _, err := signer.Verify(options); err != nil {
		return nil, fmt.Errorf("the signer's certificate was not issued by the authority: %w", err)
	}
	if s.Issuer != "" && !sameName(s.Issuer, signer) {
		return nil, errors.New("its issuer is not the one that the signer's certificate names")
	}
	key, isRSA := signer.PublicKey.(*rsa.PublicKey)
	if !isRSA {
		return nil, errors.New("the signer's certificate has no RSA key")
	}
	return key, nil
}

// sameName compares a distinguished name with that of a certificate, regardless of the order of its parts. A name in another form is
// compared with the common name.
func sameName(issuer string, of *x509.Certificate) bool {
	if !strings.Contains(issuer, "=") {
		return issuer == of.Subject.CommonName
	}
	return slices.Equal(nameParts(issuer), nameParts(of.Subject.String()))
}

func nameParts(name string) []string {
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == ',' || r == '+' || r == ';' })
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	slices.Sort(parts)
	return parts
}
