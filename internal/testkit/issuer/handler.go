// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package issuer

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// lifetime of an ID token.
const lifetime = time.Hour

var encoding = base64.RawURLEncoding

func (i *Issuer) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.describe)
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if answer := i.current().Answer; answer != nil {
			answer(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (i *Issuer) current() Lies {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.lies
}

func (i *Issuer) describe(w http.ResponseWriter, _ *http.Request) {
	description := map[string]any{
		"issuer": i.URL, "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token", "jwks_uri": i.URL + "/keys",
		"response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"}, "code_challenge_methods_supported": []string{"S256"},
	}
	if change := i.current().Description; change != nil {
		change(description)
	}
	write(w, http.StatusOK, description)
}

func (i *Issuer) keys(w http.ResponseWriter, _ *http.Request) {
	public := i.key.PublicKey
	write(w, http.StatusOK, map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "1",
		"n": encoding.EncodeToString(public.N.Bytes()), "e": encoding.EncodeToString(big.NewInt(int64(public.E)).Bytes()),
	}}})
}

// authorize handles browsers. Every visitor is logged in already, and grants everything.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	back, err := url.Parse(asked.Get("redirect_uri"))
	if err != nil || back.Scheme != "https" || back.Path != "/auth/oidc/callback" || asked.Get("client_id") != ClientID {
		http.Error(w, "this client may not lead people there", http.StatusBadRequest)
		return
	}
	answer := url.Values{"state": {asked.Get("state")}}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	switch {
	case i.lies.Denies != "":
		answer.Set("error", i.lies.Denies)
	case !complete(asked):
		answer.Set("error", "invalid_request")
	default:
		code := i.secret("code")
		answer.Set("code", code)
		i.codes[code] = grant{
			person: i.person, challenge: asked.Get("code_challenge"), nonce: asked.Get("nonce"), leadsBack: asked.Get("redirect_uri"),
		}
	}
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusSeeOther)
}

// complete reports whether a request has all required protection.
func complete(asked url.Values) bool {
	return asked.Get("response_type") == "code" && slices.Contains(strings.Fields(asked.Get("scope")), "openid") &&
		asked.Get("code_challenge_method") == "S256" && asked.Get("code_challenge") != "" && asked.Get("nonce") != "" && asked.Get("state") != ""
}

// token issues tokens for a code or a refresh token, each of which is valid once.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	if id != ClientID || secret != ClientSecret {
		write(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	}
	i.mutex.Lock()
	defer i.mutex.Unlock()
	g, found := i.take(r)
	if !found {
		write(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	token, err := i.idToken(g)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	next := i.secret("refresh")
	i.renewals[next] = grant{person: g.person}
	write(w, http.StatusOK, map[string]any{
		"access_token": i.secret("access"), "token_type": "Bearer", "expires_in": int(lifetime.Seconds()),
		"id_token": token, "refresh_token": next,
	})
}

// take is called with the lock held.
func (i *Issuer) take(r *http.Request) (grant, bool) {
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		code := r.PostFormValue("code")
		g, found := i.codes[code]
		delete(i.codes, code)
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		return g, found && encoding.EncodeToString(sum[:]) == g.challenge && r.PostFormValue("redirect_uri") == g.leadsBack
	case "refresh_token":
		secret := r.PostFormValue("refresh_token")
		g, found := i.renewals[secret]
		delete(i.renewals, secret)
		i.renewed++
		return g, found && !i.lies.Forgets
	}
	return grant{}, false
}

// secret is called with the lock held.
func (i *Issuer) secret(kind string) string {
	text := kind + "-" + rand.Text()
	i.secrets = append(i.secrets, text)
	return text
}

// idToken is called with the lock held.
func (i *Issuer) idToken(g grant) (string, error) {
	claims := map[string]any{"iss": i.URL, "aud": ClientID, "iat": i.now().Unix(), "exp": i.now().Add(lifetime).Unix(), "jti": rand.Text()}
	if g.nonce != "" {
		claims["nonce"] = g.nonce
	}
	maps.Copy(claims, g.person)
	if i.lies.Claims != nil {
		i.lies.Claims(claims)
	}
	body, err := json.Marshal(claims)
	if err != nil {
		return "", fmt.Errorf("write an ID token: %w", err)
	}
	text := encoding.EncodeToString([]byte(`{"alg":"RS256","kid":"1"}`)) + "." + encoding.EncodeToString(body)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", fmt.Errorf("sign an ID token: %w", err)
	}
	token := text + "." + encoding.EncodeToString(signature)
	i.secrets = append(i.secrets, token)
	if i.lies.Token != nil {
		token = i.lies.Token(token)
	}
	return token, nil
}

func write(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // The client has gone.
}
