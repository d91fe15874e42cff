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

// maxName is how many letters fit on a button.
const maxName = 64

// Options say which provider people log in with. The messages of Check name the flags that set them.
type Options struct {
	// Issuer is the address of the provider, as it stands in its tokens.
	Issuer string
	// ClientID is how the provider knows the web UI. It is also the audience of tokens that the API server has to accept.
	ClientID string
	// ClientSecret is empty for a public client, which PKCE protects alone.
	ClientSecret string
	// Scopes are what is asked for; none is DefaultScopes.
	Scopes []string
	// CA is the authority, in PEM, that vouches for the provider; none is those of the system.
	CA []byte
	// Name is what the button calls the provider.
	Name string
	// Key signs the cookie of a login that is under way. Without one a random key is used.
	Key []byte
	// Now is the clock. Nil means the real one.
	Now func() time.Time
	Log logr.Logger
}

// DefaultScopes are understood by all providers. Groups and tokens that can be renewed need more with most of them.
func DefaultScopes() []string { return []string{"openid", "profile", "email"} }

// Check says what is wrong with the options, without asking the provider.
func (o Options) Check() error {
	if err := checkIssuer(o.Issuer); err != nil {
		return err
	}
	if o.ClientID == "" {
		return errors.New("--oidc-client-id is missing: it is the name under which the provider knows the web UI")
	}
	if err := checkScopes(o.Scopes); err != nil {
		return err
	}
	if len(o.CA) > 0 && !x509.NewCertPool().AppendCertsFromPEM(o.CA) {
		return errors.New("--oidc-ca-file has no certificate in PEM: it has to begin with -----BEGIN CERTIFICATE-----")
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
		return fmt.Errorf("--oidc-issuer: %q is no address like https://login.example.com", issuer)
	case address.User != nil:
		return errors.New("--oidc-issuer has a user in it: leave that out")
	case address.Scheme != "https":
		return fmt.Errorf("--oidc-issuer: %q does not begin with https://, and the API server would not accept its tokens either", issuer)
	case address.RawQuery != "" || address.Fragment != "":
		return fmt.Errorf("--oidc-issuer: %q has a query or a fragment: leave that out", issuer)
	}
	return nil
}

func checkScopes(scopes []string) error {
	if len(scopes) == 0 {
		return nil
	}
	if !slices.Contains(scopes, "openid") {
		return errors.New("--oidc-scopes has no openid: without it the provider gives no ID token")
	}
	for _, scope := range scopes {
		if scope == "" || strings.ContainsFunc(scope, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			return fmt.Errorf("--oidc-scopes: %q is no scope: name them with commas between, like openid,email", scope)
		}
	}
	return nil
}
