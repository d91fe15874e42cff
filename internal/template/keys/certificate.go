// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package keys

import (
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net/netip"
	"time"
)

// Certificate is the content of a certificate, and its signer.
type Certificate struct {
	Subject  pkix.Name
	Hosts    []string
	From     time.Time
	Until    time.Time
	IsCA     bool
	Usage    x509.KeyUsage
	Extended []x509.ExtKeyUsage
	Public   crypto.PublicKey
	// Issuer is the certificate of the signer; nil if the certificate is self-signed.
	Issuer *x509.Certificate
	Signer crypto.Signer
}

// serialSize is the length of a serial number in bytes.
const serialSize = 16

// Sign returns the certificate. Its serial number is read from entropy; its signature needs no entropy.
func (c Certificate) Sign(entropy io.Reader) (string, error) {
	serial := make([]byte, serialSize)
	if _, err := io.ReadFull(entropy, serial); err != nil {
		return "", err
	}
	// A serial number is positive and no longer than the standard allows.
	serial[0] = serial[0]&0x7f | 0x40
	content := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), Subject: c.Subject, NotBefore: c.From, NotAfter: c.Until,
		IsCA: c.IsCA, KeyUsage: c.Usage, ExtKeyUsage: c.Extended, BasicConstraintsValid: true,
	}
	for _, host := range c.Hosts {
		if address, err := netip.ParseAddr(host); err == nil {
			content.IPAddresses = append(content.IPAddresses, address.AsSlice())
		} else {
			content.DNSNames = append(content.DNSNames, host)
		}
	}
	issuer := c.Issuer
	if issuer == nil {
		issuer = content
	}
	signed, err := x509.CreateCertificate(nil, content, issuer, c.Public, c.Signer)
	if err != nil {
		return "", errors.New("the certificate cannot be signed: check that the keys match the certificate of the authority")
	}
	return block("CERTIFICATE", signed), nil
}
