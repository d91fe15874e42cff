// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package keys creates keys, certificates, password hashes and encrypted texts for templates. Everything is derived from the
// entropy passed in: the functions of the standard library take theirs from the machine, so that rendering twice gives
// different results.
package keys

import (
	"crypto"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
)

// The sizes of RSA keys. Larger ones take too long to find.
const (
	SmallestRSA = 1024
	LargestRSA  = 4096
)

const (
	publicExponent = 65537
	// certainty is the number of Miller-Rabin rounds that a prime must pass, in addition to another test.
	certainty = 20
)

// Errors that contain nothing of the input.
var (
	ErrSize        = errors.New("the number of bits of an RSA key must be even, and from 1024 to 4096")
	ErrCurve       = errors.New("the curve must be P224, P256, P384 or P521")
	ErrPrivateKey  = errors.New("the text is not a private key in PEM format")
	ErrPublicKey   = errors.New("the text is not a public key in PEM format")
	ErrCertificate = errors.New("the text is not a certificate in PEM format")
)

// CostOfRSA returns the cost of creating an RSA key, in the steps of templates.
func CostOfRSA(bits int) int64 {
	const bitsPerStep = 32
	return int64(bits) * int64(bits) / bitsPerStep
}

// RSA creates an RSA key.
func RSA(entropy io.Reader, bits int) (*rsa.PrivateKey, error) {
	if bits < SmallestRSA || bits > LargestRSA || bits%2 != 0 {
		return nil, ErrSize
	}
	for {
		p, err := prime(entropy, bits/2)
		if err != nil {
			return nil, err
		}
		q, err := prime(entropy, bits/2)
		if err != nil {
			return nil, err
		}
		if key := rsaOf(p, q); key != nil {
			return key, nil
		}
	}
}

// rsaOf returns the key of two primes, or nil if they are not suitable.
func rsaOf(p, q *big.Int) *rsa.PrivateKey {
	one, e := big.NewInt(1), big.NewInt(publicExponent)
	order := new(big.Int).Mul(new(big.Int).Sub(p, one), new(big.Int).Sub(q, one))
	d := new(big.Int).ModInverse(e, order)
	if d == nil || p.Cmp(q) == 0 {
		return nil
	}
	key := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: new(big.Int).Mul(p, q), E: publicExponent}, D: d, Primes: []*big.Int{p, q}}
	key.Precompute()
	if key.Validate() != nil {
		return nil
	}
	return key
}

// prime finds a prime whose two highest bits are set, so that the product of two has exactly twice its length.
func prime(entropy io.Reader, bits int) (*big.Int, error) {
	content := make([]byte, (bits+7)/8)
	if _, err := io.ReadFull(entropy, content); err != nil {
		return nil, err
	}
	candidate := new(big.Int).SetBytes(content)
	candidate.Rsh(candidate, uint(len(content)*8-bits))
	candidate.SetBit(candidate, bits-1, 1).SetBit(candidate, bits-2, 1).SetBit(candidate, 0, 1)
	for two := big.NewInt(2); !candidate.ProbablyPrime(certainty); candidate.Add(candidate, two) {
	}
	if candidate.BitLen() > bits {
		return prime(entropy, bits)
	}
	return candidate, nil
}

var curves = map[string]elliptic.Curve{"P224": elliptic.P224(), "P256": elliptic.P256(), "P384": elliptic.P384(), "P521": elliptic.P521()}

// ECDSA creates a key on a curve.
func ECDSA(entropy io.Reader, curve string) (*ecdsa.PrivateKey, error) {
	c := curves[curve]
	if c == nil {
		return nil, ErrCurve
	}
	order := c.Params().N
	content := make([]byte, (order.BitLen()+7)/8)
	for {
		if _, err := io.ReadFull(entropy, content); err != nil {
			return nil, err
		}
		content[0] &= byte(0xff >> (len(content)*8 - order.BitLen()))
		if key, err := ecdsa.ParseRawPrivateKey(c, content); err == nil {
			return key, nil
		}
	}
}

// Ed25519 creates a key for Ed25519.
func Ed25519(entropy io.Reader) (ed25519.PrivateKey, error) {
	seed := make([]byte, ed25519.SeedSize)
	if _, err := io.ReadFull(entropy, seed); err != nil {
		return nil, err
	}
	return ed25519.NewKeyFromSeed(seed), nil
}

// WireGuard creates a private key for WireGuard.
func WireGuard(entropy io.Reader) ([]byte, error) {
	key := make([]byte, 32)
	if _, err := io.ReadFull(entropy, key); err != nil {
		return nil, err
	}
	key[0] &= 248
	key[31] = key[31]&127 | 64
	return key, nil
}

// WireGuardPublic returns the public key of a private key for WireGuard.
func WireGuardPublic(private []byte) ([]byte, error) {
	key, err := ecdh.X25519().NewPrivateKey(private)
	if err != nil {
		return nil, ErrPrivateKey
	}
	return key.PublicKey().Bytes(), nil
}

// PEM encodes a private key in the older formats, whose headers name the algorithm.
func PEM(key crypto.PrivateKey) (string, error) {
	var kind string
	var content []byte
	var err error
	switch k := key.(type) {
	case *rsa.PrivateKey:
		kind, content = "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(k)
	case *ecdsa.PrivateKey:
		kind = "EC PRIVATE KEY"
		content, err = x509.MarshalECPrivateKey(k)
	default:
		kind = "PRIVATE KEY"
		content, err = x509.MarshalPKCS8PrivateKey(k)
	}
	if err != nil {
		return "", ErrPrivateKey
	}
	return block(kind, content), nil
}

func block(kind string, content []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: content}))
}

// PublicPEM encodes a public key. RSA keys use their own format, unless the common one is requested.
func PublicPEM(key crypto.PublicKey, common bool) (string, error) {
	if k, ok := key.(*rsa.PublicKey); ok && !common {
		return block("RSA PUBLIC KEY", x509.MarshalPKCS1PublicKey(k)), nil
	}
	content, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", ErrPublicKey
	}
	if _, ok := key.(*ecdsa.PublicKey); ok {
		return block("ECDSA PUBLIC KEY", content), nil
	}
	return block("PUBLIC KEY", content), nil
}

// ParsePrivate parses a private key.
func ParsePrivate(text string) (crypto.Signer, error) {
	found, _ := pem.Decode([]byte(text))
	if found == nil {
		return nil, ErrPrivateKey
	}
	if key, err := x509.ParsePKCS1PrivateKey(found.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(found.Bytes); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(found.Bytes)
	if signer, ok := key.(crypto.Signer); ok && err == nil {
		return signer, nil
	}
	return nil, ErrPrivateKey
}

// ParsePublic parses a public key.
func ParsePublic(text string) (crypto.PublicKey, error) {
	found, _ := pem.Decode([]byte(text))
	if found == nil {
		return nil, ErrPublicKey
	}
	if key, err := x509.ParsePKIXPublicKey(found.Bytes); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PublicKey(found.Bytes); err == nil {
		return key, nil
	}
	return nil, ErrPublicKey
}

// ParseCertificate parses a certificate.
func ParseCertificate(text string) (*x509.Certificate, error) {
	found, _ := pem.Decode([]byte(text))
	if found == nil || found.Type != "CERTIFICATE" {
		return nil, ErrCertificate
	}
	certificate, err := x509.ParseCertificate(found.Bytes)
	if err != nil {
		return nil, ErrCertificate
	}
	return certificate, nil
}

// PublicOf returns the public key in the text of a private key, a public key or a certificate.
func PublicOf(text string) (crypto.PublicKey, error) {
	if key, err := ParsePrivate(text); err == nil {
		return key.Public(), nil
	}
	if key, err := ParsePublic(text); err == nil {
		return key, nil
	}
	certificate, err := ParseCertificate(text)
	if err != nil {
		return nil, ErrPublicKey
	}
	return certificate.PublicKey, nil
}
