// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package issuer is an OpenID Connect provider for tests: discovery, keys, the authorization code flow with PKCE, and refresh tokens that
// are good once. It is strict about what it is asked, can be down, and can lie on request, which no provider that people use does.
package issuer

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"espalier.dev/internal/testkit/relay"
)

// The client that the provider accepts.
const (
	ClientID     = "espalier-ui"
	ClientSecret = "the-secret-of-the-client"
)

// keyBits is the minimum for the signatures of the tokens.
const keyBits = 2048

// Issuer is a running provider. Its methods may be called from several goroutines.
type Issuer struct {
	// URL is its address, and the issuer in its tokens.
	URL string
	// CA is the authority of its certificate, in PEM.
	CA []byte

	relay *relay.Relay
	key   *rsa.PrivateKey
	now   func() time.Time

	mutex    sync.Mutex
	person   map[string]any
	lies     Lies
	codes    map[string]grant
	renewals map[string]grant
	renewed  int
	secrets  []string
}

// grant is what the user has granted the client.
type grant struct {
	person                      map[string]any
	challenge, nonce, leadsBack string
}

// Lies are ways in which a provider can misbehave. The zero value behaves well.
type Lies struct {
	// Claims changes the claims of an ID token.
	Claims func(claims map[string]any)
	// Token changes the ID token, or omits it.
	Token func(token string) string
	// Denies answers the browser with an error instead of a code.
	Denies string
	// Forgets rejects all refresh tokens.
	Forgets bool
	// Description changes its discovery document.
	Description func(description map[string]any)
	// Answer replaces every answer.
	Answer http.HandlerFunc
}

// New starts a provider with a logged-in user with the given claims. It runs until the test ends, with the given clock.
func New(t testing.TB, now func() time.Time, person map[string]any) *Issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		t.Fatal(err)
	}
	i := &Issuer{key: key, now: now, person: person, codes: map[string]grant{}, renewals: map[string]grant{}}
	server := httptest.NewTLSServer(i.handler())
	t.Cleanup(server.Close)
	i.relay = relay.New(t, server.URL)
	i.URL = i.relay.Through(t, server.URL)
	i.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return i
}

// Down refuses all connections until Up.
func (i *Issuer) Down() { i.relay.Close() }

// Up ends the effect of Down.
func (i *Issuer) Up(t testing.TB) { t.Helper(); i.relay.Open(t) }

// Lie makes the provider misbehave from now on, in these ways only.
func (i *Issuer) Lie(lies Lies) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.lies = lies
}

// Change changes a claim of the user, for tokens that are issued from now on.
func (i *Issuer) Change(claim string, value any) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.person = maps.Clone(i.person)
	i.person[claim] = value
	for secret, g := range i.renewals {
		g.person = i.person
		i.renewals[secret] = g
	}
}

// Renewed returns how often refresh tokens were used.
func (i *Issuer) Renewed() int {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.renewed
}

// Tokens returns all issued tokens, of all kinds.
func (i *Issuer) Tokens() []string {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return slices.Clone(i.secrets)
}

// Token issues an ID token for the logged-in user, without a flow.
func (i *Issuer) Token(t testing.TB) string {
	t.Helper()
	i.mutex.Lock()
	defer i.mutex.Unlock()
	token, err := i.idToken(grant{person: i.person})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// Trust writes a file with the configuration of an API server that trusts a provider, for ClientID. Names and groups get the prefix
// "oidc:".
func Trust(t testing.TB, url string, authority []byte) string {
	t.Helper()
	text := fmt.Sprintf(`apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
jwt:
- issuer: {url: %q, audiences: [%q], certificateAuthority: %q}
  claimMappings:
    username: {claim: email, prefix: "oidc:"}
    groups: {claim: groups, prefix: "oidc:"}
`, url, ClientID, authority)
	file := filepath.Join(t.TempDir(), "authentication.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
