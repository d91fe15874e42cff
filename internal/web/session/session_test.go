// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"espalier.dev/internal/web/rights"
	"espalier.dev/internal/web/session"
)

const token = "a-secret-token"

// browser keeps the cookies that it receives.
type browser struct{ cookies []*http.Cookie }

func (b *browser) request() *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	for _, cookie := range b.cookies {
		r.AddCookie(cookie)
	}
	return r
}

// login opens a session in a new browser.
func login(t *testing.T, k *session.Keeper, token string) (*session.Session, *browser) {
	t.Helper()
	answer := httptest.NewRecorder()
	s := k.Open(answer, rights.User{Name: "jo"}, token)
	return s, &browser{cookies: answer.Result().Cookies()}
}

func TestASessionIsFoundAgain(t *testing.T) {
	k := session.NewKeeper(session.Options{Secure: true, Now: time.Now})
	_, b := login(t, k, token)
	found, err := k.Of(b.request())
	if err != nil || found.User.Name != "jo" || found.Token != token {
		t.Fatalf("found %+v, %v", found, err)
	}
	cookie := b.cookies[0]
	if strings.Contains(cookie.Value, token) || !cookie.HttpOnly || !cookie.Secure || cookie.SameSite != http.SameSiteStrictMode ||
		!strings.HasPrefix(cookie.Name, "__Host-") {
		t.Errorf("the cookie is %+v", cookie)
	}
}

// No manipulated cookie opens a session.
func TestCookiesThatDoNotCount(t *testing.T) {
	for name, spoil := range map[string]func(*session.Keeper, *session.Session, *browser){
		"none":            func(_ *session.Keeper, _ *session.Session, b *browser) { b.cookies = nil },
		"of another name": func(_ *session.Keeper, _ *session.Session, b *browser) { b.cookies[0].Name = "x" },
		"no signature": func(_ *session.Keeper, _ *session.Session, b *browser) {
			b.cookies[0].Value, _, _ = strings.Cut(b.cookies[0].Value, ".")
		},
		"another text": func(_ *session.Keeper, _ *session.Session, b *browser) {
			b.cookies[0].Value = "e30" + b.cookies[0].Value[3:]
		},
		"of another server": func(_ *session.Keeper, _ *session.Session, b *browser) {
			_, foreign := login(t, session.NewKeeper(session.Options{Now: time.Now}), "")
			b.cookies[0].Value = foreign.cookies[0].Value
		},
		"logged out": func(k *session.Keeper, s *session.Session, _ *browser) { k.End(httptest.NewRecorder(), s) },
		"revoked":    func(k *session.Keeper, s *session.Session, _ *browser) { k.Revoke(s) },
	} {
		k := session.NewKeeper(session.Options{Now: time.Now})
		s, b := login(t, k, token)
		spoil(k, s, b)
		if found, err := k.Of(b.request()); err == nil {
			t.Errorf("%s: found %+v", name, found)
		}
	}
}

func TestASessionEndsInTime(t *testing.T) {
	now := time.Now()
	k := session.NewKeeper(session.Options{Now: func() time.Time { return now }})
	s, b := login(t, k, token)
	now = now.Add(session.Lifetime - time.Second)
	if _, err := k.Of(b.request()); err != nil || !k.Valid(s) {
		t.Errorf("a second before: %v", err)
	}
	now = now.Add(time.Second)
	if _, err := k.Of(b.request()); err == nil || k.Valid(s) {
		t.Error("it goes on for ever")
	}
}

// After a restart with the same key, a session without a token continues, and one with a token does not: the token was in memory only.
func TestARestartForgetsTokens(t *testing.T) {
	options := session.Options{Key: []byte("01234567890123456789012345678901"), Now: time.Now}
	before := session.NewKeeper(options)
	_, with := login(t, before, token)
	_, without := login(t, before, "")
	after := session.NewKeeper(options)
	if found, err := after.Of(with.request()); err == nil {
		t.Errorf("with a token: %+v", found)
	}
	if _, err := after.Of(without.request()); err != nil {
		t.Errorf("without: %v", err)
	}
}

func TestACodeIsGoodOnce(t *testing.T) {
	k := session.NewKeeper(session.Options{Now: time.Now})
	code := k.NewCode()
	if k.TakeCode("") || k.TakeCode(code+"x") || !k.TakeCode(code) || k.TakeCode(code) {
		t.Error("a code must be good once, and no other one")
	}
}

// A replaced token applies at once, even to session values read before; a session that has ended is not reopened.
func TestATokenIsReplaced(t *testing.T) {
	now := time.Now()
	k := session.NewKeeper(session.Options{Now: func() time.Time { return now }})
	answer := httptest.NewRecorder()
	before := k.OpenRenewed(answer, rights.User{Name: "jo"}, token, session.Renewal{Secret: "first", Subject: "1", Due: now.Add(time.Minute)})
	b := &browser{cookies: answer.Result().Cookies()}
	if strings.Contains(b.cookies[0].String(), "first") {
		t.Errorf("the cookie has what renews the token: %s", b.cookies[0])
	}
	if before.Renewal.IsDue(now) || !before.Renewal.IsDue(now.Add(time.Minute)) || (session.Renewal{}).IsDue(now) {
		t.Error("the renewal is due at another time")
	}
	next := *before
	next.User, next.Token, next.Renewal = rights.User{Name: "jo", Groups: []string{"new"}}, "another", session.Renewal{Secret: "second"}
	k.Replace(&next)
	found, err := k.Of(b.request())
	if err != nil || found.Token != "another" || found.Renewal.Secret != "second" || len(found.User.Groups) != 1 {
		t.Errorf("found %+v, %v", found, err)
	}
	if current, err := k.Current(before); err != nil || current.Token != "another" {
		t.Errorf("the session from before is %+v, %v", current, err)
	}
	k.Revoke(before)
	k.Replace(&next)
	if found, err := k.Of(b.request()); err == nil {
		t.Errorf("a session that was ended is back: %+v", found)
	}
}
