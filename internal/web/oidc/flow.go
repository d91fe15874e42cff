// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oidc

import (
	"context"
	"crypto/hmac"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	gooidc "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// CallbackPath is where the provider redirects browsers back to. It must be registered there, with every host of the web UI.
const CallbackPath = "/auth/oidc/callback"

// Tokens are the result of a login.
type Tokens struct {
	// ID is the token for the API server.
	ID      string
	Expires time.Time
	// Subject identifies the user at the provider.
	Subject string
	// Refresh is exchanged for the next token; empty if the provider gives none.
	Refresh string
}

// Refusal is a login that the provider rejected, or whose response is invalid. A retry may help.
type Refusal struct{ Why string }

func (r *Refusal) Error() string { return r.Why }

func refuse(format string, args ...any) error { return &Refusal{Why: fmt.Sprintf(format, args...)} }

// Begin sets the cookie of a new login, and returns the address at the provider to redirect to.
func (p *Provider) Begin(w http.ResponseWriter, r *http.Request, back string) (string, error) {
	known, err := p.current()
	if err != nil {
		return "", err
	}
	t := p.issue(w, OwnPage(back))
	config := configFor(known, r)
	return config.AuthCodeURL(p.state(t), gooidc.Nonce(p.nonce(t)), oauth2.S256ChallengeOption(p.verifier(t))), nil
}

// configFor redirects back to the host that the browser uses, by HTTPS. The server has checked that the host is one of its hosts.
func configFor(known *known, r *http.Request) oauth2.Config {
	config := known.config
	config.RedirectURL = "https://" + r.Host + CallbackPath
	return config
}

// Finish handles the redirect back from the provider, and returns the tokens and the page to continue with. The error is a *Refusal unless
// the provider is unreachable.
func (p *Provider) Finish(w http.ResponseWriter, r *http.Request) (Tokens, string, error) {
	query := r.URL.Query()
	t, found := p.take(w, r, query.Get("state"))
	if !found {
		return Tokens{}, "", refuse("this browser did not start this login, has already finished it, or took longer than %d minutes",
			int(patience.Minutes()))
	}
	if code := query.Get("error"); code != "" {
		return Tokens{}, "", refuse("the identity provider rejected the login%s", reason(code))
	}
	known, err := p.current()
	if err != nil {
		return Tokens{}, "", err
	}
	ctx, cancel := context.WithTimeout(p.client.in(r.Context()), requestLimit)
	defer cancel()
	config := configFor(known, r)
	given, err := config.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(p.verifier(t)))
	if err != nil {
		return Tokens{}, "", tokenError(err)
	}
	tokens, verified, err := p.verify(ctx, known, given)
	if err != nil {
		return Tokens{}, "", err
	}
	if !hmac.Equal([]byte(verified.Nonce), []byte(p.nonce(t))) {
		return Tokens{}, "", refuse("the ID token is for another login: its nonce is not that of this one")
	}
	return tokens, t.Return, nil
}

// Renew returns the next tokens for the same person. The error is a *Refusal if a retry is useless.
func (p *Provider) Renew(ctx context.Context, before Tokens) (Tokens, error) {
	known, err := p.current()
	if err != nil {
		return Tokens{}, err
	}
	ctx, cancel := context.WithTimeout(p.client.in(ctx), requestLimit)
	defer cancel()
	given, err := known.config.TokenSource(ctx, &oauth2.Token{RefreshToken: before.Refresh}).Token()
	if err != nil {
		return Tokens{}, tokenError(err)
	}
	next, _, err := p.verify(ctx, known, given)
	if err != nil {
		return Tokens{}, err
	}
	if next.Subject != before.Subject {
		return Tokens{}, refuse("the next ID token belongs to another user")
	}
	return next, nil
}

// verify checks signature, issuer, audience and time of the ID token.
func (p *Provider) verify(ctx context.Context, known *known, given *oauth2.Token) (Tokens, *gooidc.IDToken, error) {
	raw, _ := given.Extra("id_token").(string)
	if raw == "" {
		return Tokens{}, nil, refuse("the identity provider returned no ID token: the scope openid may not be allowed for this client")
	}
	verified, err := known.verifier.Verify(ctx, raw)
	if err != nil {
		return Tokens{}, nil, refuse("the ID token is invalid: %v", err)
	}
	var more struct {
		AuthorizedParty string `json:"azp"`
	}
	if err := verified.Claims(&more); err != nil {
		return Tokens{}, nil, refuse("the ID token is invalid: %v", err)
	}
	if more.AuthorizedParty != "" && more.AuthorizedParty != p.options.ClientID && len(verified.Audience) > 1 {
		return Tokens{}, nil, refuse("the ID token was issued to another client, %q", more.AuthorizedParty)
	}
	return Tokens{ID: raw, Expires: verified.Expiry, Subject: verified.Subject, Refresh: given.RefreshToken}, verified, nil
}

// tokenError says why there are no tokens, without the response of the provider, which may contain anything.
func tokenError(err error) error {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) {
		return fmt.Errorf("request tokens from the identity provider: %w", err)
	}
	status := refused.Response.StatusCode
	if status == http.StatusTooManyRequests || status >= http.StatusInternalServerError {
		return fmt.Errorf("request tokens from the identity provider: status %d%s", status, reason(refused.ErrorCode))
	}
	return refuse("the identity provider returns no tokens: status %d%s", status, reason(refused.ErrorCode))
}

var plainReason = regexp.MustCompile(`^[a-z_]{1,64}$`)

// reason returns an error code of the standard; others are dropped, since anybody could put them into an address.
func reason(code string) string {
	if !plainReason.MatchString(code) {
		return ""
	}
	return " (" + code + ")"
}
