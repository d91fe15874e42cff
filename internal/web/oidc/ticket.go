// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oidc

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

const (
	// cookieName is the name of the cookie of a pending login. Browsers accept it only by HTTPS, and for this host alone.
	cookieName = "__Host-espalier-login"
	// patience is how long a user may take at the provider.
	patience = 10 * time.Minute
)

// ticket is a pending login, in the cookie of the browser that started it.
type ticket struct {
	Number  string    `json:"number"`
	Return  string    `json:"return"`
	Expires time.Time `json:"expires"`
}

var encoding = base64.RawURLEncoding

func seal(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(text)) // Writing to a hash never fails.
	return mac.Sum(nil)
}

// secret derives the value that stands for a login in one place, and reveals nothing about the values in other places.
func (p *Provider) secret(t ticket, place string) string {
	return encoding.EncodeToString(seal(p.key, place+" "+t.Number))
}

func (p *Provider) state(t ticket) string    { return p.secret(t, "state") }
func (p *Provider) nonce(t ticket) string    { return p.secret(t, "nonce") }
func (p *Provider) verifier(t ticket) string { return p.secret(t, "verifier") }

// issue sets the cookie of a new login.
func (p *Provider) issue(w http.ResponseWriter, back string) ticket {
	t := ticket{Number: rand.Text(), Return: back, Expires: p.options.Now().Add(patience)}
	text, err := json.Marshal(t)
	if err != nil {
		panic(err) // Strings and times can always be encoded.
	}
	body := encoding.EncodeToString(text)
	http.SetCookie(w, cookie(body+"."+encoding.EncodeToString(seal(p.key, "cookie "+body)), int(patience.Seconds())))
	return t
}

// cookie must be sent when the provider redirects the browser back, so it cannot be strict like that of a session.
func cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode,
	}
}

// take returns the login with which a browser comes back, if it matches the state, and ends it: each comes back once.
func (p *Provider) take(w http.ResponseWriter, r *http.Request, state string) (ticket, bool) {
	for _, sent := range r.CookiesNamed(cookieName) {
		t, ok := p.read(sent.Value)
		if ok && hmac.Equal([]byte(state), []byte(p.state(t))) && p.end(t) {
			http.SetCookie(w, cookie("", -1))
			return t, true
		}
	}
	return ticket{}, false
}

func (p *Provider) read(value string) (t ticket, ok bool) {
	body, signature, _ := strings.Cut(value, ".")
	given, err := encoding.DecodeString(signature)
	if err != nil || !hmac.Equal(given, seal(p.key, "cookie "+body)) {
		return t, false
	}
	text, err := encoding.DecodeString(body)
	return t, err == nil && json.Unmarshal(text, &t) == nil && p.options.Now().Before(t.Expires)
}

// end reports whether a login had not ended before, and ends it.
func (p *Provider) end(t ticket) bool {
	now := p.options.Now()
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for number, expires := range p.ended {
		if now.After(expires) {
			delete(p.ended, number)
		}
	}
	_, before := p.ended[t.Number]
	p.ended[t.Number] = t.Expires
	return !before
}
