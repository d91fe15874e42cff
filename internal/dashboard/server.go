// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

const (
	headerTimeout   = 10 * time.Second
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 2 * time.Second
)

// Serve answers requests until the context is done. It sets LoopbackOnly itself, from
// the listener's address, and closes the listener.
func Serve(ctx context.Context, listener net.Listener, opts Options) error {
	opts.LoopbackOnly = isLoopback(listener.Addr().String())
	server := &http.Server{
		Handler:           NewHandler(opts),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve the dashboard: %w", err)
	case <-ctx.Done():
	}
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer cancel()
	if err := server.Shutdown(stopCtx); err == nil {
		return nil
	}
	// Somebody's request does not end; cutting it off is no error.
	if err := server.Close(); err != nil {
		return fmt.Errorf("stop the dashboard: %w", err)
	}
	return nil
}
