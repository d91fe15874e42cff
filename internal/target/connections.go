// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"context"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"espalier.dev/internal/taskgroup"
)

// connections counts the connections of one transport, so that they can be closed when their last request has ended. The transport
// itself closes only connections that are idle at that moment, unlike that of a watch that was just cancelled.
type connections struct {
	transport *http.Transport
	tasks     *taskgroup.Group
	open      atomic.Int64
	letting   atomic.Bool
}

// Connections in use are checked again after the first pause, then with doubling pauses, up to the last.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 5 * time.Second
)

// countConnections makes the transport count its connections. It must be called before the first connection.
func countConnections(transport *http.Transport, l *taskgroup.Group) *connections {
	c := &connections{transport: transport, tasks: l}
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c.open.Add(1)
		return &countedConnection{Conn: connection, closed: sync.OnceFunc(func() { c.open.Add(-1) })}, nil
	}
	return c
}

type countedConnection struct {
	net.Conn
	closed func()
}

// Close closes the connection.
func (c *countedConnection) Close() error {
	defer c.closed()
	return c.Conn.Close()
}

// letGo closes all connections; those in use as soon as they are idle. It does not wait for that.
func (c *connections) letGo() {
	c.transport.CloseIdleConnections()
	if c.open.Load() == 0 || !c.letting.CompareAndSwap(false, true) {
		return
	}
	started := c.tasks.Go(func() {
		defer c.letting.Store(false)
		for pause := firstLook; c.open.Load() > 0; pause = min(2*pause, lastLook) {
			select {
			case <-c.tasks.Context().Done():
				c.transport.CloseIdleConnections()
				return
			case <-time.After(pause):
				c.transport.CloseIdleConnections()
			}
		}
	})
	if !started {
		c.letting.Store(false)
	}
}
