// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dashboard

import (
	"context"
	"errors"
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

// Serve answers requests until the context is done, and closes the listener. There is no
// login, so it refuses a listener that others can reach.
func Serve(ctx context.Context, listener net.Listener, opts Options) error {
	if address := listener.Addr().String(); !IsLoopback(address) {
		return errors.Join(
			listener.Close(),
			fmt.Errorf("serve the dashboard: others can reach %s, and there is no login: listen on a loopback address", address),
		)
	}
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
