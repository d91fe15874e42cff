// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package oci

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"

	"espalier.dev/internal/dial"
	"espalier.dev/internal/failure"
	"espalier.dev/internal/testkit/registry"
)

func TestPushAndRead(t *testing.T) {
	for name, options := range map[string]registry.Options{
		"plain HTTP": {}, "TLS": {TLS: true}, "a password": {Username: "me", Password: canary}, "both": {TLS: true, Username: "me", Password: canary},
	} {
		t.Run(name, func(t *testing.T) {
			server := started(t, options)
			r := open(t, newClient(t), server.URL, Credential{Username: options.Username, Password: options.Password, CA: server.CA})
			pushed := push(t, r, "team/image", "1.0.0", "content")
			for _, reference := range []string{"1.0.0", pushed.Digest.String()} {
				got, err := r.Manifest(t.Context(), "team/image", reference)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(pushed, got); diff != "" {
					t.Error(diff)
				}
			}
			if got, err := readLayer(t.Context(), r, "team/image", layerOf(t, pushed)); err != nil || got != "content" {
				t.Errorf("got %q, %v", got, err)
			}
			// The result is the same if the size is unknown.
			if got, err := readLayer(t.Context(), r, "team/image", Descriptor{Digest: layerOf(t, pushed).Digest}); err != nil || got != "content" {
				t.Errorf("got %q, %v", got, err)
			}
			if push(t, r, "team/image", "1.0.0", "content").Digest != pushed.Digest {
				t.Error("the second push made something else")
			}
		})
	}
}

func TestContentIsFetchedOnce(t *testing.T) {
	server := started(t, registry.Options{})
	client := newClient(t)
	r := open(t, client, server.URL, Credential{})
	pushed := push(t, r, "a", "1", "content")
	before := len(server.Requests())
	for range 3 {
		if _, err := r.Manifest(t.Context(), "a", pushed.Digest.String()); err != nil {
			t.Fatal(err)
		}
		if _, err := readLayer(t.Context(), r, "a", layerOf(t, pushed)); err != nil {
			t.Fatal(err)
		}
	}
	if got := len(server.Requests()) - before; got != 2 {
		t.Errorf("there were %d requests: %q", got, server.Requests()[before:])
	}
	// A tag may have moved.
	moved := push(t, r, "a", "1", "other content")
	if got, err := r.Manifest(t.Context(), "a", "1"); err != nil || got.Digest != moved.Digest {
		t.Errorf("got %v, %v", got.Digest, err)
	}
}

// Other credentials do not give access to content that is in the cache.
func TestContentIsNotSharedAmongCredentials(t *testing.T) {
	server := started(t, registry.Options{Username: "me", Password: canary})
	client := newClient(t)
	mine := open(t, client, server.URL, Credential{Username: "me", Password: canary})
	pushed := push(t, mine, "a", "1", "content")
	if _, err := readLayer(t.Context(), mine, "a", layerOf(t, pushed)); err != nil {
		t.Fatal(err)
	}
	for name, credential := range map[string]Credential{"nobody": {}, "somebody": {Username: "you", Password: canary}} {
		theirs := open(t, client, server.URL, credential)
		_, err := readLayer(t.Context(), theirs, "a", layerOf(t, pushed))
		expect(t, err, Unauthenticated, "check those for this host and path", "127.0.0.1", "/a: ")
		_, err = theirs.Manifest(t.Context(), "a", pushed.Digest.String())
		expect(t, err, Unauthenticated)
		if failure.KindOf(err) != failure.Retryable {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Another registry that claims to have the same content.
	other := started(t, registry.Options{})
	_, err := readLayer(t.Context(), open(t, client, other.URL, Credential{Username: "me", Password: canary}), "a", layerOf(t, pushed))
	expect(t, err, NotFound)
}

func TestFailures(t *testing.T) {
	for name, test := range map[string]struct {
		fault registry.Fault
		class Class
		text  string
		// most is the maximum number of requests for the blob.
		most int
	}{
		"too many requests":   {registry.Status(429), RateLimited, "too many requests", attempts},
		"failing":             {registry.Status(500), Unavailable, "fails (status 500)", attempts},
		"a gateway":           {registry.Status(502), Unavailable, "fails (status 502)", attempts},
		"a long wait":         {registry.Status(503, "Retry-After", "3000"), Unavailable, "fails (status 503)", 1},
		"forbidden":           {registry.Status(403), Forbidden, "grant it", 1},
		"not there":           {registry.Status(404), NotFound, "push it", 1},
		"odd":                 {registry.Status(418), Malformed, "status 418", 1},
		"half a blob":         {registry.Half, Unavailable, "unexpected EOF", attempts},
		"wrong bytes":         {registry.Wrong, WrongDigest, "was damaged in transit, or replaced", 1},
		"a redirect to plain": {registry.Status(307, "Location", "ftp://example.com/"+canary), Unavailable, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			server := started(t, registry.Options{})
			r := open(t, newClient(t), server.URL, Credential{Username: "me", Password: canary})
			pushed := push(t, r, "a", "1", "content")
			server.Break(registry.On("GET /v2/a/blobs", test.fault))
			_, err := readLayer(t.Context(), r, "a", layerOf(t, pushed))
			expect(t, err, test.class, test.text, "read the blob sha256:")
			if got := server.Count("GET /v2/a/blobs"); got > test.most {
				t.Errorf("there were %d requests", got)
			}
			// No trace of the failure remains.
			server.Break(nil)
			if got, err := readLayer(t.Context(), r, "a", layerOf(t, pushed)); err != nil || got != "content" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestPassingFailuresAreNotNoticed(t *testing.T) {
	server := started(t, registry.Options{})
	r := open(t, newClient(t), server.URL, Credential{})
	for name, fault := range map[string]registry.Fault{
		"too many requests": registry.Status(429, "Retry-After", "0"), "failing": registry.Status(500), "half": registry.Half,
	} {
		pushed := push(t, r, "a", "1", "content of "+name)
		server.Break(registry.On("GET /v2/a/blobs", registry.Times(attempts-1, fault)))
		if got, err := readLayer(t.Context(), r, "a", layerOf(t, pushed)); err != nil || got != "content of "+name {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		server.Break(nil)
	}
	server.Break(registry.Times(1, registry.Status(503)))
	push(t, r, "b", "1", "a push")
}

// An error contains when the registry accepts the next request, within bounds.
func TestNextAttempt(t *testing.T) {
	server := started(t, registry.Options{})
	r := open(t, newClient(t), server.URL, Credential{})
	for header, want := range map[string]time.Duration{"60": time.Minute, "999999": time.Hour} {
		server.Break(registry.Status(429, "Retry-After", header))
		before := time.Now()
		_, err := r.Manifest(t.Context(), "a", "1")
		expect(t, err, RateLimited)
		next := failure.NextAttempt(err)
		if next.Before(before.Add(want)) || next.After(time.Now().Add(want)) {
			t.Errorf("Retry-After %s: the next attempt is %s after the answer", header, next.Sub(before))
		}
	}
	server.Break(registry.Status(500))
	if _, err := r.Manifest(t.Context(), "a", "1"); !failure.NextAttempt(err).IsZero() {
		t.Errorf("got %v", failure.NextAttempt(err))
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "-5": 0, "x": 0, "7": 7 * time.Second, "Thu, 01 Jan 2026 00:00:30 GMT": 30 * time.Second, "Thu, 01 Jan 2025 00:00:30 GMT": 0,
	} {
		if got := retryAfter(header, now); got != want {
			t.Errorf("%q: got %s, want %s", header, got, want)
		}
	}
}

func TestWhatDoesNotAnswerIsGivenUp(t *testing.T) {
	server := started(t, registry.Options{})
	client := newClient(t, func(o *Options) { o.Timeout = 50 * time.Millisecond })
	r := open(t, client, server.URL, Credential{})
	gate := make(chan struct{})
	defer close(gate)
	server.Break(registry.Hold(gate))
	_, err := r.Manifest(t.Context(), "a", "1")
	expect(t, err, Unavailable, "did not answer in time")
	_, err = readLayer(t.Context(), r, "a", Descriptor{Digest: digest.FromString("x")})
	expect(t, err, Unavailable, "did not answer in time")
}

// Concurrent requests for a blob fetch it once.
func TestOneFetchForAll(t *testing.T) {
	server := started(t, registry.Options{})
	r := open(t, newClient(t), server.URL, Credential{})
	layer := layerOf(t, push(t, r, "a", "1", "content"))
	gate := make(chan struct{})
	arrived := make(chan struct{}, 1)
	hold := registry.Hold(gate)
	server.Break(func(w http.ResponseWriter, request *http.Request, next http.Handler) bool {
		arrived <- struct{}{}
		return hold(w, request, next)
	})
	var running sync.WaitGroup
	for range 10 {
		running.Go(func() {
			if got, err := readLayer(t.Context(), r, "a", layer); err != nil || got != "content" {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	<-arrived
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := readLayer(gone, r, "a", layer); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(gate)
	running.Wait()
	if got := server.Count("GET /v2/a/blobs"); got != 1 {
		t.Errorf("it was fetched %d times", got)
	}
}

// A caller that leaves does not affect the others, even if it came first.
func TestTheFirstLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f flights
		gate := make(chan struct{})
		runs := 0
		work := func(ctx context.Context) error {
			runs++
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		first, leave := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() { left <- f.do(first, "key", time.Hour, work) }()
		synctest.Wait()
		others := make(chan error, 3)
		for range cap(others) {
			go func() { others <- f.do(t.Context(), "key", time.Hour, work) }()
		}
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		synctest.Wait()
		close(gate)
		for range cap(others) {
			if err := <-others; err != nil {
				t.Errorf("got %v", err)
			}
		}
		if runs != 1 {
			t.Errorf("the work was done %d times", runs)
		}
	})
}

// A fetch ends when nobody waits for it.
func TestNobodyWaits(t *testing.T) {
	var f flights
	ctx, leave := context.WithCancel(t.Context())
	begun, ended := make(chan struct{}), make(chan struct{})
	go func() {
		<-begun
		leave()
	}()
	err := f.do(ctx, "key", time.Hour, func(own context.Context) error {
		close(begun)
		<-own.Done()
		close(ended)
		return own.Err()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	<-ended
	// A later caller starts it again.
	if err := f.do(t.Context(), "key", time.Hour, func(context.Context) error { return nil }); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestSizesAreBounded(t *testing.T) {
	server := started(t, registry.Options{})
	pushed := push(t, open(t, newClient(t), server.URL, Credential{}), "a", "1", strings.Repeat("x", 2000))
	small := newClient(t, func(o *Options) { o.Limits = Limits{Manifest: 100, Blob: 1000} })
	r := open(t, small, server.URL, Credential{})
	_, err := r.Manifest(t.Context(), "a", "1")
	expect(t, err, TooLarge, "the limit of 100")
	_, err = readLayer(t.Context(), r, "a", layerOf(t, pushed))
	expect(t, err, TooLarge, "the limit of 1000")
	_, err = readLayer(t.Context(), r, "a", Descriptor{Digest: layerOf(t, pushed).Digest})
	expect(t, err, TooLarge, "the limit of 1000")
	server.Break(registry.On("GET", func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		w.Header().Set("Content-Type", MediaTypeManifest)
		w.Header().Set("Docker-Content-Digest", pushed.Digest.String())
		for range 1000 { // without a length
			_, _ = io.WriteString(w, strings.Repeat(" ", 1000))
		}
		return true
	}))
	_, err = r.Manifest(t.Context(), "a", "1")
	expect(t, err, TooLarge)
	_, err = ReadBlob(t.Context(), open(t, newClient(t), server.URL, Credential{}), "a", BlobLimit{Descriptor: layerOf(t, pushed), Most: 10})
	expect(t, err, TooLarge, "the limit of 10")
}

func TestAddressesAndTrust(t *testing.T) {
	secure, plain := started(t, registry.Options{TLS: true}), started(t, registry.Options{})
	client := newClient(t)
	_, err := open(t, client, secure.URL, Credential{}).Manifest(t.Context(), "a", "1")
	expect(t, err, Untrusted, "certificateAuthority")
	_, err = open(t, client, plain.Host, Credential{}).Manifest(t.Context(), "a", "1")
	expect(t, err, Misconfigured, "http://")
	_, err = open(t, client, plain.URL, Credential{}).Manifest(t.Context(), "A/../b", "1")
	expect(t, err, Misconfigured, "lower-case")
	_, err = open(t, newClient(t, func(o *Options) { o.Rules = dial.Rules{} }), plain.URL, Credential{}).Manifest(t.Context(), "a", "1")
	expect(t, err, Misconfigured, "loopback addresses are not allowed")
	at, _ := ParseAddress(secure.URL)
	for _, bad := range []Credential{{CA: []byte(canary)}, {Certificate: []byte(canary)}, {PrivateKey: []byte(canary)}} {
		_, err = client.Registry(at, bad)
		expect(t, err, Misconfigured, "PEM")
	}
	// A registry with TLS must not redirect to one without.
	secure.Break(registry.Status(307, "Location", plain.URL+"/"+canary))
	_, err = open(t, client, secure.URL, Credential{CA: secure.CA}).Manifest(t.Context(), "a", "1")
	expect(t, err, Unavailable, "without TLS")
	if len(plain.Requests()) > 0 {
		t.Errorf("it was followed: %q", plain.Requests())
	}
}

// The storage behind a registry receives no credentials, and its signed URLs appear nowhere.
func TestRedirectsCarryNoCredentials(t *testing.T) {
	var seen http.Header
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen = r.Header.Clone()
		w.WriteHeader(http.StatusForbidden)
	}))
	defer storage.Close()
	server := started(t, registry.Options{Username: "me", Password: canary})
	r := open(t, newClient(t), server.URL, Credential{Username: "me", Password: canary})
	pushed := push(t, r, "a", "1", "content")
	server.Break(registry.On("GET /v2/a/blobs", registry.Status(307, "Location", storage.URL+"/x?signature="+canary)))
	_, err := readLayer(t.Context(), r, "a", layerOf(t, pushed))
	expect(t, err, Forbidden)
	if seen == nil || seen.Get("Authorization") != "" {
		t.Errorf("the storage saw %v", seen)
	}
}

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]Address{
		"ghcr.io":                          {Host: "ghcr.io"},
		"ghcr.io/a/b/":                     {Host: "ghcr.io", Path: "a/b"},
		"https://ghcr.io:443/a":            {Host: "ghcr.io:443", Path: "a"},
		"http://localhost:5000":            {Host: "localhost:5000", PlainHTTP: true},
		"oci://[::1]:5000/a":               {Host: "[::1]:5000", Path: "a"},
		"https://user:" + canary + "@host": {},
		"ftp://host":                       {},
		"":                                 {},
		"a b":                              {},
	} {
		got, err := ParseAddress(text)
		if want == (Address{}) {
			expect(t, err, Misconfigured)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s, %v", text, diff, err)
		}
	}
	at, _ := ParseAddress("http://[::1]:5000/a")
	if at.Name() != "::1" || at.Port() != "5000" || at.Scheme() != "http" {
		t.Errorf("got %s %s %s", at.Name(), at.Port(), at.Scheme())
	}
	at, _ = ParseAddress("ghcr.io")
	if at.Name() != "ghcr.io" || at.Port() != "443" || at.Scheme() != "https" {
		t.Errorf("got %s %s %s", at.Name(), at.Port(), at.Scheme())
	}
}
