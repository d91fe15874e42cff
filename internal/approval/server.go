// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"espalier.dev/internal/listening"
)

const (
	headerTimeout   = 5 * time.Second
	readTimeout     = 15 * time.Second
	writeTimeout    = 30 * time.Second
	idleTimeout     = time.Minute
	shutdownTimeout = 5 * time.Second
	maxHeaderBytes  = 16 << 10
)

// Server is the HTTP server, to be run by a manager.
type Server struct{ opts Options }

var (
	_ manager.Runnable               = (*Server)(nil)
	_ manager.LeaderElectionRunnable = (*Server)(nil)
)

// New returns a server that does not listen before it is started.
func New(opts Options) (*Server, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	return &Server{opts: opts.withDefaults()}, nil
}

// NeedLeaderElection returns false: every replica serves calls, and only records approvals.
func (s *Server) NeedLeaderElection() bool { return false }

// Start serves calls until the context is done. If the address is in use, it retries: promotions continue without the server, so the
// process must not end because of it.
func (s *Server) Start(ctx context.Context) error {
	pause := wait.Backoff{Duration: time.Second, Factor: 2, Steps: 6, Cap: listenPause}
	for {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", s.opts.Address)
		switch {
		case err == nil:
			return s.Serve(ctx, listener)
		case !listening.InUse(err):
			return fmt.Errorf("listen for approvals: %w", err)
		}
		s.opts.Log.Error(err, "Cannot serve approvals while another program uses the address; choose another with --approval-address")
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause.Step()):
		}
	}
}

// listenPause is the maximum pause between attempts to listen.
const listenPause = 30 * time.Second

// Serve is Start with a listener of the caller, which it closes.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	listener, err := s.secured(ctx, listener)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           NewHandler(s.opts),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(logr.ToSlogHandler(s.opts.Log.V(1)), slog.LevelInfo), // broken connections and the like
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	s.opts.Log.Info("Approval server listens", "address", listener.Addr().String(), "tls", s.opts.CertificateFile != "")
	select {
	case err := <-failed:
		return fmt.Errorf("serve approvals: %w", err)
	case <-ctx.Done():
	}
	stopping, stop := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer stop()
	if err := server.Shutdown(stopping); err != nil {
		return server.Close() // A call does not end; cutting it off is no error.
	}
	return nil
}

// secured adds TLS if certificate files are set, and reloads them when they change.
func (s *Server) secured(ctx context.Context, listener net.Listener) (net.Listener, error) {
	if s.opts.CertificateFile == "" {
		return listener, nil
	}
	watcher, err := certwatcher.New(s.opts.CertificateFile, s.opts.KeyFile)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the certificate of the approval server: %w", err), listener.Close())
	}
	go func() {
		if err := watcher.Start(ctx); err != nil {
			s.opts.Log.Error(err, "The certificate of the approval server is no longer watched")
		}
	}()
	return tls.NewListener(listener, &tls.Config{GetCertificate: watcher.GetCertificate, MinVersion: tls.VersionTLS12}), nil
}
