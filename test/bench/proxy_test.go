// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bench_test

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"espalier.dev/internal/testkit/measure"
	"espalier.dev/internal/testkit/relay"
	"espalier.dev/internal/testkit/traffic"
)

// write is one request that stores something.
type write struct {
	method, path, query, contentType string
	body                             []byte
}

// proxy stands in front of an API server and records writes.
type proxy struct {
	front *relay.Front

	mutex  sync.Mutex
	writes []write
}

func newProxy(b *testing.B, config *rest.Config) *proxy {
	b.Helper()
	forward, err := rest.TransportFor(config)
	check(b, err)
	p := &proxy{}
	p.front, err = relay.NewFront(config.Host, traffic.RoundTripper(func(request *http.Request) (*http.Response, error) {
		return p.pass(request, forward)
	}))
	check(b, err)
	b.Cleanup(p.front.Close)
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

// taken returns the writes since the last call.
func (p *proxy) taken() []write {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	taken := slices.Clone(p.writes)
	p.writes = nil
	return taken
}

func (p *proxy) kubeconfig(b *testing.B) string {
	b.Helper()
	content, err := p.front.Kubeconfig()
	check(b, err)
	return content
}
