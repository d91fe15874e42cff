// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package oidc lets users log in to the web UI with an OpenID Connect identity provider, by the authorization code flow with PKCE. The
// result is an ID token, with which the reader then authenticates to the API server: it trusts the same provider, and decides who they are.
//
// The only state of logins kept here is the numbers of those that have ended: state, nonce and verifier are derived from a number in a
// signed cookie and a key. No error of this package contains a code, a token or a secret.
package oidc

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	// discoveryLimit bounds one attempt to read the provider's metadata.
	discoveryLimit = 15 * time.Second
	firstPause     = time.Second
	longestPause   = time.Minute
)

// ErrAway is returned for logins while the provider has not been reached yet.
var ErrAway = errors.New("the identity provider has not answered yet")

// Provider is an external identity provider.
type Provider struct {
	options Options
	client  *client
	key     []byte

	mutex   sync.Mutex
	known   *known
	problem error
	ended   map[string]time.Time // numbers of logins that came back, until their cookies expire
}

// known is the metadata of a provider.
type known struct {
	config   oauth2.Config
	verifier *gooidc.IDTokenVerifier
}

// New returns a provider that is not contacted until Run.
func New(options Options) (*Provider, error) {
	if err := options.Check(); err != nil {
		return nil, err
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if len(options.Scopes) == 0 {
		options.Scopes = DefaultScopes()
	}
	key := options.Key
	if len(key) == 0 {
		key = []byte(rand.Text() + rand.Text())
	}
	return &Provider{
		options: options, client: newClient(options), key: seal(key, "login with a provider"), problem: ErrAway, ended: map[string]time.Time{},
	}, nil
}

// Name returns the provider's name on the button; it may be empty.
func (p *Provider) Name() string { return p.options.Name }

// Issuer returns the address of the provider.
func (p *Provider) Issuer() string { return p.options.Issuer }

// Audience returns the audience of the provider's tokens.
func (p *Provider) Audience() string { return p.options.ClientID }

// Run reads the provider's metadata, and retries until it succeeds or the context is done.
func (p *Provider) Run(ctx context.Context) {
	for pause := firstPause; ; pause = min(2*pause, longestPause) {
		found, err := p.discover(ctx)
		p.learn(found, err)
		if err == nil {
			p.options.Log.Info("The identity provider has answered", "issuer", p.options.Issuer)
			return
		}
		p.options.Log.Error(err, "The identity provider cannot be used yet; logins with it are rejected", "issuer", p.options.Issuer)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func (p *Provider) learn(found *known, problem error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.known, p.problem = found, problem
}

// Problem returns why logging in with the provider fails now; nil if no reason is known.
func (p *Provider) Problem() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.problem
}

func (p *Provider) current() (*known, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.known == nil {
		return nil, ErrAway
	}
	return p.known, nil
}

// described is the part of a provider's metadata that go-oidc does not expose.
type described struct {
	Keys    string   `json:"jwks_uri"`
	Methods []string `json:"token_endpoint_auth_methods_supported"`
}

func (p *Provider) discover(parent context.Context) (*known, error) {
	ctx, cancel := context.WithTimeout(parent, discoveryLimit)
	defer cancel()
	provider, err := gooidc.NewProvider(p.client.in(ctx), p.options.Issuer)
	if err != nil {
		return nil, fmt.Errorf("read the description of the identity provider: %w", err)
	}
	var more described
	if err := provider.Claims(&more); err != nil {
		return nil, fmt.Errorf("read the description of the identity provider: %w", err)
	}
	endpoint := provider.Endpoint()
	for what, address := range map[string]string{
		"authorization_endpoint": endpoint.AuthURL, "token_endpoint": endpoint.TokenURL, "jwks_uri": more.Keys,
	} {
		if parsed, err := url.Parse(address); err != nil || parsed.Scheme != "https" || parsed.Host == "" {
			return nil, fmt.Errorf("the description of the identity provider has the %s %q, which does not start with https://", what, address)
		}
	}
	endpoint.AuthStyle = p.style(more.Methods)
	lasting := p.client.in(context.WithoutCancel(parent))
	return &known{
		config: oauth2.Config{
			ClientID: p.options.ClientID, ClientSecret: p.options.ClientSecret, Endpoint: endpoint, Scopes: p.options.Scopes,
		},
		verifier: provider.VerifierContext(lasting, &gooidc.Config{ClientID: p.options.ClientID, Now: p.options.Now}),
	}, nil
}

// style returns how the client authenticates. Trying both ways would send a code twice.
func (p *Provider) style(methods []string) oauth2.AuthStyle {
	if p.options.ClientSecret == "" || len(methods) > 0 && !slices.Contains(methods, "client_secret_basic") {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader // The default of the standard.
}
