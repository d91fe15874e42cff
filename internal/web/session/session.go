// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package session knows who uses the web UI. A session is a signed cookie; tokens that somebody has logged in with stay in the memory of
// this process. In local mode nobody logs in: a code that is good once opens a session.
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

// keySize is that of the keys that sign cookies.
const keySize = 32

// ErrNone is for requests without a session that counts.
var ErrNone = errors.New("you are not logged in, or your session has ended")

// Session is somebody who uses the web UI.
type Session struct {
	ID      string
	User    rights.User
	Expires time.Time
	// Token is what the user has logged in with; empty if there was none.
	Token string
	// Renewal replaces the token before it expires; the zero value if nothing does.
	Renewal Renewal
}

// Renewal is how the token of a session is replaced. It stays in memory, as the token does.
type Renewal struct {
	// Secret is what the next token is given for.
	Secret string
	// Subject is who the token is about.
	Subject string
	// Due is when to ask for the next one.
	Due time.Time
}

// IsDue reports whether it is time for the next token.
func (r Renewal) IsDue(now time.Time) bool { return r.Secret != "" && !now.Before(r.Due) }

// claims are what a cookie says.
type claims struct {
	ID      string      `json:"id"`
	User    rights.User `json:"user"`
	Expires time.Time   `json:"expires"`
	// HasToken says that the session is of no use without the token in memory.
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

// held is a token. The user is who the API server took him for when it last saw the token.
type held struct {
	user    rights.User
	token   string
	renewal Renewal
	expires time.Time
}

// Options of a Keeper.
type Options struct {
	// Key signs cookies. Without one a random key is used, and sessions end with the process.
	Key []byte
	// Secure is for servers that are reached by https.
	Secure bool
	Now    func() time.Time
}

// NewKeeper returns one without sessions.
func NewKeeper(options Options) *Keeper {
	key := options.Key
	if len(key) == 0 {
		key = make([]byte, keySize)
		_, _ = rand.Read(key) // It never fails.
	}
	// The name is different for each key: browsers send cookies of one port of a machine to all its ports.
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

// TakeCode reports whether a code is good, and uses it up.
func (k *Keeper) TakeCode(code string) bool {
	sum := sha256.Sum256([]byte(code))
	k.mutex.Lock()
	defer k.mutex.Unlock()
	good := k.codes[sum]
	delete(k.codes, sum)
	return good
}

// Open begins a session and gives its cookie to the browser.
func (k *Keeper) Open(w http.ResponseWriter, user rights.User, token string) *Session {
	return k.OpenRenewed(w, user, token, Renewal{})
}

// OpenRenewed begins a session whose token will be replaced.
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

// Replace stores user, token and renewal of a session as they are in it. One that has ended meanwhile stays so.
func (k *Keeper) Replace(s *Session) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if _, exists := k.tokens[s.ID]; exists {
		k.tokens[s.ID] = held{user: s.User, token: s.Token, renewal: s.Renewal, expires: s.Expires}
	}
}

// Current returns a session that was found before as it is now, or ErrNone.
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

// Revoke ends a session that the browser may still believe in.
func (k *Keeper) Revoke(s *Session) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.forgetOld()
	delete(k.tokens, s.ID)
	k.ended[s.ID] = s.Expires
}

// forgetOld is called with the lock held.
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

// Valid reports whether a session that was found before still counts.
func (k *Keeper) Valid(s *Session) bool {
	_, err := k.Current(s)
	return err == nil
}

var encoding = base64.RawURLEncoding

func (k *Keeper) sign(c claims) string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // Strings and times can be written.
	}
	return encoding.EncodeToString(text) + "." + encoding.EncodeToString(k.seal(text))
}

func (k *Keeper) seal(text []byte) []byte {
	mac := hmac.New(sha256.New, k.key)
	_, _ = mac.Write(text) // A hash takes everything.
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
