// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oidc_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"espalier.dev/internal/testkit/issuer"
	"espalier.dev/internal/web/oidc"
)

func TestOwnPages(t *testing.T) {
	for given, want := range map[string]string{
		"/": "/", "/installations/a/b": "/installations/a/b", "/a?b=c&d=%2F": "/a?b=c&d=%2F", "/a#b": "/a#b", "/a/../b/": "/b",
		"/authors": "/authors", "///evil.example": "/evil.example", "/%2F/evil.example": "/evil.example",
		"": "/", "a": "/", "https://evil.example/a": "/", "//evil.example": "/", `/\evil.example`: "/", `\\evil.example`: "/",
		"/\t/evil.example": "/", "/\n/evil.example": "/", "/%5Cevil.example": "/", "/%0d%0aSet-Cookie:a=b": "/", "javascript:alert(1)": "/",
		"https:evil.example": "/", "/%zz": "/", "/api/v1/logout": "/", "/auth/oidc/login": "/", "/login?next=/a": "/", "/open?code=x": "/",
		"/a/../api/v1/me": "/", "/" + strings.Repeat("a", 2000): "/",
	} {
		if got := oidc.OwnPage(given); got != want {
			t.Errorf("%q becomes %q, want %q", given, got, want)
		}
	}
}

// FuzzOwnPage searches for links that lead a browser away.
func FuzzOwnPage(f *testing.F) {
	for _, seed := range []string{"/a", "//b", `/\b`, "/%2f%2fb", "/..//b", "https://b", "/\t/b", "/a?b#c"} {
		f.Add(seed)
	}
	base := &url.URL{Scheme: "https", Host: "ui.example", Path: "/auth/oidc/callback"}
	f.Fuzz(func(t *testing.T, text string) {
		got := oidc.OwnPage(text)
		there, err := base.Parse(got)
		if err != nil || there.Host != base.Host || there.Scheme != "https" || !strings.HasPrefix(got, "/") ||
			strings.HasPrefix(got, "//") || strings.ContainsAny(got, "\\\t\r\n ") {
			t.Errorf("%q leads to %q", text, got)
		}
		if oidc.OwnPage(got) != got {
			t.Errorf("%q becomes %q and then %q", text, got, oidc.OwnPage(got))
		}
	})
}

// diary returns a log of the discovery of a provider.
func diary() (logr.Logger, chan string) {
	told := make(chan string, 100)
	return logr.New(sink{told: told}), told
}

type sink struct {
	logr.LogSink
	told chan string
}

func (s sink) Init(logr.RuntimeInfo)                {}
func (s sink) Enabled(int) bool                     { return true }
func (s sink) Info(_ int, message string, _ ...any) { s.told <- message }
func (s sink) Error(err error, _ string, _ ...any)  { s.told <- err.Error() }
func (s sink) WithValues(...any) logr.LogSink       { return s }
func (s sink) WithName(string) logr.LogSink         { return s }

// A provider with invalid metadata is not used, and the log says why.
func TestDescriptionsThatAreNotUsed(t *testing.T) {
	says := func(name string, value any) issuer.Lies {
		return issuer.Lies{Description: func(description map[string]any) { description[name] = value }}
	}
	answers := func(answer http.HandlerFunc) issuer.Lies { return issuer.Lies{Answer: answer} }
	for name, c := range map[string]struct {
		lies issuer.Lies
		why  string
	}{
		"another issuer":     {says("issuer", "https://another.example"), "another.example"},
		"open authorization": {says("authorization_endpoint", "http://login.example/a"), "authorization_endpoint"},
		"open tokens":        {says("token_endpoint", "http://login.example/t"), "token_endpoint"},
		"open keys":          {says("jwks_uri", "http://login.example/k"), "jwks_uri"},
		"no tokens":          {says("token_endpoint", ""), "token_endpoint"},
		"a redirect":         {answers(http.RedirectHandler("https://another.example", http.StatusFound).ServeHTTP), "302"},
		"an error":           {answers(http.NotFound), "404"},
		"a flood": {answers(func(w http.ResponseWriter, _ *http.Request) {
			for range 2 << 10 {
				if _, err := w.Write(make([]byte, 1<<10)); err != nil {
					return
				}
			}
		}), "has more than 1048576 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			of := issuer.New(t, time.Now, map[string]any{"sub": "1"})
			of.Lie(c.lies)
			log, told := diary()
			p := provider(t, of, log)
			run(t, p)
			if said := <-told; !strings.Contains(said, c.why) {
				t.Errorf("the log says %q, want %q", said, c.why)
			}
			if _, err := p.Begin(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/auth/oidc/login", nil), "/"); !errors.Is(err, oidc.ErrAway) ||
				p.Problem() == nil {
				t.Errorf("it is used: %v", err)
			}
			of.Lie(issuer.Lies{})
			for said := ""; said != "The identity provider has answered"; said = <-told { // It is asked again.
			}
			if err := p.Problem(); err != nil {
				t.Error(err)
			}
		})
	}
}

func provider(t *testing.T, of *issuer.Issuer, log logr.Logger) *oidc.Provider {
	t.Helper()
	p, err := oidc.New(oidc.Options{Issuer: of.URL, ClientID: issuer.ClientID, ClientSecret: issuer.ClientSecret, CA: of.CA, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func run(t *testing.T, p *oidc.Provider) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); p.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
}

// Certificates of an unknown authority are not trusted, and forbidden addresses are not dialled, wherever they come from.
func TestConnectionsThatAreNotMade(t *testing.T) {
	of := issuer.New(t, time.Now, map[string]any{"sub": "1"})
	for name, c := range map[string]struct {
		options oidc.Options
		why     string
	}{
		"an unknown authority": {oidc.Options{Issuer: of.URL, ClientID: "ui"}, "certificate"},
		"metadata":             {oidc.Options{Issuer: "https://169.254.169.254", ClientID: "ui"}, "metadata services of clouds are never allowed"},
	} {
		log, told := diary()
		c.options.Log = log
		p, err := oidc.New(c.options)
		if err != nil {
			t.Fatal(err)
		}
		run(t, p)
		if said := <-told; !strings.Contains(said, c.why) {
			t.Errorf("%s: the log says %q", name, said)
		}
	}
}

// The client authenticates as the provider supports it, and sends a code once.
func TestHowTheClientProvesItself(t *testing.T) {
	for name, c := range map[string]struct {
		methods []string
		basic   bool
	}{"unsaid": {nil, true}, "basic": {[]string{"client_secret_post", "client_secret_basic"}, true}, "post": {[]string{"client_secret_post"}, false}} {
		t.Run(name, func(t *testing.T) {
			of := issuer.New(t, time.Now, map[string]any{"sub": "1"})
			of.Lie(issuer.Lies{Description: func(description map[string]any) {
				if c.methods != nil {
					description["token_endpoint_auth_methods_supported"] = c.methods
				}
			}})
			log, told := diary()
			p := provider(t, of, log)
			run(t, p)
			if said := <-told; said != "The identity provider has answered" {
				t.Fatal(said)
			}
			asked := make(chan bool, 10)
			of.Lie(issuer.Lies{Answer: func(w http.ResponseWriter, r *http.Request) {
				_, secret, basic := r.BasicAuth()
				asked <- basic && secret == issuer.ClientSecret
				if !basic && r.PostFormValue("client_secret") != issuer.ClientSecret {
					t.Error("the client does not say who it is")
				}
				http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			}})
			_, err := p.Renew(t.Context(), oidc.Tokens{Refresh: "x"})
			if basic := <-asked; !errors.As(err, new(*oidc.Refusal)) || basic != c.basic || len(asked) != 0 {
				t.Errorf("basic %t, %d more requests, %v", basic, len(asked), err)
			}
		})
	}
}
