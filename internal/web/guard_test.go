// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-logr/logr"

	"espalier.dev/internal/testkit"
)

func TestEveryAnswerHasTheHeaders(t *testing.T) {
	v := serve(t, testkit.Server(t), Options{}).local(t)
	for path, status := range map[string]int{
		"/": http.StatusOK, "/installations/a/b": http.StatusOK, "/healthz": http.StatusOK, "/api/v1/me": http.StatusOK,
		"/api/v1/nothing": http.StatusNotFound, "/assets/nothing.js": http.StatusNotFound, "/open?code=wrong": http.StatusSeeOther,
	} {
		answer := v.get(path)
		if answer.StatusCode != status {
			t.Errorf("%s answers %s", path, answer.Status)
		}
		for name, value := range headers {
			if got := answer.Header.Get(name); got != value {
				t.Errorf("%s has %s %q", path, name, got)
			}
		}
	}
}

func TestPagesCanOnlyBeRead(t *testing.T) {
	v := serve(t, testkit.Server(t), Options{}).local(t)
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		if answer := v.do(v.request(method, "/", nil)); answer.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s answers %s", method, answer.Status)
		}
	}
}

func TestPages(t *testing.T) {
	v := serve(t, testkit.Server(t), Options{Pages: fstest.MapFS{
		"index.html":          {Data: []byte("<!doctype html>")},
		"assets/app-1.js":     {Data: []byte("let a")},
		"assets/app-1.js.gz":  {Data: []byte("small")},
		"assets/style-1.css":  {Data: []byte("a{}")},
		"assets/deep/nothing": {Data: []byte("x")},
	}}).local(t)
	plain, zipped := v.request(http.MethodGet, "/assets/app-1.js", nil), v.request(http.MethodGet, "/assets/app-1.js", nil)
	plain.Header.Set("Accept-Encoding", "identity")
	zipped.Header.Set("Accept-Encoding", "br, gzip")
	for name, test := range map[string]struct {
		answer              answered
		text, kind, storage string
	}{
		"start":     {v.get("/"), "<!doctype html>", "text/html; charset=utf-8", "no-store"},
		"a page":    {v.get("/pipelines/a/b"), "<!doctype html>", "text/html; charset=utf-8", "no-store"},
		"a way out": {v.get("/..%2f..%2fetc/passwd"), "<!doctype html>", "text/html; charset=utf-8", "no-store"},
		"plain":     {v.do(plain), "let a", "text/javascript; charset=utf-8", forEver},
		"zipped":    {v.do(zipped), "small", "text/javascript; charset=utf-8", forEver},
	} {
		if got := test.answer; got.text != test.text || got.Header.Get("Content-Type") != test.kind ||
			got.Header.Get("Cache-Control") != test.storage {
			t.Errorf("%s: %s %v %q", name, got.Status, got.Header, got.text)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	hosts := map[string]bool{
		"localhost":              true,
		"localhost:8090":         true,
		"LOCALHOST":              true,
		"127.0.0.1":              true,
		"127.0.0.1:8090":         true,
		"127.8.9.1":              true,
		"[::1]":                  true,
		"[::1]:8090":             true,
		"::1":                    true,
		"evil.example":           false,
		"evil.example:8090":      false,
		"localhost.evil.example": false,
		"127.0.0.1.evil.example": false,
		"10.0.0.1":               false,
		"0.0.0.0":                false,
		"[::]:8090":              false,
		"":                       false,
		":8090":                  false,
	}
	for host, want := range hosts {
		if got := IsLoopback(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}

func TestOtherHostsAreRejected(t *testing.T) {
	local := serve(t, testkit.Server(t), Options{}).local(t)
	public := serve(t, testkit.Server(t), Options{Mode: Cluster, Hosts: []string{"ui.example"}})
	for name, test := range map[string]struct {
		at, host string
		status   int
	}{
		"this machine":     {local.at, "localhost:1", http.StatusOK},
		"a name of others": {local.at, "evil.example", http.StatusForbidden},
		"our name":         {public.address, "ui.example", http.StatusOK},
		"with a port":      {public.address, "UI.example:443", http.StatusOK},
		"the address":      {public.address, public.address, http.StatusForbidden},
		"another name":     {public.address, "evil.example", http.StatusForbidden},
	} {
		t.Run(name, func(t *testing.T) {
			v := &visitor{t: t, at: test.at, cookie: local.cookie}
			request := v.request(http.MethodGet, "/", nil)
			request.Host = test.host
			if answer := v.do(request); answer.StatusCode != test.status {
				t.Errorf("%s: %s", answer.Status, answer.text)
			}
			probe := v.request(http.MethodGet, "/healthz", nil)
			probe.Host = "10.1.2.3"
			if answer := v.do(probe); answer.StatusCode != http.StatusOK {
				t.Errorf("a probe is answered with %s", answer.Status)
			}
		})
	}
}

func TestOtherMachinesAreNotServed(t *testing.T) {
	server, err := New(Options{Config: testkit.Server(t).Config(), Mode: Local, Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Serve(t.Context(), listener); err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("an address that others can reach: %v", err)
	}
	if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener was left open: %v", err)
	}
}

// Neither an endless request nor an open stream keeps the server from stopping.
func TestTheEndComesForAll(t *testing.T) {
	s := serve(t, testkit.Server(t), Options{})
	stream := s.local(t).follow("overview")
	stream.next()
	endless, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	defer endless.Close()
	if _, err := io.WriteString(endless, "GET / HTTP/1.1\r\n"); err != nil {
		t.Fatal(err)
	}
	s.stop()
	for {
		if _, more := stream.read(); !more {
			break
		}
	}
	if _, err := net.Dial("tcp", s.address); err == nil {
		t.Error("the server still accepts connections")
	}
}

func TestAModeThatIsNone(t *testing.T) {
	if _, err := New(Options{Config: testkit.Server(t).Config(), Mode: "other"}); err == nil {
		t.Error("it was taken")
	}
}

// Pages of other sites can neither read nor do anything, even with the cookie.
func TestPagesOfOthersAreRejected(t *testing.T) {
	v := serve(t, testkit.Server(t), Options{}).local(t)
	for name, change := range map[string]func(*http.Request){
		"another site":         func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
		"another port":         func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
		"an older browser":     func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"a form":               func(r *http.Request) { r.Header.Set("Content-Type", "application/x-www-form-urlencoded") },
		"a form that pretends": func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") },
		"no kind":              func(r *http.Request) { r.Header.Del("Content-Type") },
	} {
		request := v.request(http.MethodPost, "/api/v1/actions", strings.NewReader(`{"action":"delete"}`))
		request.Header.Set("Content-Type", "application/json")
		change(request)
		if answer := v.do(request); answer.StatusCode != http.StatusForbidden && answer.StatusCode != http.StatusUnsupportedMediaType {
			t.Errorf("%s: %s %s", name, answer.Status, answer.text)
		}
	}
	reads := v.request(http.MethodGet, "/api/v1/me", nil)
	reads.Header.Set("Sec-Fetch-Site", "same-site")
	if answer := v.do(reads); answer.StatusCode != http.StatusForbidden {
		t.Errorf("reading from another port: %s", answer.Status)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	s := serve(t, testkit.Server(t), Options{})
	v := s.local(t)
	large := map[string]string{"reason": strings.Repeat("a", maxBody)}
	if answer := v.post("/api/v1/actions", large); answer.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("a large body: %s", answer.Status)
	}
	for range streamLimit {
		v.follow("overview").next()
	}
	if answer := v.get("/api/v1/stream/overview"); answer.StatusCode != http.StatusTooManyRequests {
		t.Errorf("one stream too many: %s", answer.Status)
	}
	if other := s.local(t).follow("overview").next(); other.name != "snapshot" {
		t.Errorf("another session gets %v", other)
	}
}

func TestAPlaceIsFreeAgainWhenAStreamEnds(t *testing.T) {
	s := serve(t, testkit.Server(t), Options{})
	v := s.local(t)
	for range streamLimit - 1 {
		v.follow("overview").next()
	}
	ctx, cancel := context.WithCancel(t.Context())
	response, err := direct.Do(v.request(http.MethodGet, "/api/v1/stream/overview", nil).WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	response.Body.Close()
	for { // Until the server notices, it denies requests.
		if last, err := direct.Do(v.request(http.MethodGet, "/api/v1/stream/overview", nil)); err != nil {
			t.Fatal(err)
		} else if last.Body.Close(); last.StatusCode == http.StatusOK {
			return
		}
	}
}

// The fixture for tests of the pages sets the same policy as the server, so that nothing works only there.
func TestTheFixtureHasTheSamePolicy(t *testing.T) {
	fixture, err := os.ReadFile("../../ui/browser/serve.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if policy := headers["Content-Security-Policy"]; !strings.Contains(string(fixture), `policy = "`+policy+`"`) {
		t.Errorf("ui/browser/serve.mjs has another policy than %s", policy)
	}
}
