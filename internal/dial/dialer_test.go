// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dial_test

import (
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"espalier.dev/internal/dial"
)

func TestTheDialerJudgesTheResolvedAddress(t *testing.T) {
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"localhost", "127.0.0.1", "0.0.0.0", "::ffff:127.0.0.1"} {
		connection, err := dial.Rules{}.Dialer().DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		if err == nil {
			_ = connection.Close()
		}
		if !dial.IsRefusal(err) {
			t.Errorf("%s: error %v, want a refusal", host, err)
		}
	}
	connection, err := dial.Rules{AllowLoopback: true}.Dialer().DialContext(t.Context(), "tcp", net.JoinHostPort("localhost", port))
	if err != nil {
		t.Fatal(err)
	}
	_ = connection.Close()
}

func TestOnlyTCPIsDialled(t *testing.T) {
	connection, err := dial.Rules{AllowLoopback: true}.Dialer().DialContext(t.Context(), "udp", "127.0.0.1:53")
	if err == nil {
		_ = connection.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "only TCP") {
		t.Errorf("error = %v", err)
	}
}

// transportTo returns a transport that trusts the server.
func transportTo(server *httptest.Server, rules dial.Rules) *http.Transport {
	trust := server.Client().Transport.(*http.Transport).TLSClientConfig
	return rules.Transport(&tls.Config{RootCAs: trust.RootCAs, MinVersion: tls.VersionTLS12})
}

func TestRedirectsAreJudgedToo(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://169.254.169.254/latest/meta-data", http.StatusFound)
	}))
	defer server.Close()
	transport := transportTo(server, dial.Rules{AllowLoopback: true})
	defer transport.CloseIdleConnections()
	answer, err := get(t, &http.Client{Transport: transport}, server.URL)
	if err == nil {
		_ = answer.Body.Close()
	}
	if !dial.IsRefusal(err) {
		t.Errorf("error = %v, want a refusal", err)
	}
}

func TestTheTransportSpeaksHTTP2AndIgnoresProxies(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://192.0.2.1:3128")
	server := httptest.NewUnstartedServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(http.StatusNoContent) }),
	)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	transport := transportTo(server, dial.Rules{AllowLoopback: true})
	defer transport.CloseIdleConnections()
	answer, err := get(t, &http.Client{Transport: transport}, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	if answer.ProtoMajor != 2 {
		t.Errorf("the protocol is %s", answer.Proto)
	}
	if transport.Proxy != nil {
		t.Error("the transport knows a proxy")
	}
}

func get(t *testing.T, client *http.Client, url string) (*http.Response, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return client.Do(request)
}
