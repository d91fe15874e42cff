// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"

	"oras.land/oras-go/v2/registry/remote/auth"
)

// Credential authenticates to a registry, and contains the authorities to trust. The zero value is anonymous and trusts the authorities of
// the system.
type Credential struct {
	Username string
	Password string
	// IdentityToken is sent to the registry's authorisation service instead of a password.
	IdentityToken string
	// CA contains, in PEM, the certificates to trust instead of those of the system.
	CA []byte
	// Certificate and PrivateKey, in PEM, are the optional client certificate.
	Certificate []byte
	PrivateKey  []byte
}

// String keeps credentials out of printed texts.
func (c Credential) String() string { return "<credential>" }

// GoString is String for %#v.
func (c Credential) GoString() string { return c.String() }

// parts returns everything that distinguishes credentials.
func (c Credential) parts() [][]byte {
	return [][]byte{[]byte(c.Username), []byte(c.Password), []byte(c.IdentityToken), c.CA, c.Certificate, c.PrivateKey}
}

func (c Credential) login() auth.Credential {
	return auth.Credential{Username: c.Username, Password: c.Password, RefreshToken: c.IdentityToken}
}

// trust returns the TLS settings.
func (c Credential) trust() (*tls.Config, error) {
	trust := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(c.CA) > 0 {
		trust.RootCAs = x509.NewCertPool()
		if block, _ := pem.Decode(c.CA); block == nil || !trust.RootCAs.AppendCertsFromPEM(c.CA) {
			return nil, misconfigured("the certificate authority of the credentials contains no certificate in PEM format")
		}
	}
	if len(c.Certificate) == 0 && len(c.PrivateKey) == 0 {
		return trust, nil
	}
	pair, err := tls.X509KeyPair(c.Certificate, c.PrivateKey)
	if err != nil {
		return nil, misconfigured("certificate and private key of the credentials are not a pair in PEM format")
	}
	trust.Certificates = []tls.Certificate{pair}
	return trust, nil
}
