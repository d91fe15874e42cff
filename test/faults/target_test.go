// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"espalier.dev/internal/testkit/relay"
)

// gate is the target cluster of all scenes: the same API server, under another address. Deployers make their own connections to targets,
// so this is where a request to the namespace of a scene is led through the transport of the process that works there, and shares its
// fate; so is one to the source of a TargetSync in the scene. There is one gate, so that what depends on the content of a Target is the
// same in all scenes.
type gate struct {
	front *relay.Front

	mutex    sync.Mutex
	plain    http.RoundTripper
	forwards map[string]http.RoundTripper // by namespace
}

var commonGate struct {
	once sync.Once
	gate *gate
	err  error
}

// theGate opens the gate for the first caller. It stays open until the test process ends.
func theGate(t testing.TB, config *rest.Config) *gate {
	t.Helper()
	commonGate.once.Do(func() { commonGate.gate, commonGate.err = newGate(config) })
	if commonGate.err != nil {
		t.Fatalf("open the way to the target: %v", commonGate.err)
	}
	return commonGate.gate
}

func newGate(config *rest.Config) (*gate, error) {
	plain, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	g := &gate{plain: plain, forwards: map[string]http.RoundTripper{}}
	g.front, err = relay.NewFront(config.Host, g)
	return g, err
}

// connect leads requests to a namespace through the transport of a configuration from now on.
func (g *gate) connect(t testing.TB, namespace string, config *rest.Config) {
	t.Helper()
	forward, err := rest.TransportFor(config)
	if err != nil {
		t.Errorf("lead the target through a transport: %v", err)
		return
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.forwards[namespace] = forward
}

// RoundTrip sends a request to where the gate leads now.
func (g *gate) RoundTrip(request *http.Request) (*http.Response, error) {
	_, rest, _ := strings.Cut(request.URL.Path, "/namespaces/")
	namespace, _, _ := strings.Cut(rest, "/")
	g.mutex.Lock()
	forward := g.forwards[strings.TrimSuffix(namespace, sourceSuffix)]
	g.mutex.Unlock()
	if forward == nil {
		forward = g.plain
	}
	return forward.RoundTrip(request)
}

// kubeconfig is what a Target says.
func (g *gate) kubeconfig(t testing.TB) string {
	t.Helper()
	content, err := g.front.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	return content
}
