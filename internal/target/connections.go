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

// connections counts those of one transport, so that they can be let go when the last request on them has ended. The transport itself
// closes only what is idle at the moment of asking, and a watch that was just cancelled is not.
type connections struct {
	transport *http.Transport
	tasks     *taskgroup.Group
	open      atomic.Int64
	letting   atomic.Bool
}

// Connections in use are looked at again after the first pause, then after twice as long each time, up to the last.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = 5 * time.Second
)

// countConnections makes the transport tell of its connections. It is to be called before the first one.
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

// letGo closes all connections, those in use as soon as they are not any more. It does not wait for that.
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
