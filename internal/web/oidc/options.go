// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oidc

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-logr/logr"
)

// maxName is the number of characters that fit on a button.
const maxName = 64

// Options configure the provider. The messages of Check name the flags that set them.
type Options struct {
	// Issuer is the address of the provider, exactly as in its tokens.
	Issuer string
	// ClientID identifies the web UI at the provider. It is also the audience of tokens that the API server must accept.
	ClientID string
	// ClientSecret is empty for a public client, which only PKCE protects.
	ClientSecret string
	// Scopes are the requested scopes; empty means DefaultScopes.
	Scopes []string
	// CA is the certificate authority of the provider, in PEM; empty means those of the system.
	CA []byte
	// Name is the provider's name on the button.
	Name string
	// Key signs the cookie of a pending login. Without one, a random key is used.
	Key []byte
	// Now is the clock. Nil means the real one.
	Now func() time.Time
	Log logr.Logger
}

// DefaultScopes returns scopes that all providers support. With most providers, groups and renewable tokens need more.
func DefaultScopes() []string { return []string{"openid", "profile", "email"} }

// Check validates the options without contacting the provider.
func (o Options) Check() error {
	if err := checkIssuer(o.Issuer); err != nil {
		return err
	}
	if o.ClientID == "" {
		return errors.New("--oidc-client-id is missing: set the client ID of the web UI at the provider")
	}
	if err := checkScopes(o.Scopes); err != nil {
		return err
	}
	if len(o.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(o.CA) {
		return errors.New("--oidc-ca-file has no certificate in PEM: it must start with -----BEGIN CERTIFICATE-----")
	}
	if len(o.Name) > maxName || strings.ContainsFunc(o.Name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return fmt.Errorf("--oidc-name is the label of a button: it may have %d letters, on one line", maxName)
	}
	return nil
}

func checkIssuer(issuer string) error {
	if issuer == "" {
		return errors.New("--oidc-issuer is missing: the other flags for login with a provider need it")
	}
	address, err := url.Parse(issuer)
	switch {
	case err != nil || address.Hostname() == "":
		return fmt.Errorf("--oidc-issuer: %q is not an address like https://login.example.com", issuer)
	case address.User != nil:
		return errors.New("--oidc-issuer contains a user: remove it")
	case address.Scheme != "https":
		return fmt.Errorf("--oidc-issuer: %q does not start with https://, and the API server would reject its tokens", issuer)
	case address.RawQuery != "" || address.Fragment != "":
		return fmt.Errorf("--oidc-issuer: %q has a query or a fragment: remove it", issuer)
	}
	return nil
}

func checkScopes(scopes []string) error {
	if len(scopes) == 0 {
		return nil
	}
	if !slices.Contains(scopes, "openid") {
		return errors.New("--oidc-scopes has no openid: without it the provider returns no ID token")
	}
	for _, scope := range scopes {
		if scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			return fmt.Errorf("--oidc-scopes: %q is not a scope: separate them with commas, like openid,email", scope)
		}
	}
	return nil
}
