// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"

	"espalier.dev/internal/testkit"
)

func TestMethodsAndPaths(t *testing.T) {
	w := newWorld(t)
	tests := []struct {
		method, path string
		code         int
	}{
		{http.MethodGet, "/healthz", http.StatusOK},
		{http.MethodPost, "/healthz", http.StatusMethodNotAllowed},
		{http.MethodGet, "/approval/a/b/c/d", http.StatusMethodNotAllowed},
		{http.MethodPut, "/promotion/a/b/c", http.StatusMethodNotAllowed},
		{http.MethodGet, "/approval", http.StatusMethodNotAllowed},
		{http.MethodPost, "/approval", http.StatusNotFound},
		{http.MethodPost, "/approval/", http.StatusNotFound},
		{http.MethodPost, "/approval/a/b/c", http.StatusNotFound},
		{http.MethodPost, "/approval/a/b/c/", http.StatusNotFound},
		{http.MethodPost, "/approval/a//c/d", http.StatusNotFound},
		{http.MethodPost, "/approval/a/b/c/%00", http.StatusNotFound},
		{http.MethodPost, "/promotion", http.StatusNotFound},
		{http.MethodPost, "/webhook/github", http.StatusNotFound},
		{http.MethodPost, "/", http.StatusNotFound},
		{http.MethodPost, "/elsewhere", http.StatusNotFound},
	}
	for _, test := range tests {
		t.Run(test.method+" "+test.path, func(t *testing.T) {
			got, err := w.send(test.method, w.url+test.path, "")
			if err != nil {
				t.Fatal(err)
			}
			w.expect(got, test.code)
			if got.code == http.StatusMethodNotAllowed && got.header.Get("Allow") == "" {
				t.Error("the answer does not say which methods there are")
			}
		})
	}
}

func TestTooManyCalls(t *testing.T) {
	w := newWorld(t)
	for range callsPerWindow {
		w.expect(w.post("/approval/a", ""), http.StatusNotFound)
	}
	got := w.post("/promotion/a", "") // Both endpoints share a limit.
	w.expect(got, http.StatusTooManyRequests)
	seconds, err := strconv.Atoi(got.header.Get("Retry-After"))
	if err != nil || seconds < 1 || seconds > int(limitWindow.Seconds()) {
		t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
	}
	w.expect(w.post("/approval/a", "", "X-Forwarded-For: 198.51.100.7", "X-Real-IP: 198.51.100.7"), http.StatusTooManyRequests)
	health, err := w.send(http.MethodGet, w.url+"/healthz", "")
	if err != nil {
		t.Fatal(err)
	}
	w.expect(health, http.StatusOK)
}

func TestLimiterCountsEachClientInWindows(t *testing.T) {
	now := time.Now()
	limit := newLimiter(3, time.Minute)
	one, two := netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2")
	for i := range 3 {
		if _, ok := limit.admit(one, now.Add(time.Duration(i)*time.Second)); !ok {
			t.Fatalf("call %d is refused", i+1)
		}
	}
	if wait, ok := limit.admit(one, now.Add(10*time.Second)); ok || wait != 50*time.Second {
		t.Errorf("fourth call: %t, to wait %s", ok, wait)
	}
	if _, ok := limit.admit(two, now); !ok {
		t.Error("another client is refused")
	}
	if _, ok := limit.admit(one, now.Add(time.Minute)); !ok {
		t.Error("the next window does not begin")
	}
}

func TestLimiterIsBounded(t *testing.T) {
	now := time.Now()
	limit := newLimiter(2, time.Minute)
	address := netip.MustParseAddr("2001:db8::")
	admitted := 0
	for range 2 * maxClients {
		address = address.Next()
		if _, ok := limit.admit(address, now); ok {
			admitted++
		}
	}
	if len(limit.clients) > maxClients+1 || admitted != maxClients+2 {
		t.Errorf("%d clients are remembered, %d calls admitted", len(limit.clients), admitted)
	}
	if _, ok := limit.admit(address, now.Add(time.Minute)); !ok || len(limit.clients) > 1 {
		t.Errorf("%d clients are remembered after their time", len(limit.clients))
	}
}

func TestWhoTheClientIs(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8:ff::/48")}
	tests := map[string]struct {
		peer, forwarded, want string
	}{
		"directly":                 {"192.0.2.1:1234", "", "192.0.2.1"},
		"IPv6":                     {"[2001:db8::7]:1234", "", "2001:db8::7"},
		"IPv6 with a zone":         {"[fe80::1%eth0]:1234", "", "fe80::1"},
		"IPv4 in IPv6":             {"[::ffff:192.0.2.1]:1234", "", "192.0.2.1"},
		"a header from anybody":    {"192.0.2.1:1234", "198.51.100.7", "192.0.2.1"},
		"through a proxy":          {"10.1.1.1:1234", "198.51.100.7", "198.51.100.7"},
		"through two proxies":      {"10.1.1.1:1234", "198.51.100.7, 2001:db8:ff::1", "198.51.100.7"},
		"with an invented history": {"10.1.1.1:1234", "203.0.113.5, 198.51.100.7", "198.51.100.7"},
		"a garbled header":         {"10.1.1.1:1234", "unknown", "10.1.1.1"},
		"a proxy itself":           {"10.1.1.1:1234", "", "10.1.1.1"},
		"no address":               {"somewhere", "", "invalid IP"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := &http.Request{RemoteAddr: test.peer, Header: http.Header{}}
			if test.forwarded != "" {
				r.Header.Set("X-Forwarded-For", test.forwarded)
			}
			if got := clientOf(r, proxies); got.String() != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestOptionsThatContradictThemselves(t *testing.T) {
	api := testkit.Server(t).Client()
	for name, opts := range map[string]Options{
		"no client":               {},
		"certificate without key": {Client: api, CertificateFile: "tls.crt"},
		"key without certificate": {Client: api, KeyFile: "tls.key"},
		"no range":                {Client: api, TrustedProxies: []netip.Prefix{{}}},
	} {
		if _, err := New(opts); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	server, err := New(Options{Client: api})
	if err != nil || server.NeedLeaderElection() || server.opts.Address != DefaultAddress {
		t.Errorf("got %+v, %v", server, err)
	}
}

func TestStartReportsWhatItCannotDo(t *testing.T) {
	api := testkit.Server(t).Client()
	for name, opts := range map[string]Options{
		"no such address": {Client: api, Address: "127.0.0.1:-1"},
		"no certificate":  {Client: api, Address: "127.0.0.1:0", CertificateFile: filepath.Join(t.TempDir(), "none"), KeyFile: "none"},
	} {
		server, err := New(opts)
		if err != nil {
			t.Fatal(err)
		}
		if err := server.Start(t.Context()); err == nil {
			t.Errorf("%s: it ended without an error", name)
		}
	}
}

// A call that never ends must not keep the process from stopping.
func TestTheServerStopsWithOpenCalls(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server, err := New(Options{Client: testkit.Server(t).Client(), Log: logr.Discard()})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener) }()
	endless, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer endless.Close()
	if _, err := io.WriteString(endless, "POST /promotion/a/b/c HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestLongHeadersAreRejected(t *testing.T) {
	w := newWorld(t)
	w.expect(w.post("/approval/a/b/c/d", "", "X-Long: "+strings.Repeat("x", 64<<10)), http.StatusRequestHeaderFieldsTooLarge)
}

func TestACertificateIsReadAgainWhenItChanges(t *testing.T) {
	folder := t.TempDir()
	certificate, private := filepath.Join(folder, "tls.crt"), filepath.Join(folder, "tls.key")
	writeCertificate(t, certificate, private, 1)
	w := newWorld(t, func(o *Options) { o.CertificateFile, o.KeyFile = certificate, private })
	address := strings.TrimPrefix(w.url, "http://")
	if serial := serialOf(t, address); serial != 1 {
		t.Fatalf("certificate %d is shown", serial)
	}
	writeCertificate(t, certificate, private, 2)
	for serialOf(t, address) != 2 {
		if t.Context().Err() != nil {
			t.Fatal("the new certificate is not shown")
		}
	}
	plain, err := w.send(http.MethodGet, w.url+"/healthz", "")
	if err == nil && plain.code == http.StatusOK {
		t.Error("plain HTTP is answered")
	}
}

func serialOf(t *testing.T, address string) int64 {
	t.Helper()
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} // The test checks the certificate itself.
	connection, err := dialer.DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	return connection.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func writeCertificate(t *testing.T, certificateFile, keyFile string, serial int64) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "approval"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	key, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}))
	replace(t, certificateFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}))
}

// replace replaces a file like kubelet does for mounted Secrets.
func replace(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file+".new", content, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}
