// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestKeysAreKeptAndRenewedInTime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pki")
	now := time.Now()
	first := openTestKeys(t, dir, now)
	later := map[string]struct {
		now     time.Time
		renewed bool
	}{
		"the next day":        {now.Add(24 * time.Hour), false},
		"just before renewal": {now.Add(leafLifetime - renewBefore - time.Hour), false},
		"just after renewal":  {now.Add(leafLifetime - renewBefore + time.Hour), true},
		"years later":         {now.Add(5 * leafLifetime), true},
	}
	for name, test := range later {
		t.Run(name, func(t *testing.T) {
			copied := copyDir(t, dir)
			again := openTestKeys(t, copied, test.now)
			if !bytes.Equal(again.ca, first.ca) {
				t.Error("the certificate authority changed")
			}
			if renewed := !bytes.Equal(again.adminCert, first.adminCert); renewed != test.renewed {
				t.Errorf("renewed: %t", renewed)
			}
			checkChain(t, again, test.now)
		})
	}
}

func TestKeysOfAnotherAuthorityAreReplaced(t *testing.T) {
	now := time.Now()
	dir := filepath.Join(t.TempDir(), "pki")
	first := openTestKeys(t, dir, now)
	for _, name := range []string{"ca.crt", "ca.key"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	again := openTestKeys(t, dir, now)
	if bytes.Equal(again.ca, first.ca) || bytes.Equal(again.adminCert, first.adminCert) {
		t.Error("the credentials of a lost authority are still in use")
	}
	checkChain(t, again, now)
}

func TestEachDirectoryHasItsOwnKeys(t *testing.T) {
	now := time.Now()
	one := openTestKeys(t, filepath.Join(t.TempDir(), "pki"), now)
	other := openTestKeys(t, filepath.Join(t.TempDir(), "pki"), now)
	if bytes.Equal(one.ca, other.ca) || bytes.Equal(one.adminKey, other.adminKey) {
		t.Error("two directories have the same keys")
	}
}

func openTestKeys(t *testing.T, dir string, now time.Time) keys {
	t.Helper()
	k, err := openKeys(dir, now)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func checkChain(t *testing.T, k keys, now time.Time) {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(k.ca) {
		t.Fatal("the authority is no certificate")
	}
	server, err := os.ReadFile(k.serverCertFile)
	if err != nil {
		t.Fatal(err)
	}
	for name, check := range map[string]struct {
		raw     []byte
		options x509.VerifyOptions
	}{
		"admin":  {k.adminCert, x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}},
		"server": {server, x509.VerifyOptions{KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, DNSName: "127.0.0.1"}},
	} {
		block, _ := pem.Decode(check.raw)
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		check.options.Roots, check.options.CurrentTime = roots, now
		if _, err := cert.Verify(check.options); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func copyDir(t *testing.T, dir string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), "copy")
	if err := os.CopyFS(to, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	return to
}
