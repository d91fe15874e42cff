// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	caLifetime   = 10 * 365 * 24 * time.Hour
	leafLifetime = 365 * 24 * time.Hour
	// renewBefore is the minimum remaining lifetime of a leaf certificate at a start.
	renewBefore = 90 * 24 * time.Hour
)

// keys are the credentials of one data directory. Files are for the API server, bytes
// for clients.
type keys struct {
	caFile, serverCertFile, serverKeyFile, serviceAccountKeyFile string
	adminCertFile, adminKeyFile                                  string
	ca, adminCert, adminKey                                      []byte
}

// openKeys reads the credentials in dir and creates those that are missing or about to expire. The API server listens on these addresses,
// in addition to loopback.
func openKeys(dir string, now time.Time, addresses ...net.IP) (keys, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return keys{}, fmt.Errorf("create directory for keys: %w", err)
	}
	k := keyring{dir: dir, now: now}
	ca, err := k.authority()
	if err != nil {
		return keys{}, err
	}
	if _, err := k.leaf(ca, "apiserver", serverTemplate(addresses)); err != nil {
		return keys{}, err
	}
	admin, err := k.leaf(ca, "admin", adminTemplate())
	if err != nil {
		return keys{}, err
	}
	if err := k.signingKey("service-account"); err != nil {
		return keys{}, err
	}
	return keys{
		caFile:                k.file("ca.crt"),
		serverCertFile:        k.file("apiserver.crt"),
		serverKeyFile:         k.file("apiserver.key"),
		serviceAccountKeyFile: k.file("service-account.key"),
		adminCertFile:         k.file("admin.crt"),
		adminKeyFile:          k.file("admin.key"),
		ca:                    ca.certPEM,
		adminCert:             admin.certPEM,
		adminKey:              admin.keyPEM,
	}, nil
}

func serverTemplate(addresses []net.IP) x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: "kube-apiserver"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{
			"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		},
		IPAddresses: append([]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, serviceAddress}, addresses...),
	}
}

func adminTemplate() x509.Certificate {
	return x509.Certificate{
		Subject:     pkix.Name{CommonName: "espalier-admin", Organization: []string{"system:masters"}},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

// keyring is a directory of NAME.crt and NAME.key files.
type keyring struct {
	dir string
	now time.Time
}

type keyPair struct {
	certPEM, keyPEM []byte
	cert            *x509.Certificate
	key             crypto.Signer
}

func (k keyring) file(name string) string { return filepath.Join(k.dir, name) }

func (k keyring) authority() (keyPair, error) {
	pair, err := k.read("ca")
	if !errors.Is(err, fs.ErrNotExist) {
		return pair, err
	}
	return k.issue("ca", x509.Certificate{
		Subject:    pkix.Name{CommonName: "espalier-local-ca"},
		NotAfter:   k.now.Add(caLifetime),
		KeyUsage:   x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:       true,
		MaxPathLen: 0, MaxPathLenZero: true,
	}, nil)
}

// leaf reads the certificate of that name, or issues it if it is missing, expires soon, lacks a name or an address, or comes from another
// authority.
func (k keyring) leaf(ca keyPair, name string, template x509.Certificate) (keyPair, error) {
	pair, err := k.read(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return keyPair{}, err
	}
	if err == nil && pair.cert.NotAfter.Sub(k.now) > renewBefore && pair.cert.CheckSignatureFrom(ca.cert) == nil &&
		covers(pair.cert, template) {
		return pair, nil
	}
	template.NotAfter = k.now.Add(leafLifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	return k.issue(name, template, &ca)
}

// covers reports whether a certificate is valid for all wanted names and addresses.
func covers(certificate *x509.Certificate, wanted x509.Certificate) bool {
	names := slices.Clone(wanted.DNSNames)
	for _, address := range wanted.IPAddresses {
		names = append(names, address.String())
	}
	return !slices.ContainsFunc(names, func(name string) bool { return certificate.VerifyHostname(name) != nil })
}

// issue creates and stores a certificate; without an authority it is self-signed.
func (k keyring) issue(name string, template x509.Certificate, ca *keyPair) (keyPair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return keyPair{}, fmt.Errorf("create key %s: %w", name, err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return keyPair{}, fmt.Errorf("create certificate %s: %w", name, err)
	}
	template.SerialNumber = serial
	template.NotBefore = k.now.Add(-time.Minute)
	template.BasicConstraintsValid = true
	parent, signer := &template, crypto.Signer(key)
	if ca != nil {
		parent, signer = ca.cert, ca.key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, key.Public(), signer)
	if err != nil {
		return keyPair{}, fmt.Errorf("create certificate %s: %w", name, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return keyPair{}, fmt.Errorf("create key %s: %w", name, err)
	}
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := errors.Join(writeFile(k.file(name+".key"), keyPEM), writeFile(k.file(name+".crt"), certPEM)); err != nil {
		return keyPair{}, err
	}
	return k.read(name)
}

func (k keyring) read(name string) (keyPair, error) {
	certPEM, err := os.ReadFile(k.file(name + ".crt"))
	if err != nil {
		return keyPair{}, fmt.Errorf("read certificate: %w", err)
	}
	keyPEM, err := os.ReadFile(k.file(name + ".key"))
	if err != nil {
		return keyPair{}, fmt.Errorf("read key: %w", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return keyPair{}, fmt.Errorf(
			"%s.crt and %s.key in %s are damaged (%w): restore them, or remove both to recreate them",
			name,
			name,
			k.dir,
			err,
		)
	}
	return keyPair{certPEM: certPEM, keyPEM: keyPEM, cert: pair.Leaf, key: pair.PrivateKey.(crypto.Signer)}, nil
}

// signingKey ensures that a key exists that is used without a certificate.
func (k keyring) signingKey(name string) error {
	if _, err := os.Stat(k.file(name + ".key")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("create key %s: %w", name, err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return fmt.Errorf("create key %s: %w", name, err)
	}
	return writeFile(k.file(name+".key"), keyPEM)
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}
