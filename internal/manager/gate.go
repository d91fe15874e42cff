// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"net/http"
	"regexp"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"espalier.dev/internal/fairness"
)

// gated returns a connection that sends its requests to the API server in a fair order, from anywhere in this process. While several
// namespaces are active, they share a number of concurrent requests; more requests would only wait in the API server, which does not
// distinguish namespaces. The connection's limit of requests per second still applies, and is also shared fairly.
func gated(config *rest.Config, shared int) *rest.Config {
	limits := fairness.Limits{Shared: shared}
	config = rest.CopyConfig(config)
	if config.RateLimiter == nil && config.QPS > 0 {
		limits.Rate, limits.Burst = float64(config.QPS), config.Burst
		config.QPS = -1
	}
	config.Wrap(newGate(limits).before)
	return config
}

// gate passes requests in a fair order. Watches pass at once, because they do not end, and so do requests for the lease.
type gate struct {
	mu        sync.Mutex
	admission *fairness.Admission[*passage]
	timer     *time.Timer
}

// passage is a request that waits or is running. It may start when start is closed.
type passage struct {
	namespace string
	begin     chan struct{}
}

func newGate(limits fairness.Limits) *gate {
	g := &gate{admission: fairness.NewAdmission(limits, func(p *passage) string { return p.namespace })}
	g.timer = time.AfterFunc(time.Hour, func() { g.pass((*fairness.Admission[*passage]).Admit) })
	g.timer.Stop()
	return g
}

// before returns a transport that sends its requests through the gate.
func (g *gate) before(next http.RoundTripper) http.RoundTripper {
	return gatedTransport{gate: g, next: next}
}

type gatedTransport struct {
	gate *gate
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t gatedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	namespace, waits := namespaceIn(request)
	if !waits {
		return t.next.RoundTrip(request)
	}
	p := &passage{namespace: namespace, begin: make(chan struct{})}
	t.gate.pass(func(a *fairness.Admission[*passage], now time.Time) []*passage { return a.Enter(p, now) })
	defer t.gate.pass(func(a *fairness.Admission[*passage], now time.Time) []*passage { return a.Leave(p, now) })
	select {
	case <-p.begin:
		return t.next.RoundTrip(request)
	case <-request.Context().Done():
		if request.Body != nil {
			_ = request.Body.Close() // as the contract of http.RoundTripper requires
		}
		return nil, request.Context().Err()
	}
}

// WrappedRoundTripper lets client-go find the underlying transport.
func (t gatedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// pass updates the admission and starts the requests that may start.
func (g *gate) pass(do func(*fairness.Admission[*passage], time.Time) []*passage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := time.Now()
	for _, p := range do(g.admission, now) {
		close(p.begin)
	}
	if wait := g.admission.Next(now); wait > 0 {
		g.timer.Reset(wait)
	}
}

var pathForm = regexp.MustCompile(`/(?:api/v1|apis/[^/]+/[^/]+)/(?:namespaces/([^/]+)/)?([a-z]+)(?:/|$)`)

// namespaceIn returns the namespace of a request, empty if it has none, and whether the request waits for its turn.
func namespaceIn(request *http.Request) (namespace string, waits bool) {
	match := pathForm.FindStringSubmatch(request.URL.Path)
	if match == nil || match[2] == "leases" || request.URL.Query().Has("watch") {
		return "", false
	}
	return match[1], true
}
