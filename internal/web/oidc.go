// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"time"

	"espalier.dev/internal/web/oidc"
	"espalier.dev/internal/web/rights"
	"espalier.dev/internal/web/session"
)

const (
	// renewEarly is how long before its expiry a token is replaced. A short-lived one is replaced after two thirds of its lifetime.
	renewEarly = 3 * time.Minute
	// renewAgain is the delay before a retry if the provider did not answer.
	renewAgain = 10 * time.Second
	// renewLimit bounds a renewal, which continues if the caller disconnects: the provider may accept each secret only once.
	renewLimit = 15 * time.Second
)

// newProvider returns the identity provider of a server, or nil.
func newProvider(options Options) (*oidc.Provider, error) {
	if options.OIDC == nil {
		return nil, nil
	}
	if options.Mode != Cluster {
		return nil, errors.New("login with an identity provider is for servers in a cluster: a local one has one reader")
	}
	chosen := *options.OIDC
	chosen.Key, chosen.Now, chosen.Log = options.Key, options.Now, options.Log
	return oidc.New(chosen)
}

// runProvider discovers the identity provider while everything else already works.
func (s *Server) runProvider(ctx context.Context) {
	if s.provider != nil {
		s.provider.Run(ctx)
	}
}

func (s *Server) registerOIDC(mux *http.ServeMux) {
	if s.provider == nil {
		return
	}
	mux.HandleFunc("GET /auth/oidc/login", s.beginOIDC)
	mux.HandleFunc("GET "+oidc.CallbackPath, s.finishOIDC)
}

// ways are the ways to log in.
type ways struct {
	LoginWith []string `json:"loginWith"`
	// OIDCName is the label of the button for the identity provider.
	OIDCName string `json:"oidcName"`
}

func (s *Server) ways() ways {
	switch {
	case s.options.Mode == Local:
		return ways{LoginWith: []string{}}
	case s.provider == nil:
		return ways{LoginWith: []string{"token"}}
	}
	return ways{LoginWith: []string{"token", "oidc"}, OIDCName: s.provider.Name()}
}

// aboutProvider returns what users who want to log in should know about the identity provider.
func (s *Server) aboutProvider() string {
	if s.provider == nil {
		return ""
	}
	if s.provider.Problem() != nil {
		return " The identity provider does not answer: log in with a token, or retry later."
	}
	return " Or use the identity provider."
}

// beginOIDC redirects the browser to the identity provider.
func (s *Server) beginOIDC(w http.ResponseWriter, r *http.Request) {
	address, err := s.provider.Begin(w, r, r.URL.Query().Get("return"))
	if err != nil {
		s.refuseOIDC(w, err)
		return
	}
	http.Redirect(w, r, address, http.StatusSeeOther)
}

// finishOIDC starts the session of a user whom the identity provider sends back.
func (s *Server) finishOIDC(w http.ResponseWriter, r *http.Request) {
	back, err := s.logInWithProvider(w, r)
	if err != nil {
		s.refuseOIDC(w, err)
		return
	}
	http.Redirect(w, r, back, http.StatusSeeOther)
}

func (s *Server) logInWithProvider(w http.ResponseWriter, r *http.Request) (back string, err error) {
	leave, err := s.enterLogin()
	if err != nil {
		return "", err
	}
	defer leave()
	tokens, back, err := s.provider.Finish(w, r)
	if err != nil {
		return "", err
	}
	user, err := s.whoHas(r.Context(), tokens.ID)
	if errors.Is(err, errBadToken) {
		return "", s.notTrusted()
	}
	if err != nil {
		return "", attempt{what: "check the token", right: rights.Right{Verb: "create", Resource: "tokenreviews"}}.refusal(err)
	}
	s.keeper.OpenRenewed(w, user, tokens.ID, s.renewalOf(tokens))
	return back, nil
}

// notTrusted is the error for tokens that are valid, but not accepted by this API server.
func (s *Server) notTrusted() error {
	return &problem{Status: http.StatusForbidden, Message: fmt.Sprintf(
		"The identity provider accepted your login, but the API server rejects its tokens. An administrator must let it trust "+
			"them: with an AuthenticationConfiguration (--authentication-config) with the issuer URL %q and the audience %q, or by "+
			"--oidc-issuer-url=%[1]s and --oidc-client-id=%[2]s; and, if the provider has a certificate of a private authority, with that of the authority. "+
			"Its log says why it rejects a token.", s.provider.Issuer(), s.provider.Audience())}
}

// refusedPage is shown instead of one of our pages, in a browser without a session.
var refusedPage = template.Must(template.New("refused").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Login · Espalier</title></head>
<body><main><h1>You are not logged in</h1><p>{{.}}</p><p><a href="/login">Back to the login</a></p></main></body></html>
`))

func (s *Server) refuseOIDC(w http.ResponseWriter, err error) {
	status, message := http.StatusBadGateway, "The identity provider does not answer correctly. Retry later, or log in with a token."
	var known *problem
	var refused *oidc.Refusal
	switch {
	case errors.As(err, &known):
		status, message = known.Status, known.Message
	case errors.As(err, &refused):
		status, message = http.StatusForbidden, "Login failed: "+refused.Why+". Start again."
	case errors.Is(err, oidc.ErrAway):
		status = http.StatusServiceUnavailable
	}
	s.options.Log.Info("A login with the identity provider failed", "status", status, "reason", err.Error())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = refusedPage.Execute(w, message) // The client has disconnected.
}

// renewalOf returns when to fetch the next token, and with what.
func (s *Server) renewalOf(tokens oidc.Tokens) session.Renewal {
	if tokens.Refresh == "" {
		return session.Renewal{}
	}
	early := min(renewEarly, tokens.Expires.Sub(s.options.Now())/3)
	return session.Renewal{Secret: tokens.Refresh, Subject: tokens.Subject, Due: tokens.Expires.Add(-early)}
}

// renewed returns a session with a token that does not expire soon, if the provider issues another one. Otherwise the session keeps its
// token, as long as the API server accepts it.
func (s *Server) renewed(ctx context.Context, of *session.Session) (*session.Session, error) {
	current, err := s.keeper.Current(of)
	if err != nil || s.provider == nil || !current.Renewal.IsDue(s.options.Now()) {
		return current, err
	}
	_, err, _ = s.renewals.Do(of.ID, func() (any, error) { return nil, s.renew(context.WithoutCancel(ctx), of) })
	if err != nil {
		return nil, err
	}
	return s.keeper.Current(of)
}

func (s *Server) renew(ctx context.Context, of *session.Session) error {
	ctx, cancel := context.WithTimeout(ctx, renewLimit)
	defer cancel()
	current, err := s.keeper.Current(of)
	if err != nil || !current.Renewal.IsDue(s.options.Now()) {
		return err // Another request has just done it.
	}
	next, err := s.provider.Renew(ctx, oidc.Tokens{Subject: current.Renewal.Subject, Refresh: current.Renewal.Secret})
	if err == nil {
		return s.adopt(ctx, current, next)
	}
	s.options.Log.Info("The identity provider did not renew the token of a session", "user", current.User.Name, "reason", err.Error())
	current.Renewal.Due = s.options.Now().Add(renewAgain)
	if errors.As(err, new(*oidc.Refusal)) {
		current.Renewal = session.Renewal{}
	}
	s.keeper.Replace(current)
	return nil
}

// adopt switches the session to the next token. The user's identity may have changed, so the API server is asked again; if it does not
// answer, the previous groups apply until it sees the token.
func (s *Server) adopt(ctx context.Context, current *session.Session, next oidc.Tokens) error {
	user, err := s.whoHas(ctx, next.ID)
	if errors.Is(err, errBadToken) {
		s.keeper.Revoke(current)
		return session.ErrNone
	}
	if err == nil {
		current.User = user
	}
	current.Token, current.Renewal = next.ID, s.renewalOf(next)
	s.keeper.Replace(current)
	return nil
}
