// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package session knows who uses the web UI. A session is a signed cookie; login tokens stay in the memory of this process. In local mode
// there is no login: a one-time code opens a session.
package session

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"espalier.dev/internal/web/rights"
)

// Lifetime is how long a session lasts.
const Lifetime = 12 * time.Hour

// keySize is the size of the keys that sign cookies.
const keySize = 32

// ErrNone is returned for requests without a valid session.
var ErrNone = errors.New("you are not logged in, or your session has ended")

// Session is a user of the web UI.
type Session struct {
	ID      string
	User    rights.User
	Expires time.Time
	// Token is the token that the user logged in with; empty if there was none.
	Token string
	// Renewal replaces the token before it expires; zero if nothing does.
	Renewal Renewal
}

// Renewal says how to replace the token of a session. Like the token, it stays in memory.
type Renewal struct {
	// Secret is exchanged for the next token.
	Secret string
	// Subject identifies the user of the token.
	Subject string
	// Due is when to fetch the next one.
	Due time.Time
}

// IsDue reports whether it is time for the next token.
func (r Renewal) IsDue(now time.Time) bool { return r.Secret != "" && !now.Before(r.Due) }

// claims are the contents of a cookie.
type claims struct {
	ID      string      `json:"id"`
	User    rights.User `json:"user"`
	Expires time.Time   `json:"expires"`
	// HasToken marks a session that is useless without the token in memory.
	HasToken bool `json:"hasToken,omitempty"`
}

// Keeper opens, finds and ends sessions.
type Keeper struct {
	key    []byte
	secure bool
	name   string
	now    func() time.Time

	mutex  sync.Mutex
	codes  map[[sha256.Size]byte]bool
	tokens map[string]held
	ended  map[string]time.Time
}

// held is a token. The user is what the API server returned when it last saw the token.
type held struct {
	user    rights.User
	token   string
	renewal Renewal
	expires time.Time
}

// Options of a Keeper.
type Options struct {
	// Key signs cookies. Without one, a random key is used, and sessions end with the process.
	Key []byte
	// Secure is set for servers that are reached by HTTPS.
	Secure bool
	Now    func() time.Time
}

// NewKeeper returns a Keeper without sessions.
func NewKeeper(options Options) *Keeper {
	key := options.Key
	if len(key) == 0 {
		key = make([]byte, keySize)
		_, _ = rand.Read(key) // It never fails.
	}
	// The name depends on the key: browsers send cookies of one port of a machine to all its ports.
	id := sha256.Sum256(append([]byte("name of the cookie "), key...))
	name := "espalier-" + hex.EncodeToString(id[:4])
	if options.Secure {
		name = "__Host-" + name
	}
	return &Keeper{
		key: key, secure: options.Secure, name: name, now: options.Now,
		codes: map[[sha256.Size]byte]bool{}, tokens: map[string]held{}, ended: map[string]time.Time{},
	}
}

// NewCode returns a code that opens one session.
func (k *Keeper) NewCode() string {
	code := rand.Text()
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.codes[sha256.Sum256([]byte(code))] = true
	return code
}

// TakeCode reports whether a code is valid, and consumes it.
func (k *Keeper) TakeCode(code string) bool {
	sum := sha256.Sum256([]byte(code))
	k.mutex.Lock()
	defer k.mutex.Unlock()
	good := k.codes[sum]
	delete(k.codes, sum)
	return good
}

// Open starts a session and sets its cookie in the browser.
func (k *Keeper) Open(w http.ResponseWriter, user rights.User, token string) *Session {
	return k.OpenRenewed(w, user, token, Renewal{})
}

// OpenRenewed starts a session whose token will be replaced.
func (k *Keeper) OpenRenewed(w http.ResponseWriter, user rights.User, token string, renewal Renewal) *Session {
	s := &Session{ID: rand.Text(), User: user, Token: token, Renewal: renewal, Expires: k.now().Add(Lifetime)}
	if token != "" {
		k.mutex.Lock()
		k.forgetOld()
		k.tokens[s.ID] = held{user: user, token: token, renewal: renewal, expires: s.Expires}
		k.mutex.Unlock()
	}
	http.SetCookie(w, k.cookie(k.sign(claims{ID: s.ID, User: user, Expires: s.Expires, HasToken: token != ""}), int(Lifetime.Seconds())))
	return s
}

// Replace stores user, token and renewal of a session. It does not reopen a session that has ended meanwhile.
func (k *Keeper) Replace(s *Session) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if _, exists := k.tokens[s.ID]; exists {
		k.tokens[s.ID] = held{user: s.User, token: s.Token, renewal: s.Renewal, expires: s.Expires}
	}
}

// Current returns the current state of a session that was found before, or ErrNone.
func (k *Keeper) Current(s *Session) (*Session, error) {
	return k.find(claims{ID: s.ID, User: s.User, Expires: s.Expires, HasToken: s.Token != ""})
}

func (k *Keeper) cookie(value string, maxAge int) *http.Cookie {
	return &http.Cookie{
		Name: k.name, Value: value, Path: "/", MaxAge: maxAge, HttpOnly: true, Secure: k.secure, SameSite: http.SameSiteStrictMode,
	}
}

// End ends a session, here and in the browser.
func (k *Keeper) End(w http.ResponseWriter, s *Session) {
	http.SetCookie(w, k.cookie("", -1))
	k.Revoke(s)
}

// Revoke ends a session whose cookie the browser may still have.
func (k *Keeper) Revoke(s *Session) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.forgetOld()
	delete(k.tokens, s.ID)
	k.ended[s.ID] = s.Expires
}

// forgetOld must be called with the lock held.
func (k *Keeper) forgetOld() {
	now := k.now()
	for id, token := range k.tokens {
		if now.After(token.expires) {
			delete(k.tokens, id)
		}
	}
	for id, expires := range k.ended {
		if now.After(expires) {
			delete(k.ended, id)
		}
	}
}

// Of returns the session of a request, or ErrNone.
func (k *Keeper) Of(r *http.Request) (*Session, error) {
	for _, cookie := range r.CookiesNamed(k.name) {
		if c, ok := k.verify(cookie.Value); ok {
			return k.find(c)
		}
	}
	return nil, ErrNone
}

func (k *Keeper) find(c claims) (*Session, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	_, ended := k.ended[c.ID]
	token, hasToken := k.tokens[c.ID]
	if ended || !k.now().Before(c.Expires) || c.HasToken != hasToken {
		return nil, ErrNone
	}
	s := &Session{ID: c.ID, User: c.User, Expires: c.Expires}
	if hasToken {
		s.User, s.Token, s.Renewal = token.user, token.token, token.renewal
	}
	return s, nil
}

// Valid reports whether a session that was found before is still valid.
func (k *Keeper) Valid(s *Session) bool {
	_, err := k.Current(s)
	return err == nil
}

var encoding = base64.RawURLEncoding

func (k *Keeper) sign(c claims) string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // Strings and times can always be encoded.
	}
	return encoding.EncodeToString(text) + "." + encoding.EncodeToString(k.seal(text))
}

func (k *Keeper) seal(text []byte) []byte {
	mac := hmac.New(sha256.New, k.key)
	_, _ = mac.Write(text) // Writing to a hash never fails.
	return mac.Sum(nil)
}

func (k *Keeper) verify(value string) (c claims, ok bool) {
	body, signature, found := strings.Cut(value, ".")
	text, err := encoding.DecodeString(body)
	seal, errSeal := encoding.DecodeString(signature)
	if !found || err != nil || errSeal != nil || !hmac.Equal(seal, k.seal(text)) {
		return c, false
	}
	return c, json.Unmarshal(text, &c) == nil
}
