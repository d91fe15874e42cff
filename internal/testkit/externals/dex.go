// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package externals

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"espalier.dev/internal/subprocess"
	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/program"
)

// DexServer is a running Dex, an OpenID Connect provider. Every visitor is logged in at once as DexUser.
type DexServer struct {
	URL string // the issuer
	CA  []byte // the authority behind its certificate, in PEM
}

// The user who is logged in at Dex, and the group.
const (
	DexUser  = "kilgore@kilgore.trout"
	DexGroup = "authors"
)

// DexClient is a client that Dex knows.
type DexClient struct {
	ID           string   `json:"id"`
	Name         string   `json:"name"`
	Secret       string   `json:"secret"`
	RedirectURIs []string `json:"redirectURIs"`
}

// Dex starts a Dex for this test alone, and returns when it listens.
func Dex(t testing.TB, client DexClient) *DexServer {
	t.Helper()
	binary, err := program.Dex.Binary(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	address := testkit.FreeAddress(t)
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	identity, err := newIdentity(net.ParseIP(host))
	if err != nil {
		t.Fatal(err)
	}
	dex := &DexServer{URL: "https://" + address + "/dex", CA: identity.authority}
	dir := t.TempDir()
	writeFile := func(name string, content []byte) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	config, err := json.Marshal(map[string]any{
		"issuer":  dex.URL,
		"storage": map[string]any{"type": "memory"},
		"web": map[string]any{
			"https": address, "tlsCert": writeFile("tls.crt", identity.certificate), "tlsKey": writeFile("tls.key", identity.key),
		},
		"expiry":        map[string]any{"idTokens": "10m"},
		"oauth2":        map[string]any{"skipApprovalScreen": true},
		"staticClients": []DexClient{client},
		"connectors":    []any{map[string]any{"type": "mockCallback", "id": "mock", "name": "Mock"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	listens := make(chan struct{})
	process, err := subprocess.Start(subprocess.Command{
		Title: "Dex", Binary: binary, Arguments: []string{"serve", writeFile("config.yaml", config)},
		Notice: func(line string) {
			if strings.Contains(line, "listening (https)") {
				close(listens)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(process.Kill)
	showOutput(t, "Dex", process)
	select {
	case <-listens:
	case <-process.Exited():
		t.Fatal("Dex has ended")
	}
	return dex
}
