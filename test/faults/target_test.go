// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/rest"

	"espalier.dev/internal/testkit/relay"
)

// gate is the target cluster of all scenes: the same API server, under another address. Deployers open their own connections to targets, so
// the gate routes a request to the namespace of a scene, or to the source of a TargetSync in it, through the transport of the process that
// works there, and the request shares its faults. There is one gate per API server, so that what depends on the content of a Target is the
// same in all scenes.
type gate struct {
	front *relay.Front

	mutex    sync.Mutex
	plain    http.RoundTripper
	forwards map[string]http.RoundTripper // by namespace
	shut     map[string]bool              // the namespaces for which the way by farPath is shut
}

// farPath is another way through the gate. It can be shut: then the target cluster is unreachable.
const farPath = "/far"

var commonGates struct {
	mutex sync.Mutex
	gates map[string]*gate // by API server
}

// theGate opens the gate of an API server for the first caller. It stays open until the test process ends.
func theGate(t testing.TB, config *rest.Config) *gate {
	t.Helper()
	commonGates.mutex.Lock()
	defer commonGates.mutex.Unlock()
	if g := commonGates.gates[config.Host]; g != nil {
		return g
	}
	g, err := newGate(config)
	if err != nil {
		t.Fatalf("open the way to the target: %v", err)
	}
	if commonGates.gates == nil {
		commonGates.gates = map[string]*gate{}
	}
	commonGates.gates[config.Host] = g
	return g
}

func newGate(config *rest.Config) (*gate, error) {
	plain, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	g := &gate{plain: plain, forwards: map[string]http.RoundTripper{}, shut: map[string]bool{}}
	g.front, err = relay.NewFront(config.Host, g)
	return g, err
}

// connect routes requests to a namespace through the transport of a configuration from now on.
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

// RoundTrip sends a request to where the gate currently routes it.
func (g *gate) RoundTrip(request *http.Request) (*http.Response, error) {
	path, far := strings.CutPrefix(request.URL.Path, farPath)
	_, rest, _ := strings.Cut(path, "/namespaces/")
	namespace, _, _ := strings.Cut(rest, "/")
	namespace = strings.TrimSuffix(strings.TrimSuffix(namespace, sourceSuffix), elsewhereSuffix)
	g.mutex.Lock()
	forward, shut := g.forwards[namespace], g.shut[namespace]
	g.mutex.Unlock()
	if far && shut {
		return nil, errors.New("nobody answers")
	}
	if far {
		request = request.Clone(request.Context())
		request.URL.Path, request.URL.RawPath = path, ""
	}
	if forward == nil {
		forward = g.plain
	}
	return forward.RoundTrip(request)
}

// kubeconfig returns the kubeconfig of Targets.
func (g *gate) kubeconfig(t testing.TB) string {
	t.Helper()
	content, err := g.front.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// farKubeconfig is kubeconfig for the way that can be shut.
func (g *gate) farKubeconfig(t testing.TB) string {
	t.Helper()
	return address.ReplaceAllString(g.kubeconfig(t), "${0}"+farPath)
}

// close shuts the way by farPath for the rest of a scene.
func (g *gate) close(namespace string) {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.shut[namespace] = true
}
