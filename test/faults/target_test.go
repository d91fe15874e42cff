// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// gate is the target cluster of a scene: the same API server, under another address. Deployers make their own connections to
// targets, so this is where they are led through the transport of their process, and share its fate.
type gate struct {
	server *httptest.Server

	mutex   sync.Mutex
	forward http.RoundTripper
}

func newGate(t testing.TB, config *rest.Config) *gate {
	t.Helper()
	upstream, err := url.Parse(config.Host)
	if err != nil {
		t.Fatalf("read the address of the API server: %v", err)
	}
	g := &gate{}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(upstream)
			request.Out.Header.Del("Authorization")
		},
		Transport:     g,
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	g.server = httptest.NewUnstartedServer(proxy)
	g.server.Config.ErrorLog = nil
	g.server.StartTLS()
	t.Cleanup(g.server.Close)
	return g
}

// connect leads requests through the transport of a configuration from now on.
func (g *gate) connect(t testing.TB, config *rest.Config) {
	t.Helper()
	forward, err := rest.TransportFor(config)
	if err != nil {
		t.Errorf("lead the target through a transport: %v", err)
		return
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.forward = forward
}

// RoundTrip sends a request to where the gate leads now.
func (g *gate) RoundTrip(request *http.Request) (*http.Response, error) {
	g.mutex.Lock()
	forward := g.forward
	g.mutex.Unlock()
	return forward.RoundTrip(request)
}

// kubeconfig is what a Target says.
func (g *gate) kubeconfig(t testing.TB) string {
	t.Helper()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: g.server.Certificate().Raw})
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"gate": {Server: g.server.URL, CertificateAuthorityData: authority}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"gate": {Token: "anybody"}},
		Contexts:       map[string]*clientcmdapi.Context{"gate": {Cluster: "gate", AuthInfo: "gate"}},
		CurrentContext: "gate",
	})
	if err != nil {
		t.Fatalf("write the kubeconfig of the target: %v", err)
	}
	return string(content)
}
