// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package externals

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// identity is the TLS identity of a server on loopback, in PEM.
type identity struct {
	authority   []byte // the certificate that clients must trust
	certificate []byte
	key         []byte
}

// newIdentity creates a separate authority for each server, so that no client trusts one by accident. Further addresses of the server can
// be added.
func newIdentity(addresses ...net.IP) (identity, error) {
	authorityKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, fmt.Errorf("make a certificate authority: %w", err)
	}
	authority := certificateTemplate("test authority")
	authority.IsCA, authority.BasicConstraintsValid = true, true
	authority.KeyUsage = x509.KeyUsageCertSign
	authorityPEM, err := sign(authority, authority, authorityKey.Public(), authorityKey)
	if err != nil {
		return identity{}, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return identity{}, fmt.Errorf("make a server certificate: %w", err)
	}
	server := certificateTemplate("test server")
	server.SerialNumber = big.NewInt(2)
	server.KeyUsage = x509.KeyUsageDigitalSignature
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.IPAddresses = append([]net.IP{net.IPv4(127, 0, 0, 1)}, addresses...)
	server.DNSNames = []string{"localhost"}
	serverPEM, err := sign(server, authority, key.Public(), authorityKey)
	if err != nil {
		return identity{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return identity{}, fmt.Errorf("encode the key of a server: %w", err)
	}
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	return identity{authority: authorityPEM, certificate: serverPEM, key: keyPEM}, nil
}

func certificateTemplate(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(24 * time.Hour),
	}
}

func sign(certificate, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, certificate, parent, public, key)
	if err != nil {
		return nil, fmt.Errorf("sign the certificate of the %s: %w", certificate.Subject.CommonName, err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}
