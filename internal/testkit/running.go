// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"context"
	"net"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	crconfig "sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Process runs beside a test and looks to an API server like a separate process.
type Process struct {
	cancel context.CancelFunc
	ended  chan struct{}
	err    error
}

// Start runs a function, most often the Start of a manager, until the process is stopped or the context ends. The caller stops it and
// handles its error; Run is simpler.
func Start(ctx context.Context, run func(context.Context) error) *Process {
	ctx, cancel := context.WithCancel(ctx)
	p := &Process{cancel: cancel, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		p.err = run(ctx)
	}()
	return p
}

// Stop ends the process, waits until it has ended and returns its error. It may be called more than once.
func (p *Process) Stop() error {
	p.cancel()
	<-p.ended
	return p.err
}

// Cancel ends the process, and does not wait for it.
func (p *Process) Cancel() { p.cancel() }

// Ended is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Run runs a function until the test ends, or until stop is called, which may be more than once. The test fails if it ends with an error.
func Run(t testing.TB, run func(context.Context) error) (stop func()) {
	t.Helper()
	p := Start(t.Context(), func(ctx context.Context) error {
		err := run(ctx)
		if err != nil {
			t.Errorf("what the test has started ended: %v", err)
		}
		return err
	})
	stop = func() { _ = p.Stop() }
	t.Cleanup(stop)
	return stop
}

// Serve runs a server on a free port of loopback until the test ends, or until stop is called, which may be more than once.
func Serve(t testing.TB, serve func(context.Context, net.Listener) error) (address net.Addr, stop func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener.Addr(), Run(t, func(ctx context.Context) error { return serve(ctx, listener) })
}

// Meanwhile runs a function while the test continues. The test must call wait before it ends: its context ends with it, and an answer that
// is still on its way would be lost.
func Meanwhile(t testing.TB, do func() error) (wait func()) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := do(); err != nil {
			t.Errorf("meanwhile: %v", err)
		}
	}()
	wait = func() { <-ended }
	t.Cleanup(wait)
	return wait
}

// ShortGrace is for a manager that may be cut off from its API server: hanging code gets a second when the manager is stopped.
func ShortGrace(o *ctrl.Options) {
	grace := time.Second
	o.GracefulShutdownTimeout = &grace
}

// NewManager builds a manager for controllers that a test sets up itself. It sees one namespace, or all of them if none is named, knows the
// kinds of Scheme, listens nowhere and can run beside others in this process.
func NewManager(t testing.TB, config *rest.Config, namespace string, change ...func(*ctrl.Options)) ctrl.Manager {
	t.Helper()
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	again := true
	options := ctrl.Options{
		Scheme:     scheme,
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: crconfig.Controller{SkipNameValidation: &again},
	}
	if namespace != "" {
		options.Cache = cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}}
	}
	for _, f := range change {
		f(&options)
	}
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		t.Fatalf("build a manager: %v", err)
	}
	return mgr
}
