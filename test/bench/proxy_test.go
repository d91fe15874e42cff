// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"bytes"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"espalier.dev/internal/testkit/measure"
)

// write is one request that stores something.
type write struct {
	method, path, query, contentType string
	body                             []byte
}

// proxy stands before an API server and takes down what is written.
type proxy struct {
	server *httptest.Server

	mutex  sync.Mutex
	writes []write
}

func newProxy(b *testing.B, config *rest.Config) *proxy {
	b.Helper()
	upstream, err := url.Parse(config.Host)
	check(b, err)
	forward, err := rest.TransportFor(config)
	check(b, err)
	p := &proxy{}
	handler := &httputil.ReverseProxy{
		Rewrite: func(request *httputil.ProxyRequest) {
			request.SetURL(upstream)
			request.Out.Header.Del("Authorization")
		},
		Transport:     measure.RoundTripper(func(request *http.Request) (*http.Response, error) { return p.pass(request, forward) }),
		FlushInterval: -1,
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = httptest.NewTLSServer(handler)
	b.Cleanup(p.server.Close)
	return p
}

func (p *proxy) pass(request *http.Request, next http.RoundTripper) (*http.Response, error) {
	if request.Method == http.MethodGet || measure.NameOf(request) == "" {
		return next.RoundTrip(request)
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	p.mutex.Lock()
	p.writes = append(p.writes, write{
		method: request.Method, path: request.URL.Path, query: request.URL.RawQuery, contentType: request.Header.Get("Content-Type"), body: body,
	})
	p.mutex.Unlock()
	return next.RoundTrip(request)
}

// taken returns what was written since the last call.
func (p *proxy) taken() []write {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	taken := slices.Clone(p.writes)
	p.writes = nil
	return taken
}

func (p *proxy) kubeconfig(b *testing.B) string {
	b.Helper()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.server.Certificate().Raw})
	content, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"proxy": {Server: p.server.URL, CertificateAuthorityData: authority}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"proxy": {Token: "anybody"}},
		Contexts:       map[string]*clientcmdapi.Context{"proxy": {Cluster: "proxy", AuthInfo: "proxy"}},
		CurrentContext: "proxy",
	})
	check(b, err)
	return string(content)
}
