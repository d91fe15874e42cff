// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

//go:build externals

package web

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"espalier.dev/internal/testkit"
	"espalier.dev/internal/testkit/externals"
	"espalier.dev/internal/testkit/issuer"
	"espalier.dev/internal/web/oidc"
	"espalier.dev/internal/web/session"
)

// Login, renewal and logout with a third-party provider and an API server that trusts it.
func TestLoginWithDex(t *testing.T) {
	h := &providerFixture{clock: newClock()}
	listener := anywhere(t)
	dex := externals.Dex(t, externals.DexClient{
		ID: issuer.ClientID, Name: "Espalier", Secret: issuer.ClientSecret,
		RedirectURIs: []string{"https://" + listener.Addr().String() + oidc.CallbackPath},
	})
	h.cluster = testkit.NewServer(t, testkit.ProjectCRDs(), testkit.Authentication(issuer.Trust(t, dex.URL, dex.CA)))
	options := &oidc.Options{
		Issuer: dex.URL, ClientID: issuer.ClientID, ClientSecret: issuer.ClientSecret, CA: dex.CA,
		Scopes: []string{"openid", "email", "groups", "offline_access"},
	}
	var tokens []string
	p := h.openAt(t, listener, options, func() []string { return tokens })
	var b *surfer
	for { // The API server fetches the keys of the provider in the background.
		b = p.surfer(t)
		last := b.begin("/pipelines/a/b")
		for last.StatusCode == http.StatusSeeOther || last.StatusCode == http.StatusFound {
			if last.Header.Get("Location") == "/pipelines/a/b" {
				break
			}
			next, err := last.Request.URL.Parse(last.Header.Get("Location"))
			if err != nil {
				t.Fatal(err)
			}
			last = b.get(next.String())
		}
		if last.StatusCode == http.StatusSeeOther {
			break
		}
		if !strings.Contains(last.text, "--authentication-config") {
			t.Fatalf("%s %s", last.Status, last.text)
		}
	}
	var who me
	b.get("/api/v1/me").into(t, &who)
	if who.User != "oidc:"+externals.DexUser || !slices.Contains(who.Groups, "oidc:"+externals.DexGroup) {
		t.Errorf("%+v", who)
	}
	first := b.session()
	h.clock.advance(first.Renewal.Due.Sub(h.clock.now()))
	if !b.isIn() {
		t.Fatal("the session has ended with its token")
	}
	second := b.session()
	tokens = []string{first.Token, first.Renewal.Secret, second.Token, second.Renewal.Secret}
	if second.Token == first.Token || second.Renewal.Secret == "" {
		t.Error("the token was not renewed")
	}
	for _, token := range tokens {
		if strings.Contains(b.seen.String(), token) {
			t.Error("the browser has seen a token")
		}
	}
	if b.post("/api/v1/logout", struct{}{}); b.isIn() {
		t.Error("the session goes on after the logout")
	}
}

// session returns the server's session of this browser.
func (b *surfer) session() *session.Session {
	b.t.Helper()
	home, err := url.Parse(b.at.url)
	if err != nil {
		b.t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodGet, b.at.url, nil)
	for _, cookie := range b.client.Jar.Cookies(home) {
		request.AddCookie(cookie)
	}
	found, err := b.at.keeper.Of(request)
	if err != nil {
		b.t.Fatal(err)
	}
	return found
}
