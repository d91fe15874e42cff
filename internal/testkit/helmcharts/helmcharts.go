// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package helmcharts packs Helm charts, and pushes them to registries with Helm's own client.
package helmcharts

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"path/filepath"
	"testing"

	helmregistry "helm.sh/helm/v4/pkg/registry"

	"espalier.dev/internal/archive"
	"espalier.dev/internal/testkit/registry"
)

// Pack packs the files of a chart as Helm does: in a folder.
func Pack(t testing.TB, files map[string]string) []byte {
	t.Helper()
	inside := archive.Files{}
	for name, text := range files {
		inside["chart/"+name] = []byte(text)
	}
	data, err := archive.Tar(inside)
	if err == nil {
		data, err = archive.Gzip(data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Shelf is a registry that accepts charts. Without a username it accepts everybody.
type Shelf struct {
	*registry.Registry
	Username, Password string
}

// Push stores a packed chart at a place such as charts/shop:1.0.0, and returns the digest of the artifact.
func (into Shelf) Push(t testing.TB, place string, data []byte) string {
	t.Helper()
	options := []helmregistry.ClientOption{
		helmregistry.ClientOptWriter(io.Discard),
		helmregistry.ClientOptCredentialsFile(filepath.Join(t.TempDir(), "none.json")),
	}
	if into.CA == nil {
		options = append(options, helmregistry.ClientOptPlainHTTP())
	} else {
		trust := x509.NewCertPool()
		trust.AppendCertsFromPEM(into.CA)
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust, MinVersion: tls.VersionTLS12}}
		t.Cleanup(transport.CloseIdleConnections)
		options = append(options, helmregistry.ClientOptHTTPClient(&http.Client{Transport: transport}))
	}
	if into.Username != "" {
		options = append(options, helmregistry.ClientOptBasicAuth(into.Username, into.Password))
	}
	client, err := helmregistry.NewClient(options...)
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := client.Push(data, into.Host+"/"+place)
	if err != nil {
		t.Fatal(err)
	}
	return pushed.Manifest.Digest
}
