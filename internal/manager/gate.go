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

// gated returns a connection whose requests to the API server are sent in a fair order, whoever of this process sends them. While several
// namespaces are worked on they share so many requests under way; more would but wait in the API server, where nobody cares whose they are.
// A limit on requests in a second that the connection has is kept, and fair as well.
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

// gate lets requests pass in a fair order. Watches pass it at once, since they do not end, and so does what keeps the lease.
type gate struct {
	mu        sync.Mutex
	admission *fairness.Admission[*passage]
	timer     *time.Timer
}

// passage is a request that waits or is under way. It may begin when begin is closed.
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

// before has the requests of a transport pass the gate.
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
			_ = request.Body.Close() // as everybody does who is given a request
		}
		return nil, request.Context().Err()
	}
}

// WrappedRoundTripper lets client-go find what is below.
func (t gatedTransport) WrappedRoundTripper() http.RoundTripper { return t.next }

// pass does something at the gate and lets those begin that may.
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

// namespaceIn returns the namespace that a request is about, empty if it is about none, and whether it waits for its turn.
func namespaceIn(request *http.Request) (namespace string, waits bool) {
	match := pathForm.FindStringSubmatch(request.URL.Path)
	if match == nil || match[2] == "leases" || request.URL.Query().Has("watch") {
		return "", false
	}
	return match[1], true
}
